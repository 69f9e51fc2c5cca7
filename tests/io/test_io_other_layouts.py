"""JSON lines, JSON objects, Parquet, wide tables and matrices: as they come, and broken."""

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import manyhands as mh
from manyhands.core.errors import DataError, SettingError
from manyhands.io import read_annotations


def read(path, content, **settings):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_annotations(path, **settings)


def said(ann):
    return [
        (ann.items[i], ann.annotators[a], one)
        for i, a, one in zip(ann.item, ann.annotator, ann.label_names().tolist(), strict=True)
    ]


# -- JSON lines


@pytest.fixture
def lines(tmp_path):
    return tmp_path / "labels.jsonl"


def test_json_lines_may_hold_anything_json_can(lines):
    content = '{"item": 1, "annotator": "u", "label": true}\n' + (
        '{"label": false, "annotator": "v", "item": "x", "more": {"deep": [1]}}\n'
    )
    assert said(read(lines, content)) == [("1", "u", True), ("x", "v", False)]


def test_json_lines_may_begin_with_a_mark_and_hold_blank_lines(lines):
    content = '\ufeff{"item":1,"annotator":2,"label":0}\n\n{"item":2,"annotator":2,"label":1}'
    assert said(read(lines, content)) == [(1, 2, 0), (2, 2, 1)]


def test_json_lines_keep_numbers_past_64_bits(lines):
    content = "".join(f'{{"item":{2**70 + n},"annotator":1,"label":0}}\n' for n in range(2))
    assert read(lines, content).items.tolist() == [str(2**70), str(2**70 + 1)]


def test_json_lines_of_another_encoding_are_read_when_named(lines):
    content = '{"item":"é","annotator":1,"label":0}\n'.encode("latin-1")
    assert read(lines, content, encoding="latin-1").items.tolist() == ["é"]
    with pytest.raises(DataError, match="line 1: byte 0xe9 is not utf-8"):
        read(lines, content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("\n \n", "the file is empty"),
        ('{"item":1,"annotator":2,"label":0}\n{"item":2,"anno', "line 2: not JSON .*cut short"),
        ("[1, 2, 3]\n", "line 1: expected an object"),
        ('{"item":1,"annotator":2,"label":0}\n7\n', "line 2: expected an object"),
        ("[" * 100_000, "line 1: "),
        ('{"item":1,"annotator":2,"label":0}\n{"item":2,"annotator":2}\n', "line 2: the label"),
        ('{"item":1,"annotator":2,"label":0}\n\n{"item":2,"annotator":2}\n', "row 2: the label"),
        ('{"item":1,"annotator":2,"label":NaN}\n', "line 1: the label is blank"),
        ('{"item":1,"annotator":2,"label":0.5}\n{"item":1,"annotator":3,"label":Infinity}\n',
         "line 2: the label is infinite"),
        ('{"item":"\\ud800","annotator":2,"label":0}\n', "not text"),
        ('{"name":1,"annotator":2,"label":0}\n', "no column looks like the item"),
        (b"\x89PNG\r\n", "line 1: byte 0x89 is not utf-8"),
    ],
)  # fmt: skip
def test_broken_json_lines_are_told_by_place(content, message, lines):
    with pytest.raises(DataError, match=message) as caught:
        read(lines, content)
    assert str(caught.value).startswith(str(lines))


# -- a JSON object


@pytest.fixture
def nested(tmp_path):
    return tmp_path / "labels.json"


def test_a_json_object_may_hold_codes_for_nothing(nested):
    content = json.dumps({"a": {"u": "x", "v": None}, "b": {"u": ""}})
    with pytest.raises(DataError, match=r"labels\.json, row 2: the label is blank"):
        read(nested, content)
    assert said(read(nested, content, missing="")) == [("a", "u", "x")]
    zero = json.dumps({"a": {"u": 0, "v": 1}})
    assert said(read(nested, zero, missing=0)) == [("a", "v", 1)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ('{"a": {"u": 1', "not JSON .*cut short"),
        ("[]", "has no records"),
        ('{"a": 1}', "expected {item: {annotator: label}}"),
        ("{}", "has no records"),
        ('{"a": {}}', "has no label"),
        ('{"a": {"u": 1}, "a": {"v": 2}}', "'a' is named twice"),
        ('{"a": {"u": 1, "u": 2}}', "'u' is named twice"),
        ('{"a": {"u": [1, 2]}}', "neither a class nor a number"),
        ('{"a":' * 100_000, "nested too deep|not JSON"),
        (b"\xff\xfe", "is not utf-8 text; .*encoding="),
    ],
)
def test_a_broken_json_object_is_told(content, message, nested):
    with pytest.raises(DataError, match=message) as caught:
        read(nested, content)
    assert str(caught.value).startswith(str(nested))


# -- Parquet


def test_parquet_cut_short_or_not_parquet_is_told(tmp_path):
    path = tmp_path / "labels.parquet"
    pq.write_table(pa.table({"item": [1] * 999, "annotator": [2] * 999, "label": [3] * 999}), path)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:-1], b"", b"item,annotator,label\n1,2,3\n"):
        with pytest.raises(DataError, match=r"labels\.parquet: not a Parquet file, or cut short"):
            read(path, content)


def test_parquet_with_no_rows_or_holes_is_told(tmp_path):
    path = tmp_path / "labels.parquet"
    empty = pa.table({name: pa.array([], pa.int64()) for name in ("item", "annotator", "label")})
    pq.write_table(empty, path)
    with pytest.raises(DataError, match="has columns and no rows"):
        read_annotations(path)
    pq.write_table(pa.table({"item": [1, 2], "annotator": [1, 2], "label": [0, None]}), path)
    with pytest.raises(DataError, match=r"labels\.parquet, row 2: the label is blank"):
        read_annotations(path)
    assert read_annotations(path, missing="").n_annotations == 1
    pq.write_table(pa.table({"item": [1], "annotator": [1], "label": [[0, 1]]}), path)
    with pytest.raises(DataError, match=r"labels\.parquet: labels are lists; read them as sets"):
        read_annotations(path)


# -- wide tables


def test_a_wide_table_has_a_row_per_item_and_a_column_per_annotator(tmp_path):
    path = tmp_path / "wide.csv"
    ann = read(path, "name,u,v,w\n007,x,,y\nb,?,-1,\nc,None,x,x\n", layout="wide")
    assert said(ann) == [
        ("007", "u", "x"), ("007", "w", "y"), ("c", "u", "None"), ("c", "v", "x"), ("c", "w", "x"),
    ]  # fmt: skip
    assert ann.items.tolist() == ["007", "b", "c"]
    kept = read(path, "name,u\na,-1\nb,1\n", layout="wide", missing="")
    assert kept.classes.tolist() == [-1, 1]


def test_the_item_column_of_a_wide_table_may_be_named(tmp_path):
    ann = read(tmp_path / "wide.csv", "u,v,key\n1,2,a\n", layout="wide", item="key")
    assert said(ann) == [("a", "u", 1), ("a", "v", 2)]
    with pytest.raises(DataError, match=r"wide\.csv: no column 'kex'; did you mean key"):
        read_annotations(tmp_path / "wide.csv", layout="wide", item="kex")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("item,u,v\na,1,2\na,1,2\n", "the item 'a' has more than one row"),
        ("item,u,u\na,1,2\n", "named once"),
        ("item,item,u\na,b,2\n", "named once"),
        ("item\na\n", "must be one annotator"),
        ("item,u,v\na,1,2\n,1,2\n", "line 3: the item is blank"),
        ("item,u,v\na,1,2\nb,1,cat\n", "line 3: the label 'cat' is a word among numbers"),
        ("item,u,v\na,1.5,2\nb,,inf\n", "line 3: the label is infinite"),
    ],
)
def test_a_broken_wide_table_is_told_by_place(content, message, tmp_path):
    with pytest.raises(DataError, match=message):
        read(tmp_path / "wide.csv", content, layout="wide")


# -- matrices


def test_a_matrix_of_text_is_separated_by_any_blanks(tmp_path):
    ann = read(tmp_path / "m.txt", "\ufeff0  -1\t1\n\n ? 2 0 \n")
    assert said(ann) == [(0, 0, 0), (0, 2, 1), (1, 1, 2), (1, 2, 0)]


def test_a_matrix_may_have_commas(tmp_path):
    assert said(read(tmp_path / "m.csv", "0,,1\n1,1,\n", layout="dense")) == [
        (0, 0, 0), (0, 2, 1), (1, 0, 1), (1, 1, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "labels"),
    [
        ("1.0 2.0\n-1 1.0\n", [1, 2, 1]),
        ("1.000000e+00 2.000000e+00\n-1 1\n", [1, 2, 1]),
        ("007 7\n-1 7\n", ["007", "7", "7"]),
        (f"{2**55 + 1} {2**55}\n-1 0\n", [2**55 + 1, 2**55, 0]),
        ("0.5 nan\n-1 1\n", [0.5, 1.0]),
        ("cat dog\n? cat\n", ["cat", "dog", "cat"]),
    ],
)
def test_labels_of_a_matrix_are_read_for_what_they_are(content, labels, tmp_path):
    assert read(tmp_path / "m.txt", content).label_names().tolist() == labels


def test_a_matrix_may_have_its_own_code_for_nothing(tmp_path):
    ann = read(tmp_path / "m.txt", "0 1\n9 -1\n", missing=9)
    assert said(ann) == [(0, 0, 0), (0, 1, 1), (1, 1, -1)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("0 1\n\n1\n", "line 3: 1 cells where line 1 has 2.*cut short"),
        ("0 1 1\n1 0 cat\n", "line 2: the label 'cat' is a word among numbers"),
        ("0.5 1\n1 inf\n", "line 2: the label is infinite"),
        (b"\x89PNG", "byte 0x89 is not utf-8"),
    ],
)
def test_a_broken_matrix_is_told_by_place(content, message, tmp_path):
    with pytest.raises(DataError, match=message) as caught:
        read(tmp_path / "m.txt", content)
    assert str(caught.value).startswith(str(tmp_path / "m.txt"))


def test_a_broken_array_is_told(tmp_path):
    path = tmp_path / "m.npy"
    np.save(path, np.zeros((40, 40), dtype=int))
    whole = path.read_bytes()
    bad = [whole[:200], whole[:20], b"", b"\x80\x04K\x01."]
    for content in bad:
        with pytest.raises(DataError, match=r"m\.npy: not a \.npy array, or cut short"):
            read(path, content)
    for array in (np.zeros(3), np.zeros((2, 2, 2)), np.zeros((2, 2), dtype=complex)):
        np.save(path, array)
        with pytest.raises(DataError, match=r"m\.npy: expected one matrix of labels"):
            read_annotations(path)
    with path.open("wb") as stream:
        np.savez(stream, a=np.eye(2))
    with pytest.raises(DataError, match=r"m\.npy: expected one matrix of labels"):
        read_annotations(path)


def test_a_layout_that_does_not_fit_is_told(tmp_path):
    path = tmp_path / "labels.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(DataError, match=r"a dense matrix is \.txt, \.csv, \.tsv or \.npy"):
        read_annotations(path, layout="dense")
    with pytest.raises(SettingError, match="layout must be one of long, wide, dense; got 'tall'"):
        read_annotations(path, layout="tall")


def test_what_is_not_an_ordinary_file_is_told(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_annotations(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="is a folder without files; name a file"):
        read_annotations(tmp_path)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match="not an ordinary file"):
        read_annotations(tmp_path / "pipe.csv")


def test_a_number_that_fills_a_matrix_is_read_as_no_label(tmp_path):
    path = tmp_path / "answers.txt"
    path.write_text("999999999 0.5 999999999\n0.2 999999999 999999999\n")
    found = mh.read(path)
    assert (found.n_annotations, found.kind) == (2, "numbers")
    assert "999999999 fills 67% of the cells and is read as no label" in found.source.notes
    assert mh.read(path, missing=-1).n_annotations == 6
