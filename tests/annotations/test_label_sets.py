"""Labels that are sets of classes: how they are read, converted, joined and viewed."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import manyhands as mh
from manyhands.annotations import Annotations
from manyhands.annotations.label_sets import SetVocabulary
from manyhands.core.errors import DataError, SettingError

ITEMS, PEOPLE = [1, 1, 2, 2], ["u", "v", "u", "v"]
SETS = [{"cat", "dog"}, {"dog"}, set(), {"bird", "cat"}]
TEXTS = ["cat;dog", "dog", "[]", "bird;cat"]


def multilabel(label, **settings):
    return Annotations.from_arrays(ITEMS, PEOPLE, label, **({"kind": "multilabel"} | settings))


@pytest.mark.parametrize(
    "cells",
    [
        SETS,
        [sorted(each) for each in SETS],
        [tuple(each) for each in SETS],
        TEXTS,
        ["dog; cat", "dog", "{}", " bird ;cat;cat"],
        ["cat|dog", "dog", "[]", "bird|cat"],
        ["cat, dog", "dog", "set()", "bird,cat"],
        [json.dumps(sorted(each)) for each in SETS],
        ["{'cat', 'dog'}", "['dog']", "[]", "('bird', 'cat')"],
        ["[cat, dog]", "{dog}", "[]", "[bird, cat]"],
        pa.array([sorted(each) for each in SETS]),
    ],
)
def test_cells_of_all_forms_are_the_same_sets(cells):
    ann = multilabel(cells)
    assert ann.kind == "multilabel"
    assert ann.classes.tolist() == ["bird", "cat", "dog"]
    assert ann.n_classes == 3
    assert ann.label_sets == [frozenset(each) for each in SETS]
    assert ann.label_names().tolist() == [
        text.replace(";", ann.class_vocabulary.separator) for text in TEXTS
    ]
    assert ann.members.sum(axis=1).tolist() == [2, 1, 0, 2]
    assert ann.label_counts().tolist() == [[0, 1, 2], [1, 1, 0]]
    assert repr(ann).endswith("sets of 3 classes)")
    assert "cat" in ann._repr_html_()


def test_collections_in_cells_need_no_kind_and_texts_do():
    assert multilabel(SETS, kind=None).kind == "multilabel"
    assert multilabel(TEXTS, kind=None).kind == "classes"
    nested = {1: {"u": {"cat"}, "v": {"cat", "dog"}}}
    assert mh.annotations.as_annotations(nested).label_names().tolist() == ["cat", "cat;dog"]
    lists = {1: {"u": ["cat"], "v": []}}
    assert Annotations.from_dicts(lists, kind="multilabel").label_sets == [{"cat"}, frozenset()]


def test_a_separator_that_is_given_wins():
    ann = multilabel(["cats, big/dogs", "dogs", "[]", "cats, big"], separator="/")
    assert ann.classes.tolist() == ["cats, big", "dogs"]
    with pytest.raises(SettingError, match="separator is for sets of classes: kind"):
        multilabel(TEXTS, kind=None, separator=";")


def test_classes_that_hold_separators_are_written_as_json_and_read_again():
    ann = multilabel([["a;b", "c"], ["c"], [], ["[d]"]])
    assert ann.label_names()[0] == '["a;b", "c"]'
    again = multilabel(ann.label_names())
    assert again.label_sets == ann.label_sets


def test_several_rows_of_an_annotator_are_one_set():
    rows = [1, 1, 1, 2], ["u", "v", "u", "u"], ["dog", "cat", "cat;bird", "dog"]
    ann = Annotations.from_arrays(*rows, kind="multilabel")
    assert ann.n_annotations == 3
    assert ann.label_names().tolist() == ["bird;cat;dog", "cat", "dog"]
    last = Annotations.from_arrays(*rows, kind="multilabel", duplicates="last")
    assert last.label_names()[0] == "bird;cat"
    assert Annotations.from_arrays(*rows).as_kind("multilabel").n_annotations == 3


def test_blank_and_unknown_cells_are_refused_with_their_place():
    with pytest.raises(DataError, match=r"row 2: the label is blank; write \[\] for a set without"):
        multilabel(["cat", "", "dog", "dog"])
    assert multilabel(["cat", "", "dog", "NA"], missing=["", "NA"]).n_annotations == 2
    with pytest.raises(DataError, match="row 3: the label is outside the classes; they are cat"):
        multilabel(["cat", "dog", "cat;cow", "dog"], classes=["cat", "dog"])
    assert multilabel(TEXTS, classes=["dog", "cat", "bird", "cow"]).classes.tolist()[-1] == "cow"
    with pytest.raises(DataError, match="a list of lists"):
        multilabel([["a"], [["a"]], ["b"], ["b"]])


@pytest.mark.parametrize("library", [pd, pl])
def test_a_column_per_class(library):
    cells = {"cat": [1, 0, 0, 1], "dog": [1, 1, 0, 0], "bird": [0, 0, 0, 1]}
    frame = library.DataFrame({"id": ITEMS, "annotator": PEOPLE, "seconds": [1.5, 2, 3, 4]} | cells)
    ann = Annotations.from_frame(frame, kind="multilabel")
    assert ann.classes.tolist() == ["cat", "dog", "bird"]  # in the order of the columns
    assert ann.label_sets == [frozenset(each) for each in SETS]
    assert ann.source.notes[0] == "a column of 0 and 1 per class: cat, dog, bird"
    assert ann.times is not None
    some = Annotations.from_frame(frame, kind="multilabel", classes=["dog", "cat"])
    assert some.label_sets[3] == {"cat"}
    odd = pd.DataFrame({"id": ITEMS, "annotator": PEOPLE, "cat": [1, 2, 0, 1]})
    with pytest.raises(DataError, match="the column 'cat' of a class has cells that are neither"):
        Annotations.from_frame(odd, kind="multilabel", classes=["cat"])
    with pytest.raises(DataError, match="no column holds only 0 and 1"):
        Annotations.from_frame(odd, kind="multilabel")


def test_files_of_sets(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label\n" + "".join(
        f"{i},{a},{text}\n" for i, a, text in zip(ITEMS, PEOPLE, TEXTS, strict=True)
    ))  # fmt: skip
    ann = mh.read(path, kind="multilabel")
    assert ann.label_sets == [frozenset(each) for each in SETS]
    assert ann.source.notes == ("labels are sets of classes, such as bird;cat",)
    assert mh.read(path, kind="multilabel", task="classification").kind == "multilabel"
    wide = tmp_path / "wide.csv"
    wide.write_text("item,u,v\n1,cat;dog,dog\n2,[],bird;cat\n")
    assert mh.read(wide, kind="multilabel", layout="wide").label_sets == ann.label_sets
    flags = tmp_path / "flags.csv"
    flags.write_text("item,annotator,cat,dog\n1,u,1,1\n1,v,0,1\n")
    assert mh.read(flags, kind="multilabel").label_sets == [{"cat", "dog"}, {"dog"}]
    nested = tmp_path / "labels.json"
    nested.write_text('{"1": {"u": ["cat", "dog"], "v": []}}')
    assert mh.read(nested, kind="multilabel").label_sets == [{"cat", "dog"}, frozenset()]
    path.write_text("item,annotator,label\n1,u,cat\n1,v,\n")
    with pytest.raises(DataError, match=r"line 3: the label is blank; write \[\]"):
        mh.read(path, kind="multilabel")


def test_lists_in_files_need_the_kind(tmp_path):
    path = tmp_path / "labels.parquet"
    columns = {"item": ITEMS, "annotator": PEOPLE, "label": [sorted(each) for each in SETS]}
    pq.write_table(pa.table(columns), path)
    with pytest.raises(DataError, match="labels are lists; read them as sets of classes with kind"):
        mh.read(path)
    assert mh.read(path, kind="multilabel").label_sets == [frozenset(each) for each in SETS]
    path = tmp_path / "labels.jsonl"
    path.write_text('{"item": 1, "annotator": "u", "label": ["a", "b"]}\n' * 2)
    with pytest.raises(DataError, match="read them as sets of classes with kind='multilabel'"):
        mh.read(path)


def test_kinds_are_converted_only_where_nothing_is_lost():
    ann = multilabel(TEXTS)
    with pytest.raises(DataError, match=r"sets of classes \(cat;dog\) where one class is needed"):
        ann.as_kind("classes")
    with pytest.raises(DataError, match="where numbers are needed"):
        ann.as_kind("numbers")
    single = Annotations.from_arrays(ITEMS, PEOPLE, ["b", "a", "a", "c"])
    sets = single.as_kind("multilabel")
    assert sets.label_names().tolist() == single.label_names().tolist()
    back = sets.as_kind("classes")
    assert back.label.tolist() == single.label.tolist()
    assert back.classes.tolist() == single.classes.tolist()
    assert multilabel([1, 2, 1, 2]).as_kind("numbers").label.tolist() == [1.0, 2.0, 1.0, 2.0]
    with pytest.raises(DataError, match="labels are no sets of classes"):
        _ = single.members


def test_labels_about_one_class():
    ann = multilabel(TEXTS)
    assert ann.of_class("cat").label_names().tolist() == [True, False, False, True]
    with pytest.raises(DataError, match="no class 'cow'"):
        ann.of_class("cow")


def test_more_labels_bring_new_sets_and_new_classes():
    ann = multilabel(TEXTS)
    more = Annotations.from_arrays([2, 3], ["u", "w"], ["cow|cat", "dog"], kind="multilabel")
    both = ann.extended(more)
    assert both.classes.tolist() == ["bird", "cat", "dog", "cow"]
    assert both[1:2].label_sets == [{"cow", "cat"}, {"bird", "cat"}]  # [] and cow|cat are joined
    assert both[2:].label_sets == [{"dog"}]
    assert ann.label_names().tolist() == TEXTS


def test_frames_and_matrices_keep_sets():
    ann = multilabel(TEXTS)
    again = Annotations.from_frame(ann.to_frame(), kind="multilabel")
    assert again.label_sets == ann.label_sets
    grid = ann.to_dense(missing="")
    assert grid.tolist() == [["cat;dog", "dog"], ["[]", "bird;cat"]]
    same = Annotations.from_dense(grid, missing="", kind="multilabel")
    assert same.label_sets == ann.label_sets


@given(st.lists(st.sets(st.sampled_from("abcde"), max_size=4), min_size=1, max_size=12))
def test_every_set_has_one_code_and_the_order_of_rows_does_not_matter(sets):
    found = SetVocabulary.of_sets(sets)
    assert SetVocabulary.of_sets(sets[::-1]).names.tolist() == found.names.tolist()
    assert found.sets()[found.codes(sets)[0]] == frozenset(sets[0])
    assert len(set(found.sets())) == len(found)
    assert found.codes(found.names).tolist() == list(range(len(found)))
    assert np.array_equal(found.members(found.names), found.member_sk)


@pytest.mark.parametrize("cell", ['["cat", "dog"', "cat', 'dog']", '{"cat"'])
def test_lists_without_their_other_bracket_are_refused(cell):
    with pytest.raises(DataError, match="without its other bracket"):
        Annotations.from_arrays([1, 1], list("uv"), ["cat", cell], kind="multilabel")


def test_classes_that_are_made_of_others_are_noted():
    cells = ["cat;dog", "cat|dog", "dog"]
    labels = Annotations.from_arrays([1, 1, 2], list("uvu"), cells, kind="multilabel")
    assert labels.class_vocabulary.note.endswith("classes such as cat|dog are made of others")
