"""Soft scores: laws of distances, references of scipy, scores per annotator, scorecards."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.spatial.distance import jensenshannon
from sklearn import metrics

from manyhands.aggregation import Gaussian, Majority
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from manyhands.evaluation import (
    annotator_scores,
    jensen_shannon_distance,
    jensen_shannon_divergence,
    manhattan_distance,
    soft_cross_entropy,
    wasserstein_distance,
)

MAXIMA = {
    manhattan_distance: lambda k: 2.0,
    jensen_shannon_divergence: lambda k: 1.0,
    jensen_shannon_distance: lambda k: 1.0,
    wasserstein_distance: lambda k: k - 1.0,
}
DISTANCES = list(MAXIMA)
SHAPE_FREE = [each for each in DISTANCES if each is not wasserstein_distance]


@st.composite
def two_distributions(draw):
    """Two sets of distributions from whole numbers, so that zeros and equal rows occur."""
    shape = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    counts = arrays(np.int64, shape, elements=st.integers(0, 4))
    both = draw(counts), draw(counts)
    for each in both:
        each[each.sum(axis=1) == 0] = 1
    return [each / each.sum(axis=1, keepdims=True) for each in both]


@pytest.mark.parametrize("distance", DISTANCES)
@settings(max_examples=40)
@given(pair=two_distributions())
def test_distances_are_zero_for_equal_distributions_and_symmetric_and_bounded(distance, pair):
    first, second = pair
    value = distance(first, second)
    assert distance(first, first) == pytest.approx(0.0, abs=1e-7)
    assert value == pytest.approx(distance(second, first), abs=1e-9)
    assert value <= MAXIMA[distance](first.shape[1]) + 1e-9
    assert (value > 1e-7) == (not np.allclose(first, second))


@settings(max_examples=40)
@given(pair=two_distributions(), seed=st.integers(0, 100))
def test_the_order_of_classes_counts_for_ordered_labels_only(pair, seed):
    first, second = pair
    order = np.random.default_rng(seed).permutation(first.shape[1])
    for score in [*SHAPE_FREE, soft_cross_entropy]:
        permuted = score(first[:, order], second[:, order])
        assert permuted == pytest.approx(score(first, second), abs=1e-9)
    mirrored = wasserstein_distance(first[:, ::-1], second[:, ::-1])
    assert mirrored == pytest.approx(wasserstein_distance(first, second), abs=1e-9)


def test_neighbouring_labels_are_nearer_than_distant_ones():
    truth, near, far = np.eye(3)[[0]], np.eye(3)[[1]], np.eye(3)[[2]]
    assert wasserstein_distance(truth, near) == 1.0
    assert wasserstein_distance(truth, far) == 2.0
    assert manhattan_distance(truth, near) == manhattan_distance(truth, far) == 2.0


@settings(max_examples=40)
@given(pair=two_distributions())
def test_cross_entropy_is_at_least_the_entropy_of_the_target(pair):
    first, second = pair
    entropy = stats.entropy(first, axis=1).mean()
    assert soft_cross_entropy(first, first) == pytest.approx(entropy, abs=1e-9)
    assert soft_cross_entropy(first, second) >= entropy - 1e-9


def test_a_probability_of_zero_counts_as_eps():
    target, predicted = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    assert soft_cross_entropy(target, predicted, eps=1e-9) == pytest.approx(-np.log(1e-9))
    assert soft_cross_entropy(target, predicted) == pytest.approx(708.4, abs=0.1)
    with pytest.raises(SettingError, match="eps must be above 0 and below 1; got 0"):
        soft_cross_entropy(target, predicted, eps=0)


def test_distances_agree_with_scipy():
    rng = np.random.default_rng(0)
    first, second = rng.dirichlet(np.ones(5), 30), rng.dirichlet(np.ones(5), 30)
    theirs = jensenshannon(first, second, axis=1, base=2)
    assert jensen_shannon_distance(first, second) == pytest.approx(theirs.mean())
    assert jensen_shannon_divergence(first, second) == pytest.approx((theirs**2).mean())
    for values in (np.arange(5.0), np.array([-3.0, -1.0, 0.0, 0.5, 10.0])):
        wanted = [
            stats.wasserstein_distance(values, values, p, q)
            for p, q in zip(first, second, strict=True)
        ]
        got = wasserstein_distance(first, second, values=values)
        assert got == pytest.approx(np.mean(wanted))
    assert wasserstein_distance(first, second) == pytest.approx(
        np.abs(np.cumsum(first, axis=1) - np.cumsum(second, axis=1)).sum(axis=1).mean()
    )


@pytest.mark.parametrize(
    ("target", "predicted", "text"),
    [
        ([[0.5, 0.6]], [[0.5, 0.5]], "row 0 of the label distributions sums to 1.1; divide each"),
        ([[0.5, 0.5]] * 2, [[0.5, 0.5], [0.2, 0.2]], "row 1 of the probabilities sums to 0.4"),
        ([[1.5, -0.5]], [[0.5, 0.5]], "row 0 of the label distributions must be finite and 0 or"),
        ([[np.nan, 1.0]], [[0.5, 0.5]], "must be finite and 0 or more"),
        ([[0.5, 0.5]], [[0.2, 0.3, 0.5]], r"shape \(1, 2\) and probabilities of shape \(1, 3\)"),
        ([0.5, 0.5], [[0.5, 0.5]], "a row per item and a column per class"),
        (np.zeros((0, 2)), np.zeros((0, 2)), "a row per item and a column per class"),
    ],
)
def test_what_is_no_distribution_is_refused(target, predicted, text):
    for score in [*DISTANCES, soft_cross_entropy]:
        with pytest.raises(DataError, match=text):
            score(target, predicted)


def test_values_of_ordered_labels_must_fit():
    same = np.array([[0.5, 0.5]])
    with pytest.raises(DataError, match="3 values for 2 classes"):
        wasserstein_distance(same, same, values=[1, 2, 3])
    with pytest.raises(DataError, match="must be finite and increase; sort them"):
        wasserstein_distance(same, same, values=[2, 1])


def test_each_annotator_has_scores_of_the_own_labels():
    annotator, label = np.array([0, 0, 2, 2]), np.array([0, 1, 1, 1])
    predicted = np.array([[0.9, 0.1], [0.1, 0.9], [1.0, 0.0], [0.5, 0.5]])
    scores = annotator_scores(annotator, label, predicted, n_annotators=4)
    assert scores.n_labels.tolist() == [2, 0, 2, 0]
    np.testing.assert_allclose(scores.accuracy, [1.0, np.nan, 0.25, np.nan])
    np.testing.assert_allclose(scores.distribution_error, [0.0, np.nan, 0.75, np.nan], atol=1e-12)
    assert scores.mean_accuracy == pytest.approx(0.625)
    assert scores.mean_distribution_error == pytest.approx(0.375)
    perfect = annotator_scores(annotator, label, np.eye(2)[label])
    assert perfect.mean_accuracy == 1.0
    assert perfect.mean_distribution_error == 0.0


@pytest.mark.parametrize(
    ("annotator", "label", "text"),
    [
        ([0], [0, 1], "1 annotators, 2 labels and 2 rows of probabilities"),
        ([0, 1], [0, 2], r"class codes 0\.\.1"),
        ([0, 9], [0, 1], r"codes 0\.\.1"),
        ([0, -1], [0, 1], r"codes 0\.\.1"),
    ],
)
def test_annotators_and_labels_are_codes(annotator, label, text):
    with pytest.raises(DataError, match=text):
        annotator_scores(annotator, label, [[0.5, 0.5]] * 2, n_annotators=2)


@pytest.fixture
def votes():
    return Majority().fit(Annotations.from_arrays([1, 1, 2, 2, 3], list("uvuvu"), [0, 0, 0, 1, 4]))


def test_a_consensus_is_scored_against_shares_of_labels(votes):
    shares = {1: {0: 0.8, 1: 0.2}, 2: {0: 0.5, 1: 0.5}, 3: {"4": 1.0}, 99: {0: 1.0}}
    card = votes.score_soft(shares)
    predicted, target = votes.probabilities, np.array([[0.8, 0.2, 0], [0.5, 0.5, 0], [0, 0, 1]])
    assert (card.n_items, card.n_tied) == (3, 1)
    assert card.manhattan == pytest.approx(np.abs(predicted - target).sum(axis=1).mean())
    assert card.js_distance == pytest.approx(jensen_shannon_distance(target, predicted))
    assert card.wasserstein == pytest.approx(
        wasserstein_distance(target, predicted, values=[0, 1, 4])
    )
    assert card.f1_micro == card.f1_macro == 1.0
    assert card.as_dict()["cross_entropy"] == card.cross_entropy


def test_shares_of_a_class_without_labels_have_no_probability(votes):
    card = votes.score_soft({1: {"other": 1.0, 0: 0.0}})
    assert card.manhattan == pytest.approx(2.0)
    assert card.cross_entropy == pytest.approx(-np.log(1e-9))
    assert card.wasserstein is None
    assert "wasserstein" not in card.as_dict()
    assert card.f1_micro == 0.0
    assert "f1_micro" not in votes.score_soft({1: {0: 0.5, 1: 0.5}}).as_dict()


def test_hard_scores_agree_with_scikit_learn(crowd):
    consensus = Majority().fit(crowd.annotations)
    card = consensus.score_soft({item: {k: 1.0} for item, k in crowd.truth_by_item.items()})
    truth = [str(crowd.truth_by_item[item]) for item in crowd.annotations.items.tolist()]
    said = [str(label) for label in consensus.labels.tolist()]
    assert card.f1_micro == pytest.approx(metrics.f1_score(truth, said, average="micro"))
    assert card.f1_macro == pytest.approx(metrics.f1_score(truth, said, average="macro"))


def test_shares_that_do_not_sum_to_one_and_numbers_are_refused(votes):
    with pytest.raises(DataError, match=r"sums to 0\.7"):
        votes.score_soft({1: {0: 0.7}})
    with pytest.raises(DataError, match="of the classes A, B, the labels of 0, 1, 4; check"):
        votes.score_soft({1: {"A": 0.7, "B": 0.3}})
    with pytest.raises(DataError, match="check that the item names match"):
        votes.score_soft({99: {0: 1.0}})
    numbers = Gaussian().fit(Annotations.from_arrays([1, 1], ["u", "v"], [0.5, 0.7]))
    with pytest.raises(DataError, match="these labels are numbers"):
        numbers.score_soft({1: {0: 1.0}})
