"""What holds for every coefficient: names and order do not matter, and NaN comes with words."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worked_examples import KRIPPENDORFF, annotations_of, gapped

from manyhands.agreement import COEFFICIENTS, summarize
from manyhands.annotations import Annotations

LEVELS = [(name, level) for name, entry in COEFFICIENTS.items() for level in entry.levels]
NAMELESS = ("alpha", "percent", "fleiss", "gwet", "brennan-prediger", "icc1", "icc1k")
NO_NAMES = [(name, level) for name, level in LEVELS if name in NAMELESS]
OF_NUMBERS = [name for name, level in LEVELS if level == "interval"]


def compute(name, level, ann, **settings):
    settings.setdefault("interval", "none")
    return summarize(ann, level=level, coefficients=[name], **settings).coefficients[0]


def same(one, two):
    assert one.value == pytest.approx(two.value, abs=1e-8, nan_ok=True)
    assert one.low == pytest.approx(two.low, abs=1e-7, nan_ok=True)


@pytest.mark.parametrize(("name", "level"), LEVELS)
@settings(max_examples=6)
@given(matrix=gapped(), seed=st.integers(0, 99))
def test_order_and_names_change_nothing(name, level, matrix, seed):
    rng = np.random.default_rng(seed)
    ann = annotations_of(matrix)
    rows, columns = rng.permutation(matrix.shape[0]), rng.permutation(matrix.shape[1])
    other = annotations_of(matrix[rows][:, columns])
    same(*(compute(name, level, each, interval="analytic") for each in (ann, other)))


@pytest.mark.parametrize("name", [name for name in COEFFICIENTS if not name.startswith("icc")])
@settings(max_examples=6)
@given(matrix=gapped())
def test_renaming_classes_changes_nothing_at_the_nominal_level(name, matrix):
    ann, other = annotations_of(matrix), annotations_of(3 - matrix)
    same(*(compute(name, "nominal", each) for each in (ann, other)))


@pytest.mark.parametrize("name", OF_NUMBERS)
@settings(max_examples=6)
@given(matrix=gapped(numbers=True), shift=st.integers(-5, 5))
def test_scale_and_zero_change_nothing_at_the_interval_level(name, matrix, shift):
    ann = annotations_of(matrix, kind="numbers")
    other = annotations_of(2.0 * matrix + shift + 0.5, kind="numbers")
    same(*(compute(name, "interval", each) for each in (ann, other)))


@pytest.mark.parametrize(("name", "level"), NO_NAMES)
@settings(max_examples=6)
@given(matrix=gapped())
def test_annotators_who_share_no_item_may_be_one(name, level, matrix):
    """Two annotators of different items are merged; only their names could tell them apart."""
    half = len(matrix) // 2
    column = matrix[:, :1]
    apart = np.column_stack([
        np.where(np.arange(len(matrix))[:, None] < half, column, np.nan),
        np.where(np.arange(len(matrix))[:, None] < half, np.nan, column), matrix[:, 1:],
    ])  # fmt: skip
    same(*(compute(name, level, annotations_of(each)) for each in (matrix, apart)))


@pytest.mark.parametrize(("name", "level"), LEVELS)
def test_items_with_one_label_change_no_observed_agreement(name, level):
    more = np.vstack([KRIPPENDORFF, [[1, -1, -1, -1]] * 3])
    before, after = (compute(name, level, Annotations.from_dense(m)) for m in (KRIPPENDORFF, more))
    assert (before.n_items, before.n_labels) == (after.n_items, after.n_labels)
    assert before.observed == pytest.approx(after.observed, nan_ok=True)


@pytest.mark.parametrize(("name", "level"), LEVELS)
def test_full_agreement_is_1(name, level):
    found = compute(name, level, [[1, 1, 1], [2, 2, -1], [4, 4, 4]], interval="analytic")
    assert found.value == pytest.approx(1.0)
    assert found.words


TABLES = {
    "one class only": [[1, 1], [1, 1]],
    "one annotator": [[1], [2]],
    "nothing overlaps": [[1, -1], [-1, 2], [3, -1]],
    "one item": [[1, 2]],
    "one label": [[1]],
}


@pytest.mark.parametrize(("name", "level"), LEVELS)
@pytest.mark.parametrize("interval", ["analytic", "items"])
@pytest.mark.parametrize("table", TABLES)
def test_no_nan_without_a_word(name, level, interval, table):
    ann = Annotations.from_dense(TABLES[table])
    found = compute(name, level, ann, interval=interval, n_resamples=20)
    assert all(word.endswith(".") for word in found.words)
    assert found.words
    if not found.is_defined:
        assert "undefined" in str(found)
        assert found.interval == ""
    elif found.interval == "":
        assert any("There is no interval" in word for word in found.words)
    json.dumps(found.to_json(), allow_nan=False)


@settings(max_examples=15)
@given(gapped(highest=1), st.sampled_from(["analytic", "items", "annotators"]))
def test_no_interval_is_a_point(matrix, interval):
    found = summarize(annotations_of(matrix), interval=interval, n_resamples=10)
    ends = [(each.low, each.high) for each in found.coefficients]
    ends += [(t["low"], t["high"]) for t in (found.classes, found.annotators, found.pairs)]
    low, high = (np.concatenate([np.ravel(pair[n]) for pair in ends]) for n in range(2))
    assert (np.isnan(low) == np.isnan(high)).all()
    assert (high[~np.isnan(low)] > low[~np.isnan(low)]).all()


def test_long_names_do_not_drown_what_is_said():
    text = "a text of its own " * 500
    rows = [[text, text], [text, "b"], ["b", "b"], [text, "c"], ["c", "b"], [text, text]]
    found = summarize(Annotations.from_dense(rows, annotators=[text, f"{text}2"]))
    said = [word for each in found.coefficients for word in (each.title, *each.words)]
    assert max(map(len, [*said, *found.words])) < 300


@settings(max_examples=30)
@given(gapped(highest=2))
def test_tables_of_any_labels(matrix):
    ann = annotations_of(matrix)
    found = summarize(ann, interval="none")
    assert len(found.items["item"]) == ann.n_items
    assert len(found.annotators["annotator"]) == ann.n_annotators
    mean = np.nanmean(found.items["agreement"]) if found.coefficients[1].is_defined else np.nan
    assert found.coefficients[1].value == pytest.approx(mean, nan_ok=True)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_the_bootstrap_is_the_same_every_time(level):
    name = "icc2" if level in ("interval", "ratio") else "fleiss"
    ann = Annotations.from_dense(KRIPPENDORFF)
    for kind in ("items", "annotators"):
        first, again, other = (
            summarize(ann, level=level, coefficients=["alpha", name], interval=kind,
                      n_resamples=30, seed=seed).coefficients
            for seed in (0, 0, 1)
        )  # fmt: skip
        assert first == again
        assert first[0].low != other[0].low
