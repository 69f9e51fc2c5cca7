"""Kappas and their kin against scikit-learn, statsmodels and published values."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from worked_examples import FLEISS, KRIPPENDORFF, annotations_of, from_counts, gapped

from manyhands.agreement import brennan_prediger, cohen, fleiss, gwet, percent, scott
from manyhands.agreement.chance import ChanceStatistic
from manyhands.agreement.ordered import weight_matrix
from manyhands.agreement.runs import LabelRuns
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError

# Gwet (2014) and the manual of irrCAC, for the table of Krippendorff.
PUBLISHED = {percent: 0.81818, fleiss: 0.76117, gwet: 0.77544, brennan_prediger: 0.77273}
WEIGHTS = (None, "linear", "quadratic")


def two_annotators(seed, n_items=150, n_classes=4, skill=0.6):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n_classes, n_items)
    other = rng.integers(0, n_classes, n_items)
    return np.stack([first, np.where(rng.random(n_items) < skill, first, other)], axis=1)


@pytest.mark.parametrize("coefficient", PUBLISHED)
def test_values_of_gwet_for_a_table_with_gaps(coefficient):
    found = coefficient(Annotations.from_dense(KRIPPENDORFF))
    assert found.value == pytest.approx(PUBLISHED[coefficient], abs=5e-6)


def test_fleiss_of_the_textbook_and_of_statsmodels():
    found = fleiss(from_counts(FLEISS))
    assert found.value == pytest.approx(0.210, abs=0.0005)
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    assert found.value == pytest.approx(inter_rater.fleiss_kappa(FLEISS), abs=1e-12)
    uniform = inter_rater.fleiss_kappa(FLEISS, method="unif")
    assert brennan_prediger(from_counts(FLEISS)).value == pytest.approx(uniform, abs=1e-12)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_cohen_is_as_in_scikit_learn_and_statsmodels(weights):
    labels = two_annotators(0)
    found = cohen(labels, weights=weights)
    expected = cohen_kappa_score(*labels.T, weights=weights)
    assert found.value == pytest.approx(expected, abs=1e-12)
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    names = {None: None, "linear": "linear", "quadratic": "fc"}
    table = inter_rater.to_table(labels, 4)[0]
    other = inter_rater.cohens_kappa(table, wt=names[weights])
    assert found.value == pytest.approx(other.kappa, abs=1e-12)
    error = (found.high - found.value) / stats.t.ppf(0.975, len(labels) - 1)
    assert error == pytest.approx(other.std_kappa, rel=1e-9)


@settings(max_examples=15)
@given(gapped())
def test_the_mean_over_pairs_is_that_of_scikit_learn(matrix):
    values, shared = [], []
    for one, two in itertools.combinations(range(matrix.shape[1]), 2):
        both = ~np.isnan(matrix[:, [one, two]]).any(axis=1)
        pair = matrix[both][:, [one, two]].astype(int)
        if len(np.unique(pair)) > 1:
            values.append(cohen_kappa_score(*pair.T))
            shared.append(both.sum())
    expected = np.average(values, weights=shared) if values else np.nan
    found = cohen(annotations_of(matrix), interval="none").value
    assert found == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_one_pair_can_be_named():
    labels = np.column_stack([two_annotators(1), two_annotators(2)[:, 0]])
    ann = Annotations.from_dense(labels, annotators=["ann", "ben", "cleo"])
    found = cohen(ann, pair=("ann", "ben"))
    assert found.value == pytest.approx(cohen_kappa_score(*labels[:, :2].T), abs=1e-12)
    assert found.title == "Cohen's kappa of ann and ben"
    with pytest.raises(SettingError, match="pair must be the names of two annotators"):
        cohen(ann, pair=("ann", "dora"))


@pytest.mark.parametrize("weights", WEIGHTS)
def test_scott_and_fleiss_are_the_same_for_two_annotators(weights):
    labels = two_annotators(3)
    expected = fleiss(labels, weights=weights).value
    assert scott(labels, weights=weights).value == pytest.approx(expected, abs=1e-12)


def test_scott_is_as_in_nltk():
    agreement = pytest.importorskip("nltk.metrics.agreement")
    labels = two_annotators(4)
    rows = [(a, i, labels[i, a]) for i in range(len(labels)) for a in range(2)]
    assert scott(labels).value == pytest.approx(agreement.AnnotationTask(rows).pi(), abs=1e-12)


def by_definition(name, matrix, weight_kk):
    """The coefficient from the pairs of labels of every item, one by one."""
    n_classes = len(weight_kk)
    rows = [row[~np.isnan(row)].astype(int) for row in matrix]
    agreed = [
        np.mean([weight_kk[a, b] for a, b in itertools.permutations(row, 2)])
        for row in rows
        if len(row) > 1
    ]
    if not agreed:
        return np.nan
    shares = [np.bincount(row, minlength=n_classes) / len(row) for row in rows if len(row)]
    share = np.mean(shares, axis=0)
    expected = {
        "percent": 0.0,
        "fleiss": share @ weight_kk @ share,
        "gwet": weight_kk.sum() / (n_classes * (n_classes - 1)) * (share * (1 - share)).sum(),
        "brennan-prediger": weight_kk.mean(),
    }[name]
    return (np.mean(agreed) - expected) / (1 - expected) if expected < 1 - 1e-12 else np.nan


COEFFICIENTS = {
    "percent": percent, "fleiss": fleiss, "gwet": gwet, "brennan-prediger": brennan_prediger,
}  # fmt: skip


@pytest.mark.parametrize("name", COEFFICIENTS)
@pytest.mark.parametrize("weights", [*WEIGHTS, "ordinal"])
@settings(max_examples=8)
@given(gapped())
def test_the_count_table_gives_what_all_pairs_give(name, weights, matrix):
    weight_kk = np.eye(4) if weights is None else weight_matrix(weights, 4)
    ann = annotations_of(matrix, classes=range(4), kind=None)
    found = COEFFICIENTS[name](ann, weights=weights, interval="none").value
    expected = by_definition(name, matrix, weight_kk)
    assert found == pytest.approx(expected, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("name", COEFFICIENTS)
@pytest.mark.parametrize("weights", [None, "quadratic"])
def test_derivatives_by_items_are_those_of_small_changes(name, weights):
    ann = Annotations.from_dense(KRIPPENDORFF)
    runs = LabelRuns.of(ann, ann.label, ann.n_classes)
    statistic = ChanceStatistic(runs, name, weight_matrix(weights, ann.n_classes))
    counted = runs.whole.is_paired_i if name == "percent" else runs.whole.labels_i > 0
    numeric, step = [], 1e-5
    for i in np.flatnonzero(counted):
        ends = []
        for sign in (1, -1):
            times = np.ones(runs.n_items)
            times[i] += sign * step
            ends.append(statistic.parts(runs.sample(times_i=times)).value)
        numeric.append((ends[0] - ends[1]) / (2 * step))
    np.testing.assert_allclose(statistic.influence(), numeric, atol=1e-8)


def test_standard_errors_of_complete_tables_are_those_of_gwet():
    """His formulas, for two annotators: equations of Gwet (2008)."""
    labels = two_annotators(7, n_items=60, n_classes=3)
    n, n_classes = len(labels), 3
    share_ik = np.stack([(labels == k).mean(axis=1) for k in range(n_classes)], axis=1)
    share_k, agree_i = share_ik.mean(axis=0), (labels[:, 0] == labels[:, 1]).astype(float)
    for coefficient, expected_i in (
        (fleiss, share_ik @ share_k),
        (gwet, share_ik @ (1 - share_k) / (n_classes - 1)),
    ):
        found = coefficient(labels)
        chance = expected_i.mean()
        part_i = (agree_i - chance) / (1 - chance)
        part_i -= 2 * (1 - found.value) * (expected_i - chance) / (1 - chance)
        error = np.sqrt(((part_i - found.value) ** 2).sum() / (n * (n - 1)))
        half = (found.high - found.low) / 2 / stats.t.ppf(0.975, n - 1)
        assert half == pytest.approx(error, rel=1e-9)


def test_the_paradox_of_prevalence_is_named():
    labels = [[0, 0]] * 180 + [[1, 1]] * 2 + [[0, 1]] * 9 + [[1, 0]] * 9
    kappa, first = cohen(labels), gwet(labels)
    assert kappa.observed > 0.9
    assert kappa.value < 0.2 < 0.85 < first.value
    assert any("The class 0 has 94 % of the labels" in word for word in kappa.words)
    assert not any("The class 0" in word for word in first.words)


def test_numbers_with_decimals_are_refused():
    with pytest.raises(DataError, match="fleiss compares classes"):
        fleiss([[0.5, 1.25], [2.0, 3.0]])


def test_classes_that_nobody_used_count_for_gwet():
    labels = [[0, 0], [1, 1], [0, 1]]
    more = Annotations.from_dense(labels, classes=range(5))
    assert gwet(more).value > gwet(labels).value
    assert fleiss(more).value == pytest.approx(fleiss(labels).value, abs=1e-12)
    assert gwet(Annotations.from_dense([[0, 0], [0, 0]], classes=[0, 1])).value == 1.0


def test_a_mean_over_pairs_that_share_few_items_is_told_to_be_too_low():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 1000)
    people = np.argsort(rng.random((1000, 40)), axis=1)[:, :4]  # four of forty label an item
    said = np.where(rng.random((1000, 4)) < 0.7, truth[:, None], rng.integers(0, 3, (1000, 4)))
    items = np.repeat(np.arange(1000), 4)
    few = Annotations.from_arrays(items, people.ravel(), said.ravel())
    many = Annotations.from_dense(said)
    told = "A mean of kappas of so few items is too low"
    assert cohen(few, interval="none").value < fleiss(few, interval="none").value - 0.02
    assert any(told in word for word in cohen(few).words)
    assert cohen(many).value == pytest.approx(fleiss(many).value, abs=0.005)
    assert not any(told in word for word in cohen(many).words)
    assert not any(told in word for word in cohen(few, pair=(0, 1)).words)


def test_words_of_a_mean_over_pairs_are_of_the_pairs_that_count():
    """Two pairs agree on one class and have no kappa; the third agrees on 2 of 4 items."""
    nan = np.nan
    labels = [[0, 0, nan], [0, nan, 0], [nan, 0, 0], [nan, 1, 1], [nan, 0, 1], [nan, 1, 0]]
    words = " ".join(cohen(labels, interval="none").words)
    assert "The pairs that count agree on 50 % of the items that both labelled" in words
    assert "2 of 3 pairs gave all their common items the same label" in words
    assert "Two annotators of an item" not in words
    assert "Two annotators of an item agree in 50 % of" in " ".join(
        cohen(labels, pair=(1, 2)).words
    )
