"""What annotations can be looked at as, and that nobody can change them."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest

from manyhands.annotations import Annotations
from manyhands.core.errors import DataError


@pytest.fixture
def ann():
    """Items a..e with 2, 0, 1, 3, 1 labels."""
    return Annotations.from_arrays(
        ["a", "a", "c", "d", "d", "d", "e"],
        ["u", "w", "v", "u", "v", "w", "w"],
        ["x", "y", "x", "y", "y", "x", "z"],
        items=list("abcde"),
    )


def said(ann):
    """{item: {annotator: label}} for annotations without repeats."""
    return {
        name: {
            ann.annotators[a]: one
            for a, one in zip(ann[i].annotator, ann[i].label_names(), strict=True)
        }
        for i, name in enumerate(ann.items.tolist())
    }


def test_counts_and_shape(ann):
    assert (len(ann), ann.n_items, ann.n_annotators, ann.n_classes) == (5, 5, 3, 3)
    assert (ann.n_annotations, ann.shape, ann.ndim) == (7, (5,), 1)
    assert ann.labels_per_item.tolist() == [2, 0, 1, 3, 1]
    assert ann.labels_per_annotator.tolist() == [2, 2, 3]
    assert repr(ann) == "Annotations(7 labels of 5 items by 3 annotators, 3 classes)"


@pytest.mark.parametrize(
    ("key", "names"),
    [
        (slice(1, 4), "bcd"),
        (slice(None, None, 2), "ace"),
        (slice(None, None, -1), "edcba"),
        (slice(4, 1), ""),
        (3, "d"),
        (-1, "e"),
        (np.int64(3), "d"),
        ([3, 0], "da"),
        (np.array([-1, 0, 0]), "eaa"),
        (np.array([True, False, False, True, False]), "ad"),
        ([False, True, False, False, False], "b"),
        (pd.Series([0, 3]), "ad"),
        ([], ""),
        ((np.array([2, 1]), Ellipsis), "cb"),
    ],
    ids=str,
)
def test_items_are_chosen_as_an_array_chooses_and_keep_their_labels(ann, key, names):
    part = ann[key]
    assert part.items.tolist() == list(names)
    assert part.labels_per_item.tolist() == [ann[int(ord(n) - 97)].n_annotations for n in names]
    assert part.classes.tolist() == ann.classes.tolist()
    assert part.annotators.tolist() == ann.annotators.tolist()
    assert np.all(np.diff(part.item) >= 0)
    for place, name in enumerate(names):
        assert said(part[place])[name] == said(ann)[name]


@pytest.mark.parametrize("key", [5, -6, [9], np.array([True, False])])
def test_items_outside_are_an_index_error(ann, key):
    with pytest.raises(IndexError):
        ann[key]


def test_iteration_goes_item_by_item(ann):
    assert [each.items.tolist() for each in ann] == [[name] for name in "abcde"]


def test_as_an_array_it_is_the_commonest_code_or_the_mean(ann):
    assert np.asarray(ann).tolist() == [0, -1, 0, 1, 2]
    numbers = Annotations.from_arrays([0, 0, 2], [0, 1, 0], [0.5, 1.0, 3.5], items=range(3))
    np.testing.assert_equal(np.asarray(numbers), [0.75, np.nan, 3.5])


def test_label_counts_add_up(ann):
    assert ann.label_counts().tolist() == [[1, 1, 0], [0, 0, 0], [1, 0, 0], [1, 2, 0], [0, 0, 1]]
    with pytest.raises(DataError, match="no classes to count"):
        Annotations.from_arrays([0], [0], [0.5]).label_counts()


# -- dense


@pytest.mark.parametrize("missing", [-1, "?", "", None, float("nan")])
def test_a_matrix_of_words_goes_there_and_back(ann, missing):
    back = Annotations.from_dense(
        ann.to_dense(missing), missing, items=ann.items, annotators=ann.annotators
    )
    assert said(back) == said(ann)


@pytest.mark.parametrize("missing", [-1, -9, "?", float("nan")])
@pytest.mark.parametrize("labels", [[0, 3, 1], [0.25, 3.0, 1.5], [2**52, 3, 2**52 + 1]])
def test_a_matrix_of_numbers_goes_there_and_back(labels, missing):
    ann = Annotations.from_arrays([0, 1, 1], [0, 0, 1], labels)
    dense = ann.to_dense(missing)
    assert dense.shape == (2, 2)
    back = Annotations.from_dense(dense, missing)
    assert said(back) == said(ann)
    assert back.kind == ann.kind


def test_a_label_is_never_taken_for_the_code_for_nothing():
    for labels in ([-1, 0, 1], [-1.0, 0.5, 1.0], ["-1", "x", "y"]):
        ann = Annotations.from_arrays([0, 1, 2], [0, 0, 1], labels, kind=None if labels[1] != "x"
                                      else "classes")  # fmt: skip
        with pytest.raises(DataError, match=r"missing=-1 stands for .no label."):
            ann.to_dense()
        assert said(Annotations.from_dense(ann.to_dense(-9), -9, kind=ann.kind)) == said(ann)


# -- frozen


def arrays_of(ann):
    return {
        "item": ann.item,
        "annotator": ann.annotator,
        "label": ann.label,
        "items": ann.items,
        "annotators": ann.annotators,
        "classes": ann.classes,
        "item_offsets": ann.item_offsets,
        "annotator_offsets": ann.annotator_offsets,
        "annotator_order": ann.annotator_order,
    }


def test_every_array_refuses_to_be_written_to(ann):
    for made in (ann, ann[1:4], ann.extended(ann[:1]), Annotations.from_dense([[0, 1]])):
        for name, array in arrays_of(made).items():
            assert not array.flags.writeable, name
    numbers = Annotations.from_arrays([0, 1], [0, 1], [0.5, 1.5])
    with pytest.raises(ValueError, match="read-only"):
        numbers.label[0] = 7
    with pytest.raises(FrozenInstanceError):
        ann.item = ann.annotator


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64, object])
def test_arrays_that_came_in_stay_the_callers_own(dtype):
    columns = [np.arange(4).astype(dtype) for _ in range(3)]
    if dtype is np.float64:
        columns[2] += 0.5
    before = [column.copy() for column in columns]
    ann = Annotations.from_arrays(*columns)
    assert all(column.flags.writeable for column in columns)
    for column, old in zip(columns, before, strict=True):
        np.testing.assert_array_equal(column, old)
        column[:] = column[::-1].copy()  # what the caller does later must not be seen
    assert ann.item.tolist() == [0, 1, 2, 3]
    assert ann.label_names().tolist() == before[2].tolist()


def test_a_frame_that_is_changed_later_changes_nothing():
    frame = pd.DataFrame({"item": [0, 1], "annotator": [0, 1], "label": [0.5, 1.5]})
    ann = Annotations.from_frame(frame)
    frame.loc[:, :] = 1
    assert ann.label.tolist() == [0.5, 1.5]
    out = ann.to_frame()
    out.loc[0, "label"] = 9.0
    assert ann.label.tolist() == [0.5, 1.5]


def test_annotations_can_be_sent_to_another_process(ann):
    assert said(pickle.loads(pickle.dumps(ann))) == said(ann)


# -- kinds


def test_whole_numbers_may_be_read_either_way():
    ann = Annotations.from_arrays([0, 1, 2], [0, 0, 0], [3, 1, 3], items=range(4))
    numbers = ann.as_kind("numbers")
    assert numbers.kind == "numbers"
    assert numbers.label.tolist() == [3.0, 1.0, 3.0]
    back = numbers.as_kind("classes")
    assert back.classes.tolist() == [1, 3]
    assert back.label.tolist() == ann.label.tolist()
    assert back.n_items == 4
    assert ann.as_kind("classes") is ann


def test_classes_named_by_decimals_may_be_numbers():
    ann = Annotations.from_arrays([0, 1], [0, 0], ["0.5", "2.0"], kind="classes")
    assert ann.as_kind("numbers").label.tolist() == [0.5, 2.0]


def test_what_would_be_lost_is_refused(ann):
    with pytest.raises(DataError, match=r"labels are classes \(x, y, z\) where numbers"):
        ann.as_kind("numbers")
    for labels in ([0.5, 1.0], [1e300, 1.0]):
        numbers = Annotations.from_arrays([0, 1], [0, 1], labels, kind="numbers")
        with pytest.raises(DataError, match="where classes are needed"):
            numbers.as_kind("classes")


# -- more labels


def test_more_labels_keep_old_codes_and_give_new_names_the_next(ann):
    more = Annotations.from_arrays(["z", "b", "a"], ["t", "u", "v"], ["q", "x", "x"])
    both = ann.extended(more)
    assert both.items.tolist() == [*"abcde", "z"]
    assert both.annotators.tolist() == ["u", "v", "w", "t"]
    assert both.classes.tolist() == ["x", "y", "z", "q"]
    assert said(both) == {
        "a": {"u": "x", "v": "x", "w": "y"},
        "b": {"u": "x"},
        "c": {"v": "x"},
        "d": {"u": "y", "v": "y", "w": "x"},
        "e": {"w": "z"},
        "z": {"t": "q"},
    }
    assert np.all(np.diff(both.item) >= 0)


def test_more_labels_of_the_other_kind_are_read_as_this_one():
    numbers = Annotations.from_arrays([0], [0], [0.5])
    whole = Annotations.from_arrays([1], [0], [2])
    assert numbers.extended(whole).label.tolist() == [0.5, 2.0]
    with pytest.raises(DataError, match="where classes are needed"):
        whole.extended(numbers)


def test_names_that_do_not_fit_make_all_names_text():
    both = Annotations.from_arrays([1, 2], [0, 0], [0, 1]).extended(
        Annotations.from_arrays(["x"], [0], [0])
    )
    assert both.items.tolist() == ["1", "2", "x"]


def test_no_labels_extended_are_the_others():
    empty, some = Annotations.from_arrays([], [], []), Annotations.from_arrays([1], [2], [3])
    assert said(empty.extended(some)) == said(some.extended(empty)) == said(some) == {1: {2: 3}}
