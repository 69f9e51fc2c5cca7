"""Krippendorff's alpha against its definition, published values and nltk."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worked_examples import KRIPPENDORFF, annotations_of, gapped

import manyhands as mh
from manyhands.agreement import alpha
from manyhands.agreement.alpha import alpha_statistic
from manyhands.agreement.ratio_sums import _FEW, ratio_between, ratio_within
from manyhands.agreement.sets import masi_distances
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError

PUBLISHED = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849, "ratio": 0.797}


def by_definition(matrix, difference):
    """Alpha from all pairs of labels, one by one."""
    units = [row[~np.isnan(row)] for row in matrix]
    units = [unit for unit in units if len(unit) > 1]
    values = np.concatenate(units) if units else np.zeros(0)
    n = len(values)
    if n == 0:
        return np.nan
    observed = sum(
        sum(difference(a, b, values) for a, b in itertools.permutations(unit, 2)) / (len(unit) - 1)
        for unit in units
    ) / n  # fmt: skip
    pairs = itertools.permutations(values, 2)
    expected = sum(difference(a, b, values) for a, b in pairs) / (n * (n - 1))
    return 1 - observed / expected if expected > 0 else np.nan


def rank_difference(a, b, values):
    low, high = min(a, b), max(a, b)
    between = sum(((values >= low) & (values <= high)).astype(float))
    return (between - ((values == low).sum() + (values == high).sum()) / 2) ** 2 if a != b else 0


DIFFERENCES = {
    "nominal": lambda a, b, values: float(a != b),
    "ordinal": rank_difference,
    "interval": lambda a, b, values: (a - b) ** 2,
    "ratio": lambda a, b, values: ((a - b) / (a + b)) ** 2 if a + b > 0 else 0.0,
}


@pytest.mark.parametrize("level", PUBLISHED)
def test_four_observers_and_twelve_units(level):
    found = alpha(Annotations.from_dense(KRIPPENDORFF), level=level)
    assert found.value == pytest.approx(PUBLISHED[level], abs=0.0005)
    assert (found.n_items, found.n_annotators, found.n_labels) == (11, 4, 40)
    assert found.low < found.value < found.high


@pytest.mark.parametrize("level", DIFFERENCES)
@settings(max_examples=15)
@given(gapped(highest=4))
def test_the_count_table_gives_what_all_pairs_give(level, matrix):
    found = alpha(annotations_of(matrix), level=level)
    expected = by_definition(matrix, DIFFERENCES[level])
    assert found.value == pytest.approx(expected, abs=1e-9, nan_ok=True)


@settings(max_examples=15)
@given(gapped(numbers=True))
def test_numbers_with_decimals(matrix):
    found = alpha(annotations_of(matrix, kind="numbers"))
    assert found.title == "Krippendorff's alpha (interval)"
    expected = by_definition(matrix, DIFFERENCES["interval"])
    assert found.value == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_a_large_mean_does_not_matter():
    rng = np.random.default_rng(0)
    ratings = rng.normal(size=(30, 1)) + rng.normal(size=(30, 4))
    near, far = alpha(ratings, interval="none"), alpha(ratings + 1e7, interval="none")
    assert far.value == pytest.approx(near.value, abs=1e-7)


def test_relative_differences_of_many_labels_are_those_of_all_pairs():
    rng = np.random.default_rng(1)
    value = np.sort(np.append(0.0, np.exp(rng.normal(scale=6.0, size=2 * _FEW))))
    mass = rng.integers(1, 4, len(value)).astype(float)
    total = value[:, None] + value[None, :]
    share = np.divide(value[:, None] - value, total, out=np.zeros_like(total), where=total > 0)
    np.testing.assert_allclose(ratio_between(value, mass), share**2 @ mass, rtol=1e-12)
    within = ratio_within(np.array([0, len(value)]), value, mass)
    np.testing.assert_allclose(within, mass @ share**2 @ mass, rtol=1e-12)


def nltk_task(rows, distance):
    agreement = pytest.importorskip("nltk.metrics.agreement")
    return agreement.AnnotationTask(rows, distance=distance)


@pytest.mark.parametrize("seed", range(3))
def test_classes_and_numbers_are_as_in_nltk(seed):
    distance = pytest.importorskip("nltk.metrics.distance")
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((15, 4)) < 0.7, rng.integers(0, 4, (15, 4)), np.nan)
    rows = [(a, i, matrix[i, a]) for i in range(15) for a in range(4) if not np.isnan(matrix[i, a])]
    ann = annotations_of(matrix)
    for level, measure in (
        ("nominal", distance.binary_distance), ("interval", distance.interval_distance),
    ):  # fmt: skip
        expected = nltk_task(rows, measure).alpha()
        assert alpha(ann, level=level).value == pytest.approx(expected, abs=1e-12)


def exact_masi(a, b):
    """MASI with thirds; nltk rounds them to 0.33 and 0.67."""
    both, either = len(a & b), len(a | b)
    share = 1 if a == b else 2 / 3 if both == min(len(a), len(b)) else 1 / 3 if both else 0
    return 1 - share * both / either


def test_sets_are_as_in_nltk():
    distance = pytest.importorskip("nltk.metrics.distance")
    rng = np.random.default_rng(0)
    cells = [(i, a, frozenset(rng.choice(list("abcd"), rng.integers(1, 4)).tolist()))
             for i in range(20) for a in range(3) if rng.random() < 0.8]  # fmt: skip
    rows = [(a, i, chosen) for i, a, chosen in cells]
    long = [(i, a, name) for i, a, chosen in cells for name in sorted(chosen)]
    joined = [(i, a, "|".join(sorted(chosen))) for i, a, chosen in cells]
    found = alpha(Annotations.from_arrays(*zip(*long, strict=True)), level="sets")
    same = alpha(Annotations.from_arrays(*zip(*joined, strict=True)), level="sets", separator="|")
    assert found.value == pytest.approx(nltk_task(rows, exact_masi).alpha(), abs=1e-12)
    assert same.value == pytest.approx(found.value, abs=1e-12)
    assert nltk_task(rows, distance.masi_distance).alpha() == pytest.approx(found.value, abs=0.01)


def test_distances_of_sets():
    sets = [frozenset(), frozenset("a"), frozenset("ab"), frozenset("bc"), frozenset("d")]
    found = masi_distances(np.array([[name in each for name in "abcd"] for each in sets]))
    for one, two in itertools.combinations(range(1, 5), 2):
        assert found[one, two] == pytest.approx(exact_masi(sets[one], sets[two]), abs=1e-12)
    assert np.diag(found).tolist() == [0.0] * 5
    assert found[0, 1:].tolist() == [1.0] * 4


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio", "sets"])
def test_derivatives_by_items_are_those_of_small_changes(level):
    rng = np.random.default_rng(2)
    matrix = np.where(rng.random((12, 4)) < 0.8, rng.integers(1, 5, (12, 4)), np.nan)
    statistic = alpha_statistic(annotations_of(matrix), level)
    runs = statistic.runs
    step = 1e-5
    numeric = []
    for i in np.flatnonzero(runs.whole.is_paired_i):
        ends = []
        for sign in (1, -1):
            times = np.ones(runs.n_items)
            times[i] += sign * step
            ends.append(statistic.parts(runs.sample(times_i=times)).value)
        numeric.append((ends[0] - ends[1]) / (2 * step))
    np.testing.assert_allclose(statistic.influence(), numeric, atol=2e-8)


def test_the_analytic_interval_is_near_that_of_the_bootstrap():
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 4, 300)
    labels = np.where(rng.random((300, 5)) < 0.7, truth[:, None], rng.integers(0, 4, (300, 5)))
    labels = np.where(rng.random((300, 5)) < 0.8, labels, -1)
    for level in ("nominal", "ordinal"):
        exact, drawn = (alpha(labels, level=level, interval=i) for i in ("analytic", "items"))
        assert drawn.low == pytest.approx(exact.low, abs=0.012)
        assert drawn.high == pytest.approx(exact.high, abs=0.012)


def test_a_few_annotators_make_a_wider_interval_than_many_items():
    rng = np.random.default_rng(6)
    truth, skill = rng.integers(0, 3, 400), np.array([0.95, 0.9, 0.6, 0.4])
    labels = np.where(rng.random((400, 4)) < skill, truth[:, None], rng.integers(0, 3, (400, 4)))
    items, people = (alpha(labels, interval=kind) for kind in ("items", "annotators"))
    assert people.low < people.value < people.high
    assert people.high - people.low > 2 * (items.high - items.low)
    assert "bootstrap over annotators" in people.interval


def test_the_order_of_classes_can_be_given():
    words = [["bad", "fair"], ["good", "good"], ["bad", "bad"], ["fair", "good"], ["fair", "fair"]]
    codes = {"bad": 0, "fair": 1, "good": 2}
    ranked = alpha(words, level="ordinal", order=["bad", "fair", "good"])
    as_numbers = [[codes[word] for word in row] for row in words]
    assert ranked.value == pytest.approx(alpha(as_numbers, level="ordinal").value, abs=1e-12)
    assert "bad < fair < good" in " ".join(ranked.words)
    with pytest.raises(SettingError, match="order must be all classes once"):
        alpha(words, level="ordinal", order=["bad", "good"])


@pytest.mark.parametrize(
    ("labels", "given", "message"),
    [
        ([[-1.5, 2.0], [1.0, 1.0]], {"level": "ratio"}, "needs numbers of 0 or more"),
        ([["a", "b"]], {"level": "interval"}, "compares numbers, and the labels are classes"),
        ([[1e300, 2.5], [1.0, 1.0]], {}, "numbers between -1e100 and 1e100"),
        ([["a", "b"]], {"level": "nominl"}, "did you mean nominal"),
        ([["a", "b"]], {"order": ["a", "b"]}, "order must be left out"),
        ([["a", "b"]], {"separator": "|"}, "separator must be left out"),
        ([["a", "b"]], {"confidence": 1.5}, "confidence must be between 0 and 1"),
        ([["a", "b"]], {"interval": "item"}, "did you mean items"),
    ],
)
def test_wrong_requests_say_what_is_wrong(labels, given, message):
    with pytest.raises((DataError, SettingError), match=message):
        alpha(labels, **given)


def test_repeated_labels_count_once_and_are_told():
    labels = mh.Annotations.from_arrays("aabbb", "uvuvv", [0, 0, 1, 0, 1])
    found = alpha(labels)
    assert found.value == 1.0
    assert any("1 label of annotators who labelled an item again" in word for word in found.words)


@given(st.integers(0, 3))
def test_all_labels_the_same_is_said_in_words(label):
    found = alpha([[label, label], [label, label]])
    assert not found.is_defined
    assert "All labels of the 2 items are the same" in found.words[0]
    assert found.to_json()["value"] is None
    assert "undefined" in str(found)
