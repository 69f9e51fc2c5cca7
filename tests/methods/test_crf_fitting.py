"""Fitting a CRF: gradients by finite differences, weights of sentences, invalid requests."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from manyhands.aggregation.kernels.linear_chain import as_offsets
from manyhands.core.errors import DataError, SettingError
from manyhands.methods.crf.fitting import CrfObjective, CrfWeights, as_token_features
from methods.crf_cases import fit_crf, likely_tags, log_probability, tag_targets, tagged_crowd


@pytest.fixture(scope="module")
def crowd():
    return tagged_crowd(0, n_sentences=30)


def objective_of(weights, crowd, weight_s, l2):
    """The objective, by its definition."""
    log_p_s = log_probability(
        weights.token_scores(crowd.features), crowd.offsets, weights.transitions, crowd.truth
    )
    return weight_s @ log_p_s - 0.5 * l2 * np.square(weights.flat()).sum()


def test_the_gradient_matches_finite_differences(crowd):
    rng = np.random.default_rng(0)
    weight_s = rng.random(len(crowd.offsets) - 1)
    crf = CrfObjective(as_token_features(crowd.features), crowd.offsets, 3, l2=0.7)
    targets = tag_targets(crowd.truth, crowd.offsets, crf, weight_s)
    target_counts = crf.counts(targets.tag_tk, targets.pair_kk).flat()
    vector = rng.normal(size=len(target_counts))

    def value(at):
        return objective_of(crf.zeros.like(at), crowd, weight_s, 0.7)

    got, gradient = crf.value_and_gradient(vector, target_counts, weight_s)
    assert got == pytest.approx(value(vector), rel=1e-12)
    np.testing.assert_allclose(gradient, approx_fprime(vector, value, 1e-6), atol=1e-4)


def test_the_fit_is_a_maximum_of_its_objective(crowd):
    weight_s = np.ones(len(crowd.offsets) - 1)
    fit = fit_crf(crowd.features, crowd.offsets, crowd.truth, 3, tol=1e-14)
    best = objective_of(fit.weights, crowd, weight_s, 1.0)
    assert fit.objective == pytest.approx(best, rel=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = fit.weights.flat() + 1e-2 * rng.normal(size=fit.weights.flat().shape)
        assert objective_of(fit.weights.like(moved), crowd, weight_s, 1.0) < best
    assert (likely_tags(fit.weights, crowd.features, crowd.offsets) == crowd.truth).mean() > 0.85


def test_a_weight_of_two_is_a_sentence_twice_and_of_zero_none(crowd):
    sizes = np.diff(crowd.offsets)
    weight_s = np.ones(len(sizes))
    weight_s[[0, 1]] = 2.0, 0.0
    weighted = fit_crf(crowd.features, crowd.offsets, crowd.truth, 3, weight_s=weight_s, tol=1e-15)
    first, second = slice(0, crowd.offsets[1]), slice(crowd.offsets[1], crowd.offsets[2])
    token = np.r_[first, np.arange(len(crowd.truth))]
    token = np.delete(token, np.r_[second] + sizes[0])
    offsets = np.concatenate(([0], np.cumsum(np.r_[sizes[0], sizes[0], sizes[2:]])))
    repeated = fit_crf(crowd.features[token], offsets, crowd.truth[token], 3, tol=1e-15)
    np.testing.assert_allclose(weighted.weights.flat(), repeated.weights.flat(), atol=1e-4)


def test_warm_and_cold_starts_end_at_the_same_weights(crowd):
    cold = fit_crf(crowd.features, crowd.offsets, crowd.truth, 3, tol=1e-15)
    rng = np.random.default_rng(0)
    start = cold.weights.like(rng.normal(size=cold.weights.flat().shape))
    warm = fit_crf(crowd.features, crowd.offsets, crowd.truth, 3, start=start, tol=1e-15)
    np.testing.assert_allclose(warm.weights.flat(), cold.weights.flat(), atol=1e-4)
    again = fit_crf(crowd.features, crowd.offsets, crowd.truth, 3, start=cold.weights, max_iter=1)
    assert again.objective >= cold.objective


def test_weights_are_restored_from_one_vector():
    rng = np.random.default_rng(0)
    zeros = CrfWeights.zeros(4, 3)
    vector = rng.normal(size=zeros.flat().shape)
    np.testing.assert_array_equal(zeros.like(vector).flat(), vector)


def test_one_sentence_of_one_token():
    fit = fit_crf([[1.0]], [0, 1], [1], 2)
    assert fit.weights.feature_jk[0, 1] > fit.weights.feature_jk[0, 0]


def test_invalid_requests_raise():
    x = np.eye(3)
    with pytest.raises(SettingError, match="l2 must be above 0"):
        CrfObjective(as_token_features(x), np.array([0, 3]), 2, l2=0.0)
    with pytest.raises(DataError, match="finite"):
        as_token_features(x * np.nan)
    with pytest.raises(DataError, match="2 features per token where the weights are of 3"):
        CrfWeights.zeros(3, 2).token_scores(np.ones((1, 2)))
    for offsets in ([0, 2], [1, 3], [0, 2, 1, 3], [], [0.0, 3.0]):
        with pytest.raises(DataError, match="offsets must be"):
            as_offsets(offsets, 3)
