"""Agreement by class, annotator, pair and item, against its definition on small tables."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from sklearn.metrics import cohen_kappa_score
from worked_examples import annotations_of, gapped

from manyhands.agreement import (
    COEFFICIENTS,
    by_annotator,
    by_annotator_and_class,
    by_class,
    by_item,
    by_pair,
    fleiss,
    summarize,
)
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError


def pairs_of(matrix):
    """All (item, annotator, label, other annotator, other label, number of labels)."""
    for i, row in enumerate(matrix):
        given = np.flatnonzero(~np.isnan(row))
        for a, b in itertools.permutations(given.tolist(), 2):
            yield i, a, int(row[a]), b, int(row[b]), len(given)


@settings(max_examples=20)
@given(gapped(highest=2))
def test_a_class_is_said_again_with_this_probability(matrix):
    ann = annotations_of(matrix)
    frame = by_class(ann).set_index("class")
    for name in ann.classes.tolist():
        others = [(y, 1 / (m - 1)) for _, _, x, _, y, m in pairs_of(matrix) if x == name]
        total = sum(weight for _, weight in others)
        share = {y: sum(w for z, w in others if z == y) / total for y, _ in others}
        assert frame.loc[name, "n_labels"] == round(total)
        expected = share.pop(name, 0.0) if others else np.nan
        assert frame.loc[name, "agreement"] == pytest.approx(expected, nan_ok=True)
        if share:
            assert frame.loc[name, "confused"] == pytest.approx(max(share.values()))
            assert share[frame.loc[name, "confused_with"]] == pytest.approx(max(share.values()))


def test_kappa_of_a_class_is_that_of_the_class_against_the_rest():
    rng = np.random.default_rng(0)
    matrix = rng.integers(0, 3, (30, 4))
    frame = by_class(matrix)
    for k in range(3):
        expected = fleiss((matrix == k).astype(int)).value
        assert frame["kappa"][k] == pytest.approx(expected, abs=1e-12)


@settings(max_examples=20)
@given(gapped(highest=2))
def test_agreement_of_an_annotator_with_the_others(matrix):
    frame = by_annotator(annotations_of(matrix))
    for a in range(matrix.shape[1]):
        shares = {}
        for i, one, x, _, y, _ in pairs_of(matrix):
            if one == a:
                shares.setdefault(i, []).append(x == y)
        expected = np.mean([np.mean(each) for each in shares.values()]) if shares else np.nan
        assert frame["agreement"][a] == pytest.approx(expected, nan_ok=True)
        assert frame["n_shared"][a] == len(shares)
        if shares:
            assert 0 <= frame["low"][a] <= frame["agreement"][a] + 1e-12
            assert frame["agreement"][a] <= frame["high"][a] + 1e-12 <= 1 + 2e-12


@settings(max_examples=20)
@given(gapped(highest=2))
def test_agreement_of_an_annotator_when_giving_a_class(matrix):
    ann = annotations_of(matrix)
    shares = {}
    for i, one, x, _, y, _ in pairs_of(matrix):
        shares.setdefault((one, x), {}).setdefault(i, []).append(x == y)
    frame = by_annotator_and_class(ann)
    found = {(row[1], row[2]): row[3:] for row in frame.itertuples()}
    assert set(found) == set(shares)
    for key, items in shares.items():
        assert found[key][0] == len(items)
        assert found[key][1] == pytest.approx(np.mean([np.mean(each) for each in items.values()]))
    whole = by_annotator(ann)
    for name, agreement in zip(whole["annotator"], whole["agreement"], strict=True):
        own = frame[frame["annotator"] == name]
        if len(own):
            assert np.average(own["agreement"], weights=own["n_shared"]) == pytest.approx(agreement)


def test_pairs_have_the_kappa_of_scikit_learn():
    rng = np.random.default_rng(1)
    matrix = np.where(rng.random((40, 4)) < 0.7, rng.integers(0, 3, (40, 4)), np.nan)
    frame = by_pair(annotations_of(matrix))
    assert len(frame) == 6
    for row in frame.itertuples():
        both = matrix[:, [row.first, row.second]]
        both = both[~np.isnan(both).any(axis=1)]
        assert row.n_shared == len(both)
        assert row.agreement == pytest.approx((both[:, 0] == both[:, 1]).mean())
        assert row.kappa == pytest.approx(cohen_kappa_score(*both.astype(int).T))
        assert row.low < row.kappa < row.high
    assert len(by_pair(annotations_of(matrix), min_shared=41)) == 0


@pytest.mark.parametrize("kind", ["analytic", "items", "annotators"])
def test_what_never_varies_has_no_interval(kind):
    """All agree fully: no formula and no sample tells how far that holds."""
    for level, rows in (
        ("nominal", [[0, 0, 0], [1, 1, 1], [1, 1, 1]]),
        ("interval", [[1, 1], [3, 3]]),
    ):
        found = summarize(rows, level=level, interval=kind, n_resamples=20, coefficients=[
            name for name in COEFFICIENTS if level in COEFFICIENTS[name].levels
        ])  # fmt: skip
        for each in found.coefficients:
            assert each.value == pytest.approx(1.0)
            assert each.interval == ""
            assert np.isnan([each.low, each.high]).all()
            assert any("There is no interval" in text for text in each.words)
    rows = [["a", "a"], ["b", "b"], ["a", "a"], ["c", "d"]]
    for frame in (by_class(rows), by_pair([row[:1] * 2 for row in rows])):
        assert np.isnan(frame[["low", "high"]].to_numpy()).all()


def test_tables_say_what_their_columns_hold():
    rng = np.random.default_rng(5)
    for rows in (rng.integers(0, 3, (20, 4)), rng.normal(size=(20, 4))):
        found = summarize(rows)
        for name in ("classes", "annotators", "pairs"):
            table = getattr(found, name)
            told = {text.partition(":")[0] for text in found.column_words(name)}
            plain = {"class", "annotator", "first", "second", "n_labels", "confused_with", "low"}
            assert told == set(table) - plain - {"high"}


def test_tables_of_numbers():
    rng = np.random.default_rng(2)
    matrix = 100 + rng.normal(size=(20, 1)) + rng.normal(size=(20, 3)) + np.array([0.0, 0.0, 3.0])
    people, pairs, items = by_annotator(matrix), by_pair(matrix), by_item(matrix)
    rest = (matrix.sum(axis=1, keepdims=True) - matrix) / 2
    for a in range(3):
        expected = np.corrcoef(matrix[:, a], rest[:, a])[0, 1]
        assert people["correlation"][a] == pytest.approx(expected)
        assert people["bias"][a] == pytest.approx((matrix[:, a] - rest[:, a]).mean())
        assert people["difference"][a] == pytest.approx(np.abs(matrix[:, a] - rest[:, a]).mean())
    for row in pairs.itertuples():
        one, two = matrix[:, row.first], matrix[:, row.second]
        assert row.correlation == pytest.approx(np.corrcoef(one, two)[0, 1])
        assert row.bias == pytest.approx((one - two).mean())
    np.testing.assert_allclose(items["spread"], matrix.std(axis=1, ddof=1))
    with pytest.raises(DataError, match="there are no classes"):
        by_class(matrix)


def test_items_and_frames_of_the_library_that_the_labels_came_in():
    frame = pl.DataFrame({"item": list("aaab"), "annotator": list("uvwu"), "label": list("xxyy")})
    items = by_item(frame)
    assert isinstance(items, pl.DataFrame)
    assert items["item"].to_list() == ["a", "b"]
    assert items["label"].to_list() == ["x", "y"]
    assert items["agreement"][0] == pytest.approx(1 / 3)
    assert np.isnan(items["agreement"][1])


def test_the_summary_names_the_class_and_the_annotators_to_look_at():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 200)
    labels = np.where(rng.random((200, 6)) < 0.95, truth[:, None], rng.integers(0, 3, (200, 6)))
    labels[:, 5] = rng.integers(0, 3, 200)
    rare = truth == 2
    labels[rare] = np.where(rng.random((rare.sum(), 6)) < 0.5, 1, labels[rare])
    names = np.array(["cat", "dog", "wolf"])
    ann = Annotations.from_dense(names[labels], annotators=[f"person {a}" for a in range(6)])
    words = " ".join(summarize(ann).words)
    assert "Annotators agree least on wolf" in words
    assert "and “dog” in" in words
    assert "fewer, beyond chance, are those of person 5." in words
    assert "ratings" not in words
    assert "level ordinal" in " ".join(summarize(labels).words)


def test_wrong_requests_say_what_fits():
    with pytest.raises(SettingError, match="icc2 is not for the level nominal; there are alpha"):
        summarize([["a", "b"]], coefficients=["icc2"])
    with pytest.raises(SettingError, match="weights is for level='ordinal'"):
        summarize([["a", "b"]], weights="linear")
    with pytest.raises(KeyError, match="did you mean fleiss"):
        summarize([["a", "b"]], coefficients=["fleis"])
