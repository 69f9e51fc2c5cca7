"""Labels as users have them: frames, matrices, dictionaries; and the types of their classes."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import manyhands as mh
from manyhands.annotations import Annotations, as_annotations, form_of, items_in_order
from manyhands.core.errors import DataError

LONG = {
    "item": ["b", "a", "b", "a"],
    "annotator": ["v", "u", "u", "v"],
    "label": ["dog", "cat", "cat", "cat"],
}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "lazy": pl.LazyFrame, "arrow": pa.table}


def triples(ann):
    return sorted(zip(*(column.tolist() for column in ann.to_columns().values()), strict=True))


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_a_long_frame_is_read_by_the_names_of_its_columns(make):
    expected = sorted(zip(*LONG.values(), strict=True))
    assert triples(as_annotations(make(LONG))) == expected
    renamed = {"task_id": LONG["item"], "worker": LONG["annotator"], "answer": LONG["label"]}
    assert triples(as_annotations(make(renamed))) == expected


def test_annotations_are_returned_as_they_are():
    ann = Annotations.from_frame(pd.DataFrame(LONG))
    assert as_annotations(ann) is ann


def test_dictionaries_are_annotations():
    nested = {"a": {"u": "cat", "v": "cat"}, "b": {"v": "dog", "u": "cat"}}
    assert triples(as_annotations(nested)) == sorted(zip(*LONG.values(), strict=True))


@pytest.mark.parametrize(
    "matrix",
    [
        [[0, None], [1, 1], [None, None]],
        [[0, -1], [1, 1], [-1, -1]],
        np.array([[0, np.nan], [1, 1], [np.nan, np.nan]]),
        [["0", "?"], ["1", "1"], ["", "?"]],
        np.ma.masked_array([[0, 5], [1, 1], [5, 5]], [[0, 1], [0, 0], [1, 1]]),
    ],
    ids=["none", "code", "nan", "text", "masked"],
)
def test_a_matrix_has_a_row_per_item(matrix):
    ann = as_annotations(matrix)
    assert triples(ann) == [(0, 0, 0), (1, 0, 1), (1, 1, 1)]
    assert ann.labels_per_item.tolist() == [1, 2, 0]


def test_a_torch_tensor_is_a_matrix():
    torch = pytest.importorskip("torch")
    assert triples(as_annotations(torch.tensor([[0, 1]]))) == [(0, 0, 0), (0, 1, 1)]


@pytest.mark.parametrize(
    ("matrix", "n_labels"),
    [
        ([[-1, 0], [1, 1]], 3),  # codes of classes: -1 is none of them
        ([[-1, 3], [5, 3]], 3),
        ([[-2, -1], [1, 2]], 4),  # -1 among other numbers below 0
        ([[-1.5, -1.0], [0.5, 2.0]], 4),
        ([[0.5, 2.0], [1.0, 0.5]], 4),
    ],
)
def test_minus_one_is_no_label_among_codes_of_classes(matrix, n_labels):
    assert as_annotations(matrix).n_annotations == n_labels


@pytest.mark.parametrize(
    "matrix",
    [
        [[-1, 1], [1, 1]],  # no and yes?
        [[-1, None], [1, 0]],  # blank is no label already
        [[-1.0, 0.5], [0.25, 1.0]],
    ],
)
def test_minus_one_that_may_be_a_label_is_refused(matrix):
    with pytest.raises(DataError, match=r"-1 may be a label or .*missing=-1.*missing=\(\)"):
        as_annotations(matrix)


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        ([0, 1], "got one column of 2 labels: it does not say who"),
        (pd.Series([0, 1]), "got one column of 2 labels"),
        ("labels.csv", "got .labels.csv.: read a file"),
        (None, "got NoneType"),
        (7, "got int"),
        (np.zeros((2, 2, 2)), r"got ndarray of shape \(2, 2, 2\)"),
        ([[0, 1], [1]], "rows of the matrix of labels have different lengths"),
        ({}, "a dictionary of another form"),
        ({"a": "cat"}, "a dictionary of another form"),
        (pd.DataFrame({"u": [0, 1], "v": [1, 1]}), "no column looks like the item.*from_dense"),
        (
            pd.DataFrame({"worker": [0], "rater": [1], "item": [1], "label": [1]}),
            "several columns may be the annotator.*from_frame",
        ),
    ],
)
def test_what_is_not_clear_is_refused(labels, text):
    with pytest.raises(DataError, match=text) as told:
        as_annotations(labels)
    assert "\n" not in str(told.value)


def test_labels_are_of_the_kind_that_is_needed():
    assert as_annotations([[1, 2], [2, 3]], kind="numbers").kind == "numbers"
    with pytest.raises(DataError, match="numbers with decimals where classes are needed"):
        as_annotations([[0.5, 2.0]], kind="classes")


def test_forms_are_told_apart():
    ann = Annotations.from_dense([[0, 1]])
    forms = (ann, pd.DataFrame(LONG), {"a": {}}, [[0]], [0], pd.Series([0]))
    expected = ["annotations", "frame", "dictionaries", "matrix", "column", "column"]
    assert [form_of(each) for each in forms] == expected


def test_the_order_of_items_in_a_frame_is_that_of_their_names_or_not():
    frame = pd.DataFrame(LONG)
    assert not items_in_order(frame)
    assert items_in_order(frame.sort_values("item"))
    assert items_in_order(frame.assign(item=[1, 0, 1, 0]))  # numbers of rows


# -- types of labels


@pytest.mark.parametrize(
    "column",
    [
        [True, False, True],
        np.array([True, False, True]),
        pd.Series([True, False, True]),
        pd.Series([True, False, True], dtype="boolean"),
        pl.Series([True, False, True]),
        pa.array([True, False, True]),
    ],
    ids=["list", "numpy", "pandas", "nullable", "polars", "arrow"],
)
def test_truth_values_come_back_as_such(column):
    ann = Annotations.from_arrays([0, 1, 2], ["u"] * 3, column)
    assert ann.classes.dtype == bool
    assert ann.label_names().tolist() == [True, False, True]
    assert mh.aggregate(ann, "majority").labels.tolist() == [True, False, True]
    assert ann.class_vocabulary.codes([False, True, "true"]).tolist() == [0, 1, 1]


def test_truth_values_of_frames_and_matrices_stay_truth_values(tmp_path):
    frame = pd.DataFrame({"item": [0, 1], "annotator": ["u", "u"], "label": [True, False]})
    assert Annotations.from_frame(frame).to_frame()["label"].tolist() == [True, False]
    matrix = [[True, None], [False, False]]
    assert as_annotations(matrix).to_dense(missing=None).tolist() == matrix
    assert as_annotations(matrix).to_dense(missing=-1).tolist() == [[1, -1], [0, 0]]
    assert mh.check(matrix).summary["classes"] == 2
    consensus = mh.aggregate(matrix, "majority")
    consensus.save(tmp_path / "consensus")
    loaded = mh.load(tmp_path / "consensus")
    assert loaded.labels.tolist() == consensus.labels.tolist() == [True, False]
    more = consensus.update({7: {0: True}})
    assert more.labels.tolist() == [True, False, True]


def test_truth_values_among_other_labels_are_text():
    assert Annotations.from_arrays([0, 1], [0, 1], [True, "x"]).classes.tolist() == ["true", "x"]


@pytest.mark.parametrize(
    ("labels", "kind"), [([3, 1], int), (["x", "y"], str), ([True, False], bool)]
)
def test_labels_keep_their_type(labels, kind):
    consensus = mh.aggregate([[each, each] for each in labels], "majority")
    assert consensus.labels.tolist() == labels
    assert {type(each) for each in consensus.labels.tolist()} == {kind}


LEVELS = ["low", "middle", "high"]


@pytest.mark.parametrize("ordered", [True, False])
def test_a_categorical_keeps_its_classes_and_their_order(ordered):
    labels = pd.Categorical(["high", "low", "high"], categories=LEVELS, ordered=ordered)
    for column in (labels, pd.Series(labels)):
        ann = Annotations.from_arrays([0, 1, 2], [0, 0, 0], column)
        assert ann.classes.tolist() == LEVELS
        assert ann.label.tolist() == [2, 0, 2]
    frame = pd.DataFrame({"item": [0, 1, 2], "annotator": 0, "label": labels})
    assert mh.aggregate(frame).annotations.classes.tolist() == LEVELS


def test_an_enum_keeps_its_classes_and_their_order():
    labels = pl.Series("label", ["high", "low"], dtype=pl.Enum(LEVELS))
    frame = pl.DataFrame({"item": [0, 1], "annotator": [0, 0], "label": labels})
    assert Annotations.from_frame(frame).classes.tolist() == LEVELS
    plain = frame.with_columns(pl.col("label").cast(pl.String).cast(pl.Categorical))
    assert Annotations.from_frame(plain).classes.tolist() == ["high", "low"]


def test_classes_that_are_given_go_before_categories():
    labels = pd.Categorical(["a", "b"], categories=["b", "a", "z"])
    ann = Annotations.from_arrays([0, 1], [0, 0], labels, classes=["a", "b"])
    assert ann.classes.tolist() == ["a", "b"]
    numbers = pd.Categorical([3, 1], categories=[3, 2, 1])
    assert Annotations.from_arrays([0, 1], [0, 0], numbers).classes.tolist() == [3, 2, 1]
    as_numbers = Annotations.from_arrays([0, 1], [0, 0], numbers, kind="numbers")
    assert as_numbers.label.tolist() == [3.0, 1.0]


# -- where annotations are taken


def test_every_function_of_labels_takes_frames_and_matrices():
    matrix = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 0, 1]]
    ann = Annotations.from_dense(matrix)
    for labels in (matrix, np.array(matrix), ann.to_frame()):
        np.testing.assert_array_equal(mh.aggregate(labels).probabilities,
                                      mh.aggregate(ann).probabilities)  # fmt: skip
        assert mh.check(labels) == mh.check(ann)
        assert mh.agreement.fleiss(labels) == mh.agreement.fleiss(ann)
        assert mh.agreement.pair_agreement(labels).shared.tolist() == [4, 4, 4]
        assert mh.aggregation.compare(labels, ["majority"]).columns["method"] == ["majority"]
        assert mh.aggregation.select(labels, ["majority"]).winner == "majority"


# -- notebooks


def test_a_notebook_shows_the_first_rows_and_escapes_names():
    names = ["<script>", *(f"item {i}" for i in range(99))]
    ann = Annotations.from_dense([["a&b", "c"]] * 100, items=names)
    shown = ann._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "a&amp;b" in shown
    assert "200 labels of 100 items" in shown
    assert len(re.findall("<tr>", shown)) == 7
    consensus = mh.aggregate(ann, "majority")._repr_html_()
    assert "<th>confidence</th>" in consensus
    assert "&lt;script&gt;" in consensus
    assert "p_a&amp;b" in consensus


def test_a_notebook_shows_no_labels_and_many_classes():
    assert "<table>" in Annotations.from_arrays([], [], [])._repr_html_()
    wide = mh.aggregate([[i, i] for i in range(20)], "majority")._repr_html_()
    assert "more columns" in wide
    assert "<table>" in mh.aggregate([[0.5, 1.0], [2.0, 2.5]])._repr_html_()


def test_rows_of_three_are_not_taken_for_a_matrix():
    rows = [("a", "w1", "x"), ("a", "w2", "y"), ("b", "w1", "x"), ("b", "w2", "x")]
    with pytest.raises(DataError, match=r"may be rows of \(item, annotator, label\)"):
        as_annotations(rows)
    assert Annotations.from_arrays(*zip(*rows, strict=True)).n_annotations == 4
    assert as_annotations([(0, 1, 0), (1, 1, 1)]).n_annotations == 6  # a matrix


def test_columns_of_a_frame_may_be_named_for_the_consensus():
    frame = pd.DataFrame({"foo": [1, 1, 2], "bar": ["u", "v", "u"], "baz": ["x", "x", "y"]})
    found = mh.aggregate(frame, "majority", item="foo", annotator="bar", label="baz")
    assert found.labels.tolist() == ["x", "y"]


def test_a_frame_with_numbered_annotators_has_a_row_per_item():
    frame = pd.DataFrame({
        "id": ["z", "y", "x"], "text": ["a b", "c", "d"],
        "annotator_1": ["yes", "no", None], "annotator_2": ["no", "no", "yes"],
    })  # fmt: skip
    ann = as_annotations(frame)
    assert (ann.items.tolist(), ann.n_annotations) == (["z", "y", "x"], 5)
    assert ann.annotators.tolist() == ["annotator_1", "annotator_2"]
    assert items_in_order(frame)


@pytest.mark.parametrize(("code", "labels"), [(999999999, (0.2, 0.5)), (999, (0, 7)), (-9, (0, 3))])
def test_a_number_that_fills_a_matrix_is_no_label(code, labels):
    grid = np.full((4, 5), code, dtype=float)
    grid[0, 0], grid[1, 1], grid[2, 1] = labels[0], labels[1], labels[0]
    assert as_annotations(grid).n_annotations == 3
    assert Annotations.from_dense(grid, missing=code).n_annotations == 3
    assert Annotations.from_dense(grid, missing=()).n_annotations == 20
    with pytest.raises(DataError, match=f"give missing={code}"):
        Annotations.from_dense(grid)
    with_code = grid.copy()
    with_code[3, 3] = -1  # another code for "no label" is there
    assert Annotations.from_dense(with_code).n_annotations == 19
    near = np.where(grid == code, 9, grid)
    assert Annotations.from_dense(near).n_annotations == 20


def test_cells_of_several_types_are_names():
    frame = pd.DataFrame(
        {"item": [1, "b", "b"], "annotator": ["u", "u", 7], "label": ["x", "y", "x"]}
    )
    assert triples(as_annotations(frame)) == [("1", "u", "x"), ("b", "7", "x"), ("b", "u", "y")]
    pairs = pd.DataFrame(
        {"left": [1, "b"], "right": ["b", 1], "annotator": [1, 2], "winner": ["b", 1]}
    )
    assert mh.Comparisons.from_frame(pairs).items.tolist() == ["1", "b"]


def test_a_frame_with_counted_columns_is_a_matrix():
    grid = [["x", -1, "y", "x"], [-1, "x", "x", -1]]
    assert as_annotations(pd.DataFrame(grid)).n_annotations == 5
    named = as_annotations(pd.DataFrame(grid, index=["a", "b"]))
    assert (named.items.tolist(), named.annotators.tolist()) == (["a", "b"], [0, 1, 2, 3])
    with pytest.raises(DataError, match="no column looks like the item"):
        as_annotations(pd.DataFrame([[1, 2, 3]]))


def test_the_name_of_a_file_is_no_table_of_labels():
    with pytest.raises(DataError, match=r"got 'labels.csv': read a file with mh.read\(path\)"):
        mh.aggregate("labels.csv")
