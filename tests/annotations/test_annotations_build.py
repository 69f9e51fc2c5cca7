"""Every way to make annotations, and what is refused at the door."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError

LONG = {
    "item": ["b", "a", "a", "c"],
    "annotator": ["v", "w", "u", "u"],
    "label": ["dog", "cat", "cat", "dog"],
}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def rows_of(ann):
    """Every annotation by name, as a sorted list."""
    names = zip(
        ann.items[ann.item].tolist(),
        ann.annotators[ann.annotator].tolist(),
        ann.label_names().tolist(),
        strict=True,
    )
    return sorted(names, key=str)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_a_frame_of_any_kind_gives_the_same_annotations_and_its_own_kind_back(make):
    frame = make(LONG)
    ann = Annotations.from_frame(frame, item="item", annotator="annotator", label="label")
    assert rows_of(ann) == sorted(zip(*LONG.values(), strict=True))
    back = ann.to_frame()
    assert type(back) is type(frame)
    assert list(back.columns if make is not pa.table else back.column_names) == list(LONG)
    assert rows_of(Annotations.from_frame(back)) == rows_of(ann)


def test_a_lazy_frame_is_computed_once():
    computed = []
    lazy = pl.LazyFrame(LONG).map_batches(lambda frame: computed.append(1) or frame)
    assert Annotations.from_frame(lazy).n_annotations == 4
    assert len(computed) == 1


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_columns_of_a_frame_are_found_by_name_and_others_are_left_alone(make):
    frame = make({"seconds": [1, 2], "WorkerId": [3, 4], "task_id": [5, 6], "answer": [0, 1]})
    ann = Annotations.from_frame(frame)
    assert rows_of(ann) == [(5, 3, 0), (6, 4, 1)]


def test_a_frame_may_name_its_columns_by_numbers():
    frame = pd.DataFrame([["a", "u", 1], ["b", "v", 0]])
    assert rows_of(Annotations.from_frame(frame, 0, 1, 2)) == [("a", "u", 1), ("b", "v", 0)]
    with pytest.raises(DataError, match="no column '7'"):
        Annotations.from_frame(frame, "7", 1, 2)


def test_what_is_no_frame_is_refused():
    with pytest.raises(DataError, match=r"expected a table .* got dict"):
        Annotations.from_frame(LONG)
    twice = pd.DataFrame([[1, 2, 3, 4]], columns=["item", "annotator", "label", "label"])
    with pytest.raises(DataError, match="'label' 2 times"):
        Annotations.from_frame(twice)


@pytest.mark.parametrize(
    "columns",
    [
        lambda values: values,
        np.array,
        lambda values: np.array(values, dtype=object),
        pd.Series,
        lambda values: pd.Series(values, dtype="category"),
        pl.Series,
        pa.array,
        lambda values: pa.chunked_array([values[:1], values[1:]]),
        lambda values: pa.array(values).dictionary_encode(),
    ],
    ids=[
        "list",
        "numpy",
        "object",
        "series",
        "category",
        "polars",
        "arrow",
        "chunked",
        "dictionary",
    ],
)
def test_columns_of_any_kind_give_the_same_annotations(columns):
    ann = Annotations.from_arrays(*(columns(values) for values in LONG.values()))
    assert rows_of(ann) == sorted(zip(*LONG.values(), strict=True))
    assert ann.items.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.float32, np.float64]
)
def test_whole_numbers_of_any_width_are_whole_numbers(dtype):
    values = np.array([3, 1, 3, 2], dtype=dtype)
    ann = Annotations.from_arrays(values, values, values)
    assert ann.items.tolist() == ann.annotators.tolist() == ann.classes.tolist() == [1, 2, 3]
    assert ann.items.dtype == np.int64


def test_torch_tensors_are_numbers_and_not_their_descriptions():
    torch = pytest.importorskip("torch")
    ann = Annotations.from_arrays(*(torch.tensor([0, 1, 2]) for _ in range(3)))
    assert ann.items.tolist() == ann.classes.tolist() == [0, 1, 2]


def test_columns_of_different_length_are_refused():
    with pytest.raises(DataError, match="differ in length: 2, 1, 2"):
        Annotations.from_arrays([1, 2], [1], [1, 2])


def test_a_column_with_two_axes_is_refused():
    with pytest.raises(DataError, match=r"label must be one column.*\(2, 1\)"):
        Annotations.from_arrays([1, 2], [1, 2], np.array([["a"], ["b"]]))


def test_no_rows_are_no_labels():
    ann = Annotations.from_arrays([], [], [])
    assert (len(ann), ann.n_annotators, ann.n_classes, ann.n_annotations) == (0, 0, 0, 0)


def test_a_column_of_lists_has_sets():
    assert Annotations.from_arrays([1, 2], [1, 2], [["a"], ["b"]]).kind == "multilabel"
    with pytest.raises(DataError, match=r"list<.*> cannot be read as names"):
        Annotations.from_arrays([1, 2], [1, 2], [["a"], ["b"]], kind="classes")


# -- names


def test_whole_numbers_stay_numbers_and_sort_as_numbers():
    ann = Annotations.from_arrays(["10", "9", "-3"], [1, 2, 3], ["2", "10", "2"])
    assert ann.items.tolist() == [-3, 9, 10]
    assert ann.classes.tolist() == [2, 10]


@pytest.mark.parametrize("odd", ["007", "+1", "-0", "1.0", " 1", "1\n", "1e3", "9" * 19])
def test_what_is_not_plainly_a_whole_number_keeps_every_name_as_it_is_written(odd):
    ann = Annotations.from_arrays([odd, "7"], [1, 2], [0, 1])
    assert sorted(ann.items.tolist()) == sorted([odd, "7"])


def test_ids_of_several_kinds_become_text():
    ann = Annotations.from_arrays([1, "x", 2.0, True], [1, 2, 3, 4], [0, 1, 0, 1])
    assert ann.items.tolist() == ["1", "2", "true", "x"]


@pytest.mark.parametrize(
    "ids",
    [np.array([2**63 + 5, 1], dtype=np.uint64), [2**63 + 5, 1], [str(2**63 + 5), "1"]],
    ids=["unsigned", "python", "text"],
)
def test_ids_past_64_bits_are_not_bent(ids):
    ann = Annotations.from_arrays(ids, [0, 1], [0, 1])
    assert ann.items.tolist() == ["1", str(2**63 + 5)]


def test_floats_that_are_whole_are_names_of_whole_numbers():
    ann = Annotations.from_arrays(np.array([1.0, 2.0]), [0, 1], pd.Series([1, None]), missing="")
    assert ann.items.tolist() == [1, 2]
    assert ann.classes.tolist() == [1]


def test_a_float_too_large_for_a_whole_number_is_still_a_name():
    assert Annotations.from_arrays([1e300, 2.0], [0, 1], [0, 1]).items.tolist() == ["1e+300", "2"]


def test_words_of_a_category_that_no_row_uses_are_no_names():
    frame = pd.DataFrame(LONG).astype("category").iloc[:1]
    ann = Annotations.from_frame(frame)
    assert rows_of(ann) == [("b", "v", "dog")]
    assert (ann.n_items, ann.n_annotators) == (1, 1)
    assert ann.classes.tolist() == ["cat", "dog"]  # categories of labels are classes all the same


def test_truth_values_are_classes_that_can_be_named_by_truth_values():
    ann = Annotations.from_arrays([1, 2], [0, 0], [True, False], classes=[False, True])
    assert ann.classes.tolist() == [False, True]
    assert ann.label.tolist() == [1, 0]
    assert Annotations.from_arrays([1, 2], [0, 0], [True, "x"]).classes.tolist() == ["true", "x"]


@pytest.mark.parametrize("blank", [None, "", "  ", float("nan"), pd.NA, pd.NaT])
@pytest.mark.parametrize("others", [["x", "y"], [1, "y"]], ids=["text", "several kinds"])
@pytest.mark.parametrize("noun", ["item", "annotator"])
def test_a_blank_name_is_refused_by_its_row(blank, others, noun):
    columns = {"item": [1, 2, 3], "annotator": [1, 2, 3], "label": [0, 1, 0]}
    columns[noun] = [others[0], blank, others[1]]
    with pytest.raises(DataError, match=f"row 2: the {noun} is blank"):
        Annotations.from_arrays(**columns)


def test_polars_nan_is_a_blank_name_and_a_blank_label():
    frame = pl.DataFrame({"item": [1.0, float("nan")], "annotator": [1, 2], "label": [0.0, 1.0]})
    with pytest.raises(DataError, match="row 2: the item is blank"):
        Annotations.from_frame(frame)
    frame = pl.DataFrame({"item": [1, 2], "annotator": [1, 2], "label": [0.0, float("nan")]})
    with pytest.raises(DataError, match="row 2: the label is blank"):
        Annotations.from_frame(frame)
    assert Annotations.from_frame(frame, missing="").n_annotations == 1


def test_half_a_surrogate_pair_is_refused():
    with pytest.raises(DataError, match="not valid text"):
        Annotations.from_arrays(["\ud800", "b"], [1, 2], [0, 1])


# -- names that are listed


def test_listed_names_fix_the_order_and_need_not_occur():
    ann = Annotations.from_arrays(
        ["b"], ["v"], ["dog"], items=["c", "b"], annotators=["w", "v"], classes=["dog", "cat"]
    )
    assert ann.items.tolist() == ["c", "b"]
    assert (ann.item.tolist(), ann.annotator.tolist(), ann.label.tolist()) == ([1], [1], [0])
    assert ann.labels_per_item.tolist() == [0, 1]
    assert ann.labels_per_annotator.tolist() == [0, 1]


@pytest.mark.parametrize("noun", ["item", "annotator"])
def test_a_name_outside_the_list_is_refused(noun):
    with pytest.raises(DataError, match=f"row 2: this {noun} is not among the 1 listed"):
        Annotations.from_arrays([0, 1], [0, 1], [0, 1], **{f"{noun}s": [0]})


def test_a_label_outside_the_classes_is_refused_with_the_classes():
    with pytest.raises(DataError, match=r"row 2: .*outside the classes.* cat, dog"):
        Annotations.from_arrays([0, 1], [0, 1], ["cat", "cow"], classes=["cat", "dog"])


def test_a_name_listed_twice_is_refused():
    with pytest.raises(DataError, match="item 'a' is listed twice"):
        Annotations.from_arrays(["a"], [0], [0], items=["b", "a", "a"])


# -- kinds


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([0, 1, 2], "classes"),
        ([5, 1, 4, 2], "classes"),
        (["yes", "no"], "classes"),
        ([-1, 0, 1], "classes"),
        (list(range(30)), "classes"),
        (list(range(-10, 20)), "numbers"),
        ([0.5, 1.0], "numbers"),
        (["0.5", "1"], "numbers"),
        ([1.0, 2.0], "classes"),
        (["1.0", "2.0"], "classes"),
        (["1e300", "0.5"], "numbers"),
        ([np.float32(0.5), np.float32(1)], "numbers"),
        (["1_0", "a"], "classes"),
    ],
)
def test_the_kind_is_guessed(labels, kind):
    rows = range(len(labels))
    ann = Annotations.from_arrays(rows, rows, labels)
    assert ann.kind == kind
    assert Annotations.from_arrays(rows, rows, np.array(labels)).kind == kind


def test_the_kind_that_is_said_wins():
    ann = Annotations.from_arrays([0, 1], [0, 1], ["1", "2"], kind="numbers")
    assert ann.label.tolist() == [1.0, 2.0]
    ann = Annotations.from_arrays([0, 1], [0, 1], [0.5, 1.5], kind="classes")
    assert ann.classes.tolist() == ["0.5", "1.5"]
    with pytest.raises(
        SettingError, match="kind must be one of classes, numbers, ordinal, multilabel; got 'words'"
    ):
        Annotations.from_arrays([0], [0], [0], kind="words")
    with pytest.raises(DataError, match="give only one of the two"):
        Annotations.from_arrays([0], [0], [0], kind="numbers", classes=[0])


def test_whole_numbers_written_with_a_point_are_the_classes_they_say():
    ann = Annotations.from_arrays([0, 1, 2], [0, 1, 2], ["1.0", "2.0", "1"])
    assert ann.classes.tolist() == [1, 2]
    assert ann.label.tolist() == [0, 1, 0]
    given = Annotations.from_arrays([0, 1], [0, 1], ["1.0", "2"], classes=["2.0", "1.0"])
    assert given.classes.tolist() == [2, 1]
    assert given.label.tolist() == [1, 0]
    decimals = Annotations.from_arrays([0, 1], [0, 1], ["1.0", "1.5"], kind="classes")
    assert decimals.classes.tolist() == ["1.0", "1.5"]


@pytest.mark.parametrize("labels", [["1", "2", "x"], ["a", "b", "3"]])
def test_numbers_among_words_are_refused_unless_they_are_said_to_be_classes(labels):
    with pytest.raises(DataError, match=rf"row 3: the label '{labels[2]}' is a "):
        Annotations.from_arrays([0, 1, 2], [0, 1, 2], labels)
    ann = Annotations.from_arrays([0, 1, 2], [0, 1, 2], labels, kind="classes")
    assert sorted(ann.classes.tolist()) == sorted(labels)
    assert Annotations.from_arrays([0, 1, 2], [0, 1, 2], labels, missing=labels[2]).n_classes == 2


@pytest.mark.parametrize("infinite", [np.inf, -np.inf, "inf", "-Infinity"])
def test_infinite_numbers_are_refused(infinite):
    for labels in ([0.5, infinite], np.array([0.5, infinite])):
        with pytest.raises(DataError, match="row 2: the label is infinite"):
            Annotations.from_arrays([0, 1], [0, 1], labels)


# -- labels that are not there


@pytest.mark.parametrize("blank", [None, "", " ", float("nan"), "NaN", "nan"])
def test_a_blank_label_is_refused_unless_it_is_said_to_be_missing(blank):
    columns = ["a", "b", "c"], [0, 1, 2], ["x", blank, "y"]
    with pytest.raises(DataError, match=r"row 2: the label is blank.*missing=''"):
        Annotations.from_arrays(*columns)
    for missing in ("", None, float("nan")):
        ann = Annotations.from_arrays(*columns, missing=missing)
        assert rows_of(ann) == [("a", 0, "x"), ("c", 2, "y")]
        assert ann.items.tolist() == ["a", "b", "c"]  # b stays, as an item without labels


@pytest.mark.parametrize(
    ("labels", "missing", "kept"),
    [
        ([0, -1, 1], -1, [0, 1]),
        ([0, -1, 1], -1.0, [0, 1]),
        ([0.5, -1.0, 1.5], -1, [0.5, 1.5]),
        (["x", "NA", "y"], "NA", ["x", "y"]),
        (["1", "NA", "2"], "NA", [1, 2]),
        (["1", "NA", "?"], ["NA", "?"], [1]),
        (["1.0", "", "2.0"], "", [1, 2]),
    ],
)
def test_labels_that_mean_nothing_are_dropped(labels, missing, kept):
    ann = Annotations.from_arrays([0, 1, 2], [0, 1, 2], labels, missing=missing)
    assert ann.label_names().tolist() == kept


# -- the same annotator, the same item


REPEATS = (["a", "a", "b", "a"], ["u", "u", "u", "u"], ["x", "y", "x", "z"])


@pytest.mark.parametrize(
    ("policy", "said"), [("keep", ["x", "y", "z"]), ("first", ["x"]), ("last", ["z"])]
)
def test_conflicting_repeats_follow_the_policy(policy, said):
    ann = Annotations.from_arrays(*REPEATS, duplicates=policy)
    assert ann[:1].label_names().tolist() == said
    assert ann[1:].label_names().tolist() == ["x"]


@pytest.mark.parametrize(("policy", "count"), [("keep", 3), ("first", 1), ("last", 1)])
def test_equal_repeats_are_repeats_too(policy, count):
    ann = Annotations.from_arrays(["a"] * 3, ["u"] * 3, ["x"] * 3, duplicates=policy)
    assert ann.n_annotations == count


def test_repeats_are_refused_by_name_when_asked():
    with pytest.raises(DataError, match=r"'u' labelled item 'a' more than once \(2 such"):
        Annotations.from_arrays(*REPEATS, duplicates="refuse")
    assert Annotations.from_arrays(["a", "b"], ["u", "u"], [0, 1], duplicates="refuse")
    with pytest.raises(SettingError, match="duplicates must be one of keep, first, last, refuse"):
        Annotations.from_arrays(*REPEATS, duplicates="newest")


def test_the_first_of_many_repeats_is_the_first_in_row_order():
    """Long runs of one item take another way through the sorting than short ones."""
    rng = np.random.default_rng(0)
    annotator = rng.integers(0, 40, 500)
    label = np.arange(500)
    ann = Annotations.from_arrays(
        np.zeros(500, int), annotator, label, duplicates="first", kind="numbers"
    )
    first = {a: float(np.flatnonzero(annotator == a)[0]) for a in range(40)}
    assert dict(zip(ann.annotator.tolist(), ann.label.tolist(), strict=True)) == first


# -- matrices and dictionaries


@pytest.mark.parametrize(
    ("matrix", "missing"),
    [
        ([[0, -1], [1, 1], [-1, -1]], -1),
        ([[0, np.nan], [1, 1], [np.nan, np.nan]], -1),
        ([[0, "?"], [1, 1], ["?", "?"]], "?"),
        ([["0", "9"], ["1", "1"], ["9", "9"]], 9),
        ([[0, 9], [1, 1], [8, 9]], [8, 9]),
        ([[0, None], [1, 1], [None, None]], -1),
        (np.ma.masked_array([[0, 5], [1, 1], [5, 5]], [[0, 1], [0, 0], [1, 1]]), -1),
        (pd.DataFrame({"u": [0, 1, None], "v": [None, 1, None]}), -1),
        (np.array([[b"0", b"?"], [b"1", b"1"], [b"?", b"?"]]), "?"),
    ],
    ids=["code", "nan", "text", "string", "several", "none", "masked", "frame", "bytes"],
)
def test_a_matrix_gives_its_cells_and_keeps_rows_without_labels(matrix, missing):
    ann = Annotations.from_dense(matrix, missing)
    assert rows_of(ann) == [(0, 0, 0), (1, 0, 1), (1, 1, 1)]
    assert (len(ann), ann.n_annotators) == (3, 2)
    assert ann.labels_per_item.tolist() == [1, 2, 0]


def test_a_class_called_none_is_a_label():
    ann = Annotations.from_dense([["None", "cat"], [None, "None"]])
    assert rows_of(ann) == [(0, 0, "None"), (0, 1, "cat"), (1, 1, "None")]


def test_a_matrix_may_name_its_rows_and_columns():
    ann = Annotations.from_dense([[0, -1], [1, 1]], items=["x", "y"], annotators=["u", "v"])
    assert rows_of(ann) == [("x", "u", 0), ("y", "u", 1), ("y", "v", 1)]
    for names in ({"items": ["x"]}, {"items": "xyz"}, {"annotators": ["u"]}):
        with pytest.raises(DataError, match=r"expected 2 .* names, as in the matrix; got"):
            Annotations.from_dense([[0, -1], [1, 1]], **names)


@pytest.mark.parametrize("matrix", [[0, 1], [[[0]]], 3])
def test_what_is_no_matrix_is_refused(matrix):
    with pytest.raises(DataError, match="expected a matrix of items x annotators"):
        Annotations.from_dense(matrix)


def test_dictionaries_keep_items_that_nobody_labelled():
    ann = Annotations.from_dicts({"b": {"u": "x", "v": "y"}, "a": {}, "c": {"u": "x"}})
    assert ann.items.tolist() == ["b", "a", "c"]
    assert rows_of(ann) == [("b", "u", "x"), ("b", "v", "y"), ("c", "u", "x")]
    assert ann.labels_per_item.tolist() == [2, 0, 1]


def test_dictionaries_may_hold_codes_for_nothing():
    ann = Annotations.from_dicts({"a": {"u": 0, "v": -1}}, missing=-1, classes=[0, 1])
    assert rows_of(ann) == [("a", "u", 0)]
    assert ann.n_classes == 2
