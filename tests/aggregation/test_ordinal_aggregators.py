"""Aggregators of ordinal labels: reductions, recovery, and what a consensus says of levels."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import manyhands as mh
from manyhands.aggregation import DawidSkene, OrdinalDawidSkene, OrdinalThresholds
from manyhands.aggregation.kernels.cumulative_steps import (
    fit_thresholds,
    log_crowd,
    log_cumulative,
)
from manyhands.aggregation.ordinal_crowd import Scale
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError
from random_tables import random_labels

TIGHT = {"tol": 0.0, "max_iter": 300}


def crowd(n_items, n_annotators, n_levels, seed=0, per_item=None):
    """Labels by the model itself; thresholds and slopes differ between annotators."""
    rng = np.random.default_rng(seed)
    slope_a = rng.uniform(1.5, 4.0, n_annotators)
    shift_at = rng.normal(0, 0.35, (n_annotators, 1)) + rng.normal(
        0, 0.1, (n_annotators, n_levels - 1)
    )
    border_at = np.sort(np.arange(n_levels - 1) + 0.5 + shift_at, axis=1)
    border_at -= border_at.mean(axis=0) - (np.arange(n_levels - 1) + 0.5)
    place_i = rng.uniform(-0.5, n_levels - 0.5, n_items)
    item, annotator, label = [], [], []
    for i in range(n_items):
        for a in rng.choice(n_annotators, per_item or n_annotators, replace=False):
            below_t = expit(slope_a[a] * (border_at[a] - place_i[i]))
            item.append(i)
            annotator.append(a)
            label.append(int((rng.random() > below_t).sum()))
    ann = Annotations.from_arrays(
        item, annotator, label, levels=range(n_levels), items=range(n_items)
    )
    return ann, np.round(place_i).astype(int), border_at, slope_a


def test_probabilities_of_labels_are_differences_of_logistic_functions():
    threshold_al = np.array([[-1.0, 0.5, 2.0], [-3.0, -2.5, 4.0]])
    slope_a, place_k = np.array([1.5, -0.7]), np.array([-0.5, 0.0, 2.0])
    found_akl = np.exp(log_cumulative(threshold_al, slope_a, place_k))
    for a in range(2):
        for k in range(3):
            below = expit(threshold_al[a] - slope_a[a] * place_k[k])
            expected = np.diff(np.concatenate([[0.0], below, [1.0]]))
            np.testing.assert_allclose(found_akl[a, k], expected, atol=1e-14)


def test_thresholds_are_those_of_a_general_optimiser():
    rng = np.random.default_rng(1)
    weight_akl, place_k = rng.uniform(0.1, 5.0, (2, 3, 4)), np.arange(3.0)
    start_at = np.tile([0.5, 1.5, 2.5], (2, 1))
    threshold_at, slope_a = fit_thresholds(weight_akl, start_at, np.ones(2), place_k)
    for a in range(2):

        def loss(x, a=a):
            rising = np.concatenate([x[:1], x[0] + np.cumsum(np.exp(x[1:3]))])
            log_p = log_cumulative(rising[None], x[3:], place_k)[0]
            return -(weight_akl[a] * log_p).sum()

        best = minimize(loss, np.array([0.0, 0.0, 0.0, 1.0]), method="BFGS")
        found = -(weight_akl[a] * log_cumulative(threshold_at[[a]], slope_a[[a]], place_k)[0]).sum()
        assert found == pytest.approx(best.fun, abs=1e-6)
        assert slope_a[a] == pytest.approx(best.x[3], abs=1e-3)


@pytest.mark.parametrize(
    "model", [OrdinalThresholds(n_points=1, **TIGHT), OrdinalDawidSkene(**TIGHT)]
)
def test_two_levels_equal_binary_dawid_skene_with_the_same_pseudo_labels(model):
    item, annotator, label = random_labels(3, n_classes=2)
    ann = Annotations.from_arrays(item, annotator, label, kind="ordinal")
    consensus = model.fit(ann)
    parameters, scale = consensus.parameters, Scale(2, 1)
    crowd_kl = (
        np.exp(parameters.log_crowd_lk.T)
        if hasattr(parameters, "log_crowd_lk")
        else np.exp(log_crowd(parameters.crowd_slope, scale.border_t, scale.place_k))
    )
    priors = dict.fromkeys(ann.annotators.tolist(), crowd_kl)
    binary = DawidSkene(prior_confusions=priors, **TIGHT).fit(ann)
    np.testing.assert_allclose(consensus.probabilities, binary.probabilities, atol=1e-7)
    np.testing.assert_allclose(consensus.confusion, binary.confusion, atol=1e-7)
    assert consensus.objective[-1] == pytest.approx(binary.objective[-1], abs=1e-6)


def test_simulated_thresholds_and_slopes_are_recovered():
    ann, truth, border_at, slope_a = crowd(1500, 12, 4)
    consensus = OrdinalThresholds(n_points=5, prior_strength=1.0).fit(ann)
    found = consensus.parameters
    np.testing.assert_allclose(found.threshold_at / found.slope_a[:, None], border_at, atol=0.15)
    np.testing.assert_allclose(found.slope_a, slope_a, rtol=0.15)
    assert (consensus.labels == truth).mean() > 0.8
    assert np.corrcoef(consensus.annotator_traits["bias"], -border_at.mean(axis=1))[0, 1] > 0.95


def test_ordinal_models_beat_models_of_classes_where_labels_are_few():
    ann, truth, _, _ = crowd(200, 15, 5, seed=2, per_item=4)
    known = dict(enumerate(truth.tolist()))
    rps = {
        name: mh.aggregate(ann, name).score(known).rps
        for name in ("ordinal-thresholds", "ordinal-dawid-skene", "dawid-skene", "majority")
    }
    assert rps["ordinal-thresholds"] < rps["ordinal-dawid-skene"] < rps["dawid-skene"]
    assert rps["ordinal-thresholds"] < rps["majority"]


def test_somebody_who_reverses_the_order_has_a_falling_slope():
    ann, truth, _, _ = crowd(150, 6, 4, seed=4)
    label = np.where(ann.annotator == 0, 3 - ann.label, ann.label)
    odd = Annotations.from_arrays(ann.item, ann.annotator, label, levels=range(4))
    consensus = OrdinalThresholds().fit(odd)
    assert consensus.annotator_traits["slope"][0] < 0
    assert (consensus.annotator_traits["slope"][1:] > 0).all()
    assert (consensus.labels == truth).mean() > 0.75


def test_ordinal_models_refuse_words_without_an_order_and_take_whole_numbers():
    words = Annotations.from_dense([["x", "y"], ["z", "x"]])
    with pytest.raises(DataError, match="not known"):
        OrdinalThresholds().fit(words)
    assert OrdinalThresholds().fit([[1, 2], [2, 3]]).annotations.ordered


def test_labels_are_ordinal_by_default_if_they_have_an_order(tmp_path):
    ann, _, _, _ = crowd(40, 5, 3)
    consensus = mh.aggregate(ann)
    assert consensus.method_name == "ordinal-thresholds"
    consensus.save(tmp_path / "c")
    loaded = mh.load(tmp_path / "c")
    assert loaded.annotations.ordered
    pd.testing.assert_frame_equal(loaded.to_frame(), consensus.to_frame())
    assert loaded.update(ann[:1]).annotations.ordered


def test_a_consensus_has_median_mean_and_interval_of_levels():
    ann = Annotations.from_arrays(
        [0, 1, 2], ["u"] * 3, ["bad", "fair", "good"], levels=["bad", "fair", "good"]
    )
    p_ik = np.array([[0.4, 0.3, 0.3], [0.04, 0.9, 0.06], [0.5, 0.5, 0.0]])
    consensus = mh.Consensus.from_probabilities(ann, p_ik)
    frame = consensus.to_frame()
    assert frame["label"].tolist()[:2] == ["bad", "fair"]
    assert frame["median"].tolist() == ["fair", "fair", "bad"]
    np.testing.assert_allclose(frame["expected"], [1.9, 2.02, 1.5])
    assert frame["level_low"].tolist() == ["bad", "fair", "bad"]
    assert frame["level_high"].tolist() == ["good", "good", "fair"]
    unordered = mh.Consensus.from_probabilities(Annotations.from_dense([[0], [1]]), np.eye(2))
    assert "median" not in unordered.to_frame()


def test_scores_of_levels_count_how_far_off_they_are():
    ann = Annotations.from_arrays([0, 1], ["u", "u"], [1, 5], levels=[1, 2, 3, 4, 5])
    consensus = mh.Consensus.from_probabilities(ann, np.eye(5)[[0, 4]])
    card = consensus.score({0: 2, 1: 5})
    assert (card.accuracy, card.rps, card.levels_off) == (0.5, 0.5, 0.5)
    with pytest.raises(DataError, match="the truth 7 is none of the levels 1, 2, 3, 4, 5"):
        consensus.score({0: 7, 1: 5})


def test_agreement_and_comparison_follow_the_order():
    ann, truth, _, _ = crowd(40, 5, 4)
    assert mh.agreement.summarize(ann).level == "ordinal"
    found = mh.agreement.alpha(ann)
    assert found.value == mh.agreement.alpha(ann, level="ordinal").value
    names = ["ordinal-thresholds", "majority"]
    table = mh.aggregation.compare(ann, names, truth=dict(enumerate(truth.tolist())))
    assert table.ranked_by == "ranked probability score against the truth"
    assert table.columns["rps"][0] <= table.columns["rps"][1]
    for_levels, for_classes = map(mh.aggregation.aggregators_for, ("ordinal", "classes"))
    assert set(for_levels) - set(for_classes) == {"ordinal-thresholds", "ordinal-dawid-skene"}
