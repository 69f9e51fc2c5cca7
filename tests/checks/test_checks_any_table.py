"""Any table can be checked: tiny, empty, broken, shuffled, or big."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyhands.annotations import Annotations
from manyhands.annotations.rows import encode_rows
from manyhands.checks import check
from manyhands.checks.label_table import SEVERITIES

TINY = {
    "one row": (["i"], ["a"], ["x"]),
    "one item": (["i"] * 4, ["a", "b", "c", "d"], ["x", "x", "y", "x"]),
    "one annotator": (["i", "j", "k"], ["a"] * 3, ["x", "y", "x"]),
    "all blank": (["", None], ["", None], ["", None]),
    "all labels blank": (["i", "j"], ["a", "b"], [None, ""]),
    "no rows": ([], [], []),
    "one pair again and again": (["i"] * 3, ["a"] * 3, ["x", "y", "x"]),
}


@pytest.mark.parametrize("columns", TINY.values(), ids=TINY)
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_tiny_tables(columns, kind):
    item, annotator, label = columns
    if kind == "numbers":
        label = [{"x": "1.5", "y": "2.5"}.get(value, value) for value in label]
    report = check(encode_rows(item, annotator, label, kind=kind))
    plain = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert plain["ok"] is report.ok
    assert plain["summary"]["rows"] == len(item)
    assert plain["summary"]["kind"] == kind


cell = st.sampled_from(["", None, "a", "b", "c", "A", "b "])
number = st.one_of(
    st.none(), st.floats(-5, 5, width=16), st.sampled_from([np.inf, -np.inf, 999.0, -1.0])
)


@settings(max_examples=100)
@given(st.lists(st.tuples(cell, cell, cell), max_size=30), st.booleans())
def test_any_classes(rows, listed):
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    classes = ["a", "b"] if listed else None
    report = check(encode_rows(*columns, kind="classes", classes=classes))
    worst_first = [SEVERITIES.index(finding.severity) for finding in report.findings]
    assert worst_first == sorted(worst_first)
    json.dumps(report.to_json(), allow_nan=False)


@settings(max_examples=100)
@given(st.lists(st.tuples(cell, cell, number), max_size=30))
def test_any_numbers(rows):
    item, annotator, label = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    values = np.array([np.nan if value is None else value for value in label], dtype=float)
    report = check(encode_rows(item, annotator, values, kind="numbers"))
    assert json.dumps(report.to_json(), allow_nan=False)
    assert report.summary["rows"] == len(rows)


def test_annotations_are_taken_as_they_are(make_classes):
    table = make_classes()
    ann = Annotations.from_arrays(table.item, table.annotator, table.label)
    report = check(ann)
    assert report.ok
    assert report.summary == {
        "read_as": "",
        "source": {},
        "notes": [],
        "rows": 3000,
        "labels": 3000,
        "items": 600,
        "annotators": 20,
        "classes": 3,
        "labels_per_item": {"min": 5, "median": 5.0, "max": 5},
        "kind": "classes",
    }


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_order_of_rows_changes_no_verdict(make_classes, make_numbers, kind):
    table = (make_classes if kind == "classes" else make_numbers)(3)
    bad = table.annotator == 2
    table.label[bad] = table.label[0]
    before = check(table.rows(kind=kind)).findings
    order = table.rng.permutation(len(table.item))
    table.item, table.annotator, table.label = (
        column[order] for column in (table.item, table.annotator, table.label)
    )
    after = check(table.rows(kind=kind)).findings
    assert before
    assert [(f.check, f.message, f.names) for f in before] == [
        (f.check, f.message, f.names) for f in after
    ]


def test_input_is_not_touched(make_classes):
    rows = make_classes().rows()
    copies = [column.copy() for column in (rows.item, rows.annotator, rows.label, rows.state)]
    check(rows)
    for column, copy in zip(
        (rows.item, rows.annotator, rows.label, rows.state), copies, strict=True
    ):
        np.testing.assert_array_equal(column, copy)


def test_a_large_crowd_and_a_crowded_item():
    # Anything of the size items x annotators would need 80 GB here.
    rng = np.random.default_rng(0)
    n_items, n_annotators = 50_000, 200_000
    item = np.append(rng.integers(0, n_items, 300_000), np.zeros(10_000, dtype=int))
    annotator = np.append(rng.integers(0, n_annotators, 300_000), np.arange(10_000))
    right = rng.random(len(item)) < 0.8
    label = np.where(right, item % 10, rng.integers(0, 10, len(item)))
    found = {f.check for f in check(encode_rows(item, annotator, label)).findings}
    assert "few-labels-annotators" in found
    assert "copies" not in found
