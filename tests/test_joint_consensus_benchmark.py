"""The benchmark of the consensus of labels and features, on tiny data."""

import numpy as np
import pytest
from benchmarks import joint_consensus
from benchmarks.benchmark import JOINT_CONSENSUS

import manyhands as mh
from manyhands.methods.cross_fit.beliefs import STARTS, fit_cross_fit
from manyhands.methods.cross_fit.label_model import CrowdLabels
from manyhands.methods.cross_fit.learners import Regressions
from manyhands.methods.cross_fit.smoothers import fit_smoothers


@pytest.fixture(scope="module")
def items():
    rng = np.random.default_rng(0)
    truth, features = np.arange(80) % 2, rng.normal(size=(80, 3))
    features[:, 0] += 3 * truth
    item, annotator = np.repeat(np.arange(80), 3), np.tile(range(6), 40)
    label = np.where(rng.random(240) < 0.7, truth[item], rng.integers(2, size=240))
    ann = mh.Annotations.from_arrays(item, annotator, label, classes=[0, 1])
    return joint_consensus.LabelledItems(features, ann, truth)


def test_a_draw_has_nine_of_ten_labels_and_only_items_with_some(items):
    some = joint_consensus.drawn(items, 0)
    assert some.annotations.n_annotations == 216
    assert (some.annotations.labels_per_item > 0).all()
    assert len(some.features) == len(some.truth) == some.annotations.n_items
    assert some.features.tolist() == items.features[some.annotations.items.tolist()].tolist()


def test_who_knows_the_truth_of_other_items_is_not_told_that_of_the_item(items):
    learner = Regressions(fit_smoothers(items.features))
    crowd = CrowdLabels(items.annotations)
    fit = fit_cross_fit(learner, items.annotations)
    changed = items.truth.copy()
    changed[7] = 1 - changed[7]
    for knows in joint_consensus.INFORMED:
        one, other = (
            joint_consensus.informed(crowd, learner, fit, truth, knows).logits(fit.weights)
            for truth in (items.truth, changed)
        )
        moved = np.abs(one - other).max(axis=1)
        # only the class frequencies and the prior of the annotators, which are those of all items
        assert 0 < moved[7] < 0.5
        assert moved[7] < moved.max()  # an item that was told its truth would move most


def test_a_row_for_all_labels_each_draw_and_each_start(items):
    rows = list(joint_consensus.rows_of("few", items, draws=2, starts=1))
    assert [row["draw"] for row in rows if row["kind"] == "draw"] == ["all", 0, 1]
    starts = [row["start"] for row in rows if row["kind"] == "start"]
    assert starts == [*STARTS, "Dawid-Skene", "a random label of every item, 0"]
    assert all(0 <= row["accuracy"] <= 1 for row in rows)
    keys = {JOINT_CONSENSUS.record(row)["key"] for row in rows}
    assert len(keys) == len(rows)


def test_the_page_shows_both_corpora():
    page = joint_consensus.make_page(JOINT_CONSENSUS.read())
    assert all(f"| {name}, 10 draws of 90 % |" in page for name in joint_consensus.CORPORA)
    assert all(f"| {shown} |" in page for shown in joint_consensus.INFORMED.values())
    assert "nan" not in page
