"""Shared mistakes are found, independent ones are not, and the gold items suffice."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

import manyhands as mh
from manyhands.methods.cross_fit.shared_mistakes import SharedMistakes, compare_sides
from manyhands.simulation import SCENARIOS, SharedMistakeSettings


def simulated(**settings):
    given = {"n_items": 400, "n_annotators": 20, "share": 0.3, "following": 0.7, "seed": 1}
    return SCENARIOS["shared-mistakes"](SharedMistakeSettings(**(given | settings)))


def test_the_scenario_draws_what_it_says():
    crowd = simulated(n_items=4000, following=0.7)
    ann = crowd.annotations
    assert crowd.mistaken_i.mean() == pytest.approx(0.3, abs=0.03)
    in_mistaken = crowd.mistaken_i[ann.item]
    assert crowd.followed_n[in_mistaken].mean() == pytest.approx(0.7, abs=0.02)
    assert not crowd.followed_n[~in_mistaken].any()
    followed = crowd.followed_n
    assert (ann.label[followed] != crowd.truth[ann.item[followed]]).all()
    same = ann.item[followed][1:] == ann.item[followed][:-1]
    assert (ann.label[followed][1:] == ann.label[followed][:-1])[same].all()
    said = np.bincount(crowd.truth[ann.item] == ann.label) / ann.n_annotations
    expected = np.einsum("akk->ak", crowd.confusion).mean()
    assert said[1] == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("seed", [1, 2])
def test_shared_mistakes_are_found_with_features(seed):
    crowd = simulated(seed=seed)
    assert compare_sides(crowd.truth, crowd.annotations).found
    clean = simulated(share=0.0, seed=seed)
    assert not compare_sides(clean.truth, clean.annotations).found


def test_the_finding_names_the_items_and_the_gold():
    crowd = simulated()
    finding = mh.estimators.find_shared_mistakes(crowd.features, crowd.annotations)[0]
    assert (finding.severity, finding.check) == ("warning", "shared-mistakes")
    named = np.isin(np.arange(400), [int(name) for name in finding.names])
    assert crowd.mistaken_i[named].mean() > 0.7
    assert finding.count == named.sum()
    assert "find the truth of" in finding.remedy
    clean = simulated(share=0.0)
    assert mh.estimators.find_shared_mistakes(clean.features, clean.annotations) == []


def test_the_gold_items_suffice():
    many = SharedMistakes(np.arange(10**6), 0, 0.0, 0.0, 0.0).n_gold
    right = np.arange(many + 1)
    significant = np.array([binomtest(int(n), many).pvalue < 0.05 for n in right])
    assert 0.9 <= binom.pmf(right, many, 0.7)[significant].sum() < 0.93
    assert SharedMistakes(np.arange(20), 0, 0.0, 0.0, 0.0).n_gold < 20
    assert SharedMistakes(np.arange(0), 0, 0.0, 0.0, 0.0).n_gold == 0
