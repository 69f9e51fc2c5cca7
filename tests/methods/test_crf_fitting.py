"""Training a chain: slopes by finite differences, weights of sentences, what is refused."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from manyhands.core.errors import DataError, SettingError
from manyhands.methods.crf import ChainWeights, best_tags, fit_chain, log_probability
from manyhands.methods.crf.fitting import ChainObjective, given_tags
from manyhands.methods.crf.weights import as_offsets, as_token_features
from methods.crf_cases import tagged_crowd


@pytest.fixture(scope="module")
def crowd():
    return tagged_crowd(0, n_sentences=30)


def objective_of(weights, crowd, weight_s, l2):
    """What is maximised, as it is defined."""
    log_p_s = log_probability(
        weights.token_scores(crowd.features), crowd.offsets, weights.links, crowd.truth
    )
    return weight_s @ log_p_s - 0.5 * l2 * np.square(weights.flat()).sum()


def test_slopes_are_those_of_finite_differences(crowd):
    rng = np.random.default_rng(0)
    weight_s = rng.random(len(crowd.offsets) - 1)
    chain = ChainObjective(as_token_features(crowd.features), crowd.offsets, 3, l2=0.7)
    targets = given_tags(crowd.truth, crowd.offsets, 3, weight_s)
    wanted = chain.counts(targets.tag_tk, targets.pair_kk).flat()
    vector = rng.normal(size=len(wanted))

    def value(at):
        return objective_of(chain.nothing.like(at), crowd, weight_s, 0.7)

    got, slope = chain.value_and_slope(vector, wanted, weight_s)
    assert got == pytest.approx(value(vector), rel=1e-12)
    np.testing.assert_allclose(slope, approx_fprime(vector, value, 1e-6), atol=1e-4)


def test_the_fit_is_a_maximum_and_says_how_high(crowd):
    weight_s = np.ones(len(crowd.offsets) - 1)
    fit = fit_chain(crowd.features, crowd.offsets, crowd.truth, 3, tol=1e-14)
    best = objective_of(fit.weights, crowd, weight_s, 1.0)
    assert fit.objective == pytest.approx(best, rel=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = fit.weights.flat() + 1e-2 * rng.normal(size=fit.weights.flat().shape)
        assert objective_of(fit.weights.like(moved), crowd, weight_s, 1.0) < best
    tag_t = best_tags(fit.weights.token_scores(crowd.features), crowd.offsets, fit.weights.links)
    assert (tag_t == crowd.truth).mean() > 0.85


def test_a_weight_of_two_is_a_sentence_twice_and_of_zero_none(crowd):
    sizes = np.diff(crowd.offsets)
    weight_s = np.ones(len(sizes))
    weight_s[[0, 1]] = 2.0, 0.0
    weighed = fit_chain(crowd.features, crowd.offsets, crowd.truth, 3, weight_s=weight_s, tol=1e-15)
    first, second = slice(0, crowd.offsets[1]), slice(crowd.offsets[1], crowd.offsets[2])
    token = np.r_[first, np.arange(len(crowd.truth))]
    token = np.delete(token, np.r_[second] + sizes[0])
    offsets = np.concatenate(([0], np.cumsum(np.r_[sizes[0], sizes[0], sizes[2:]])))
    written = fit_chain(crowd.features[token], offsets, crowd.truth[token], 3, tol=1e-15)
    np.testing.assert_allclose(weighed.weights.flat(), written.weights.flat(), atol=1e-4)


def test_a_warm_start_ends_where_a_cold_one_does(crowd):
    cold = fit_chain(crowd.features, crowd.offsets, crowd.truth, 3, tol=1e-15)
    rng = np.random.default_rng(0)
    start = cold.weights.like(rng.normal(size=cold.weights.flat().shape))
    warm = fit_chain(crowd.features, crowd.offsets, crowd.truth, 3, start=start, tol=1e-15)
    np.testing.assert_allclose(warm.weights.flat(), cold.weights.flat(), atol=1e-4)
    again = fit_chain(crowd.features, crowd.offsets, crowd.truth, 3, start=cold.weights, max_iter=1)
    assert again.objective >= cold.objective


def test_weights_survive_being_one_vector():
    rng = np.random.default_rng(0)
    zeros = ChainWeights.zeros(4, 3)
    vector = rng.normal(size=zeros.flat().shape)
    np.testing.assert_array_equal(zeros.like(vector).flat(), vector)


def test_one_sentence_of_one_token():
    fit = fit_chain([[1.0]], [0, 1], [1], 2)
    assert fit.weights.feature_jk[0, 1] > fit.weights.feature_jk[0, 0]


def test_wrong_requests_are_refused():
    x = np.eye(3)
    with pytest.raises(SettingError, match="l2 must be above 0"):
        fit_chain(x, [0, 3], [0, 1, 1], 2, l2=0.0)
    with pytest.raises(DataError, match="token 2 has tag 2; codes are 0 to 1"):
        fit_chain(x, [0, 3], [0, 1, 2], 2)
    with pytest.raises(DataError, match="for 3 tokens"):
        fit_chain(x, [0, 3], [0, 1], 2)
    with pytest.raises(DataError, match="weights must be 1 numbers"):
        fit_chain(x, [0, 3], [0, 1, 1], 2, weight_s=[-1.0])
    with pytest.raises(DataError, match="finite"):
        fit_chain(x * np.nan, [0, 3], [0, 1, 1], 2)
    with pytest.raises(DataError, match="2 features per token where the weights are of 3"):
        ChainWeights.zeros(3, 2).token_scores(np.ones((1, 2)))
    for offsets in ([0, 2], [1, 3], [0, 2, 1, 3], [], [0.0, 3.0]):
        with pytest.raises(DataError, match="offsets must be"):
            as_offsets(offsets, 3)
