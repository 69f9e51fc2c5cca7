"""Collapse of a consensus: found, named, replaced; and the choice of a method."""

import warnings

import numpy as np
import pytest
from spam_crowd import spam_crowd

import manyhands as mh
from manyhands.aggregation import (
    AGGREGATORS,
    AnnotatorTypes,
    Consensus,
    ConsensusWarning,
    DawidSkene,
    fit_guarded,
)
from manyhands.aggregation.choose import CANDIDATES
from manyhands.aggregation.guard import find_collapse
from manyhands.agreement import fleiss
from manyhands.annotations import Annotations
from manyhands.core.errors import SettingError
from manyhands.methods.two_stage import TwoStage


def without_agreement(n_items=60):
    label = np.random.default_rng(0).integers(3, size=(n_items, 4))
    return Annotations.from_dense(label)


def test_a_collapse_is_named_and_the_next_best_model_is_used():
    annotations, truth_i, _ = spam_crowd(300)
    with pytest.warns(ConsensusWarning, match="dawid-skene collapsed.*annotator-types is used"):
        found = fit_guarded(DawidSkene(), annotations)
    assert found.method_name == "annotator-types"
    assert (found.labels == truth_i).mean() > 0.75
    assert len(found.warnings) == 1
    assert "collapsed" in found.warnings[0]


def test_a_named_method_is_kept_with_a_warning():
    annotations, _, _ = spam_crowd(300)
    with pytest.warns(ConsensusWarning, match="collapsed.*do not rely on it"):
        consensus = mh.aggregate(annotations, "dawid-skene")
    assert consensus.method_name == "dawid-skene"
    np.testing.assert_array_equal(consensus.labels, DawidSkene().fit(annotations).labels)


def test_the_default_is_not_below_the_majority_on_such_crowds_and_does_not_warn():
    for seed in range(4):
        annotations, truth_i, _ = spam_crowd(300, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            consensus = mh.aggregate(annotations)
        majority = (mh.aggregate(annotations, "majority").labels == truth_i).mean()
        assert (consensus.labels == truth_i).mean() > majority + 0.05
        assert consensus.warnings == ()


def test_labels_without_agreement_are_named_and_saved(tmp_path):
    annotations = without_agreement()
    with pytest.warns(ConsensusWarning, match="hardly agree more than by chance"):
        consensus = mh.aggregate(annotations)
    consensus.save(tmp_path / "saved")
    assert mh.load(tmp_path / "saved").warnings == consensus.warnings


def test_a_consensus_against_unanimous_items_has_collapsed():
    label_i = np.random.default_rng(1).integers(2, size=30)
    annotations = Annotations.from_dense(np.repeat(label_i[:, None], 3, axis=1))
    for said, contradicts in ((label_i, False), (1 - label_i, True)):
        consensus = Consensus.from_probabilities(annotations, np.eye(2)[said])
        assert ("contradicts 30 of 30" in find_collapse(consensus)) == contradicts


def test_known_truths_may_contradict_unanimous_items():
    label_i = np.random.default_rng(1).integers(2, size=30)
    annotations = Annotations.from_dense(np.repeat(label_i[:, None], 3, axis=1))
    known = {i: int(1 - label_i[i]) for i in range(29)}
    consensus = AGGREGATORS["majority"]().fit(annotations, known)
    assert find_collapse(consensus) == ""


def test_no_public_kind_of_crowd_warns():
    """Decent annotators of different skill: no method may warn."""
    rng = np.random.default_rng(2)
    truth_i = rng.choice(4, size=300, p=[0.6, 0.2, 0.15, 0.05])
    item, annotator = np.repeat(np.arange(300), 5), rng.integers(20, size=1500)
    right = rng.random(1500) < rng.uniform(0.6, 0.95, 20)[annotator]
    label = np.where(right, truth_i[item], rng.integers(4, size=1500))
    annotations = Annotations.from_arrays(item, annotator, label)
    for name in ("majority", "dawid-skene", "one-coin", "worker-clustering", "annotator-types"):
        assert mh.aggregate(annotations, name).warnings == ()


def test_training_on_a_consensus_goes_through_the_guard():
    annotations, truth_i, _ = spam_crowd(300)
    rng = np.random.default_rng(0)
    features = rng.normal(size=(len(truth_i), 4)) + 3 * np.eye(4)[truth_i]
    model = mh.CrowdClassifier(method=TwoStage("dawid-skene"), epochs=20, seed=0)
    with pytest.warns(ConsensusWarning, match="annotator-types is used instead"):
        model.fit(features, annotations)
    assert (model.predict(features) == truth_i).mean() > 0.9


def test_auto_takes_the_most_probable_candidate_and_says_why():
    annotations, _, _ = spam_crowd(120)
    consensus = mh.aggregate(annotations, "auto")
    assert consensus.method_name in CANDIDATES
    assert consensus.method_name != "majority"
    assert consensus.chosen.startswith(f"{consensus.method_name}, the best of {len(CANDIDATES)}")
    direct = AGGREGATORS[consensus.method_name]().fit(annotations)
    np.testing.assert_array_equal(consensus.labels, direct.labels)


def test_auto_without_labels_to_hold_out_is_the_default():
    annotations = Annotations.from_dense([[0, 1], [1, 1], [0, 0]])
    consensus = mh.aggregate(annotations, "auto")
    assert consensus.method_name == AnnotatorTypes.name
    assert "the default: no item has three labels" in consensus.chosen


@pytest.mark.parametrize(
    ("annotations", "settings", "message"),
    [
        (Annotations.from_dense([[0, 1], [1, 1]]), {"max_iter": 3}, "auto has no settings"),
        (Annotations.from_dense([[0.5, 1.5], [1.0, 1.0]]), {}, "these labels are numbers"),
    ],
)
def test_auto_refuses_what_it_cannot_do(annotations, settings, message):
    with pytest.raises(SettingError, match=message):
        mh.aggregate(annotations, "auto", **settings)


def test_fleiss_kappa_is_that_of_the_definition():
    counts_ik = np.array([[0, 0, 14], [0, 2, 12], [0, 10, 4], [4, 6, 4], [2, 2, 10]])
    label = [np.repeat(np.arange(3), row) for row in counts_ik]
    annotations = Annotations.from_dense(np.stack(label))
    p_i = ((counts_ik**2).sum(axis=1) - 14) / (14 * 13)
    by_chance = ((counts_ik.sum(axis=0) / counts_ik.sum()) ** 2).sum()
    expected = (p_i.mean() - by_chance) / (1 - by_chance)
    assert fleiss(annotations).value == pytest.approx(expected, abs=1e-12)
    assert np.isnan(fleiss(Annotations.from_dense([[0], [1]])).value)
    assert np.isnan(fleiss(Annotations.from_dense([[0, 0], [0, 0]])).value)
