"""Intraclass correlations against Shrout and Fleiss, and an analysis of variance with gaps."""

import numpy as np
import pandas as pd
import pytest
from worked_examples import SHROUT_FLEISS, annotations_of

from manyhands.agreement import icc
from manyhands.core.errors import DataError, SettingError

# Shrout and Fleiss (1979), table 4, and the intervals of these data in the manual of R's psych.
PUBLISHED = {
    (1, False): (0.17, -0.13, 0.72), (2, False): (0.29, 0.02, 0.76), (3, False): (0.71, 0.34, 0.95),
    (1, True): (0.44, -0.88, 0.91), (2, True): (0.62, 0.07, 0.93), (3, True): (0.91, 0.68, 0.99),
}  # fmt: skip


@pytest.mark.parametrize(("model", "average"), PUBLISHED)
def test_six_targets_and_four_judges(model, average):
    found = icc(SHROUT_FLEISS, model=model, average=average)
    expected = PUBLISHED[model, average]
    assert (found.value, found.low, found.high) == pytest.approx(expected, abs=0.0051)
    assert found.title == f"ICC({model},{'k' if average else 1})"


def rated(seed, n_items=40, n_annotators=6, share=0.6):
    rng = np.random.default_rng(seed)
    ratings = rng.normal(size=(n_items, 1)) + 0.7 * rng.normal(size=(1, n_annotators))
    ratings = 50 + ratings + 0.8 * rng.normal(size=(n_items, n_annotators))
    return np.where(rng.random(ratings.shape) < share, ratings, np.nan)


def components(matrix):
    """Variances of items, annotators and error from fits with dense matrices."""
    matrix = matrix[(~np.isnan(matrix)).sum(axis=1) > 1]
    item, annotator = np.nonzero(~np.isnan(matrix))
    value = matrix[item, annotator]
    n, r, size = len(matrix), matrix.shape[1], len(value)
    by_item, by_annotator = np.eye(n)[item], np.eye(r)[annotator]

    def rest(*designs):
        design = np.concatenate(designs, axis=1)
        return ((value - design @ np.linalg.lstsq(design, value, rcond=None)[0]) ** 2).sum()

    both = rest(by_item, by_annotator)
    error = both / (size - n - r + 1)
    items = (rest(by_annotator) - both - (n - 1) * error) / (size - r)
    annotators = (rest(by_item) - both - (r - 1) * error) / (size - n)
    return items, annotators, error


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_gaps_are_filled_by_no_guess(share):
    matrix = rated(0, share=share)
    items, annotators, error = components(matrix)
    ann = annotations_of(matrix, kind="numbers")
    assert icc(ann, model=3).value == pytest.approx(items / (items + error), abs=1e-8)
    expected = items / (items + annotators + error)
    assert icc(ann, model=2).value == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_complete_tables_have_the_mean_squares_of_statsmodels(seed):
    """The formulas of Shrout and Fleiss, with an analysis of variance of another package."""
    ols = pytest.importorskip("statsmodels.formula.api").ols
    anova = pytest.importorskip("statsmodels.stats.anova").anova_lm
    matrix = rated(seed, n_items=9 + seed, n_annotators=2 + seed, share=1.0)
    (n, k), (i, a) = matrix.shape, np.indices(matrix.shape)
    frame = pd.DataFrame({"item": i.ravel(), "who": a.ravel(), "value": matrix.ravel()})
    two = anova(ols("value ~ C(item) + C(who)", frame).fit())["mean_sq"]
    within = anova(ols("value ~ C(item)", frame).fit())["mean_sq"]["Residual"]
    b, j, e = two["C(item)"], two["C(who)"], two["Residual"]
    expected = {
        (1, False): (b - within) / (b + (k - 1) * within), (1, True): (b - within) / b,
        (2, False): (b - e) / (b + (k - 1) * e + k * (j - e) / n),
        (2, True): (b - e) / (b + (j - e) / n),
        (3, False): (b - e) / (b + (k - 1) * e), (3, True): (b - e) / b,
    }  # fmt: skip
    for (model, average), value in expected.items():
        found = icc(matrix, model=model, average=average, interval="none").value
        assert found == pytest.approx(value, abs=1e-9)


def test_expected_sums_of_squares_hold_with_gaps():
    found = [
        [icc(annotations_of(rated(seed), kind="numbers"), model=m, interval="none").value
         for m in (2, 3)]
        for seed in range(40)
    ]  # fmt: skip
    assert np.mean(found, axis=0) == pytest.approx([1 / 2.13, 1 / 1.64], abs=0.04)


def test_the_interval_with_gaps_is_near_that_of_the_bootstrap():
    ann = annotations_of(rated(3, n_items=80), kind="numbers")
    for model in (1, 3):
        exact = icc(ann, model=model)
        drawn = icc(ann, model=model, interval="items", n_resamples=200)
        assert (exact.low, exact.high) == pytest.approx((drawn.low, drawn.high), abs=0.08)
        assert any("approximate, since labels are missing" in word for word in exact.words)


def test_levels_of_annotators_count_in_model_2_only():
    ratings = np.arange(10)[:, None] + np.array([0.0, 5.0, 10.0])
    assert icc(ratings, model=3).value == pytest.approx(1.0)
    assert icc(ratings, model=2).value < 0.4


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([[1.5], [2.5]], "No item has labels of two annotators"),
        ([[1.5, 1.5], [1.5, 1.5]], "All labels are the same number"),
        ([[1.5, 2.5]], "The labels are too few"),
    ],
)
@pytest.mark.parametrize("model", [1, 2, 3])
def test_undefined_is_said_in_words(labels, reason, model):
    found = icc(labels, model=model)
    assert not found.is_defined
    assert found.words[0].startswith(reason)


def test_wrong_requests_say_what_is_wrong():
    with pytest.raises(SettingError, match="model must be 1, 2 or 3"):
        icc(SHROUT_FLEISS, model=4)
    with pytest.raises(SettingError, match="interval must be analytic, items or none"):
        icc(SHROUT_FLEISS, interval="annotators")
    with pytest.raises(DataError, match="icc compares numbers"):
        icc([["a", "b"], ["a", "a"]])
