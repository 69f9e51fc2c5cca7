"""Delimited text as tools and people write it."""

import csv

import numpy as np
import pytest

import manyhands as mh
from manyhands.core.errors import DataError
from manyhands.io import read_annotations, read_truth

HEADER = "item,annotator,label\n"
BODY = "a,u,x\na,v,y\nb,u,x\n"


def read(tmp_path, content, name="labels.csv", **settings):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_annotations(path, **settings)


def said(ann):
    return list(
        zip(
            ann.items[ann.item].tolist(),
            ann.annotators[ann.annotator].tolist(),
            ann.label_names().tolist(),
            strict=True,
        )
    )


WANTED = [("a", "u", "x"), ("a", "v", "y"), ("b", "u", "x")]


@pytest.mark.parametrize(
    "content",
    [
        HEADER + BODY,
        (HEADER + BODY).replace("\n", "\r\n"),
        (HEADER + BODY).replace("\n", "\r"),
        (HEADER + BODY).rstrip("\n"),
        HEADER + BODY + "\n\n",
        HEADER + "\n" + BODY.replace("\na", "\n\na"),
        b"\xef\xbb\xbf" + (HEADER + BODY).encode(),
        b"\xef\xbb\xbf" + ('"item","annotator","label"\n' + BODY).encode(),
        'item,"annotator",label\n"a","u",x\na,v,"y"\nb,u,x\n',
        " item ,Annotator_ID, LABEL\n" + BODY,
        "when,item,annotator,label,note\n" + BODY.replace("a,", "1,a,").replace("b,", "2,b,")
        .replace("\n", ',"n\n2"\n'),
    ],
    ids=[
        "plain", "crlf", "cr", "no final newline", "blank lines at the end", "blank lines",
        "byte order mark", "mark and quotes", "quotes", "odd header", "line breaks in others",
    ],
)  # fmt: skip
def test_the_same_table_in_many_hands(content, tmp_path):
    assert said(read(tmp_path, content)) == WANTED


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig", "latin-1", "cp1252"])
def test_other_encodings_are_read_when_named(encoding, tmp_path):
    content = (HEADER + "é,ü,ça\n").encode(encoding)
    assert said(read(tmp_path, content, encoding=encoding)) == [("é", "ü", "ça")]


def test_an_encoding_that_is_wrong_or_unknown_is_told(tmp_path):
    content = (HEADER + "a,u,ok\nb,u,caf\xe9\n").encode("latin-1")
    with pytest.raises(DataError, match=r"labels.csv, line 3: byte 0xe9 is not utf-8.*encoding="):
        read(tmp_path, content)
    assert said(read(tmp_path, content, encoding="latin-1"))[1] == ("b", "u", "café")
    with pytest.raises(DataError, match="no encoding is called 'klingon'"):
        read(tmp_path, content, encoding="klingon")


@pytest.mark.parametrize("padding", [0, 20_000], ids=["near", "far"])
def test_bytes_of_a_column_that_nobody_needs_do_no_harm(padding, tmp_path):
    rows = "".join(f"i{n},u,x,ok\n" for n in range(padding // 10))
    content = f"item,annotator,label,note\n{rows}b,u,x,caf\xe9\n".encode("latin-1")
    assert read(tmp_path, content).n_annotations == padding // 10 + 1
    again = content.replace(b"b,u", b"b,v,y,ok\nb,u", 1)
    assert read(tmp_path, again).n_annotations == padding // 10 + 2


def test_a_line_break_in_a_name_is_part_of_the_name(tmp_path):
    ann = read(tmp_path, HEADER + '"a\nb",u,x\n"c\r\nd",u,"y\n"\n')
    assert ann.items.tolist() == ["a\nb", "c\r\nd"]
    assert ann.classes.tolist() == ["x", "y\n"]


def test_a_column_name_may_hold_a_line_break(tmp_path):
    ann = read(tmp_path, '"my\nitem",annotator,label\n1,2,3\n')
    assert said(ann) == [(1, 2, 3)]


@pytest.mark.parametrize("length", [200_000, 3_000_000])
@pytest.mark.parametrize("quote", ["", '"'])
def test_very_long_cells_are_read_whole(length, quote, tmp_path):
    before = csv.field_size_limit()
    long = "word, " * (length // 6) if quote else "w" * length
    ann = read(tmp_path, HEADER + f"{quote}{long}{quote},u,x\nb,u,y\n")
    assert ann.items.tolist() == ["b", long]
    assert csv.field_size_limit() == before


def test_a_quote_in_the_middle_of_a_cell_is_a_letter(tmp_path):
    assert read(tmp_path, HEADER + '5" screen,u,x\nb,u,y\n').items.tolist() == ['5" screen', "b"]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("a,u,x\na,v,\n", "line 3"),
        ("a,u,x\r\na,v,\r\n", "line 3"),
        ('a,u,x\n"a",v,\n', "line 3"),
        ("a,u,x\na,v,\n\n\n", "line 3"),
        ("a,u,x\n\na,v,\n", "row 2"),
        ('"a\nb",u,x\na,v,\n', "row 2"),
    ],
    ids=["plain", "crlf", "quoted", "blank at the end", "blank line before", "line break before"],
)
def test_the_place_of_a_blank_label_is_where_an_editor_shows_it(body, where, tmp_path):
    with pytest.raises(DataError, match=rf"labels\.csv, {where}: the label is blank"):
        read(tmp_path, HEADER + body)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        (HEADER, "has a header line and no rows"),
        (HEADER + "\n\n", "has a header line and no rows"),
        ("\n" + HEADER + BODY, "line 1: no column names"),
        (HEADER + "a,u,x\na,v\n", "line 3: 2 cells where the header has 3; the file may be cut"),
        (HEADER + "a,u,x\na,v,x,y\n", "line 3: 4 cells where the header has 3$"),
        (HEADER + "1,2,3\n4,5\n", "line 3: 2 cells"),
        (HEADER + 'a,u,x\n"a,v,x\nb,u,x\n', "line 3: a quote is opened and never closed"),
        (HEADER + 'a,u,x\na,v,"ca', "line 3: a quote is opened and never closed"),
        (HEADER + "a,u,x\n,v,x\n", "line 3: the item is blank"),
        (HEADER + "a,u,x\na,  ,x\n", "line 3: the annotator is blank"),
        ("u1,u2,u3,u4\n1,2,3,4\n", "layout='wide'"),
        (b"PK\x03\x04\x14\x00\x00\x00\x08\x00", "not a zip file, or cut short"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "line 1: byte 0x89 is not utf-8 text"),
        (b"\x1f\x8b\x08\x00\x00", "not a gzip file, or cut short"),
    ],
)
def test_a_broken_file_is_told_by_place(content, message, tmp_path):
    with pytest.raises(DataError, match=message) as caught:
        read(tmp_path, content)
    assert str(caught.value).startswith(str(tmp_path / "labels.csv"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mark", [";", "\t", "|", ","])
def test_other_delimiters_are_found(tmp_path, mark):
    for name in ("labels.csv", "labels.tsv"):
        assert said(read(tmp_path, (HEADER + BODY).replace(",", mark), name)) == WANTED


def test_a_format_that_is_unknown_is_told(tmp_path):
    with pytest.raises(DataError, match="neither its name nor its content tells its format"):
        read(tmp_path, "some words and\nmore\n", "labels.dat")
    with pytest.raises(DataError, match="no format 'excel'; known: csv, tsv"):
        read(tmp_path, HEADER + BODY, "labels.xlsx", format="excel")
    assert said(read(tmp_path, HEADER + BODY, "LABELS.CSV")) == WANTED


def test_columns_that_are_given_are_taken(tmp_path):
    content = "item,task,worker,label,answer\n1,2,3,4,5\n"
    with pytest.raises(DataError, match=r"'item' \(first row: '1'\), 'task'"):
        read(tmp_path, content)
    assert said(read(tmp_path, content, item="task", label="answer")) == [(2, 3, 5)]


def test_truth_is_read_by_name_and_told_by_place(tmp_path):
    path = tmp_path / "truth.csv"
    path.write_text("text,item,truth,gold\nt,1,x,q\nt,007,y,q\n")
    assert read_truth(path) == {"1": "x", "007": "y"}
    path.write_text("task_id,label\n1,3\n2,4\n")
    assert read_truth(path) == {1: 3, 2: 4}
    for body, message in [
        ("item,truth\na,x\nb,\n", "line 3: the truth is blank"),
        ("item,truth\na,x\nb,NaN\n", "line 3: the truth is blank"),
        ("item,truth\na,x\n,y\n", "line 3: the item is blank"),
        ("item,truth\na,x\nb,y\na,x\n", "the truth of item 'a' is given more than once"),
        ("item,truth\n", "no rows"),
        ("foo,bar\n1,2\n", "no column looks like the item; name the columns of a truth table"),
        ("item,gold,target\n1,2,3\n", "several columns may be the truth: 'gold', 'target'"),
        ("item,when\n1,2\n", "no column looks like the truth"),
    ]:
        path.write_text(body)
        with pytest.raises(DataError, match=message):
            read_truth(path)


def test_a_late_repeat_in_a_long_truth_table_is_found_in_good_time(tmp_path):
    path = tmp_path / "truth.csv"
    rows = [f"{n},x" for n in range(60_000)]
    path.write_text("item,truth\n" + "\n".join([*rows, "59999,x"]) + "\n")
    with pytest.raises(DataError, match="item 59999 is given more than once"):
        read_truth(path)


def test_a_file_with_one_truth_per_line_is_for_rows(tmp_path):
    path, matrix = tmp_path / "truth.txt", tmp_path / "labels.txt"
    matrix.write_text("1 1 -1\n0 0 1\n1 -1 0\n")
    path.write_text("1\n\n0\n\n")
    found = read_truth(path)
    assert (found, found.n_items) == ({0: 1, 2: 0}, 3)
    consensus = mh.aggregate(read_annotations(matrix), method="majority")
    assert consensus.score(found).n_items == 2
    np.save(tmp_path / "truth.npy", np.array([1, 0, 0]))
    assert read_truth(tmp_path / "truth.npy") == {0: 1, 1: 0, 2: 0}
    path.write_text("tall building, inside\nforest\n")
    assert read_truth(path) == {0: "tall building, inside", 1: "forest"}
    with pytest.raises(DataError, match=r"truth.txt: 2 truths in a list, and there are 3 items"):
        consensus.score(read_truth(path))
    path.write_text("item\ttruth\n7\tx\n")
    assert read_truth(path) == {7: "x"}
    for body, message in [("1 0\n0 1\n", "line 1: 2 numbers where one truth"), ("", "is empty")]:
        path.write_text(body)
        with pytest.raises(DataError, match=message):
            read_truth(path)
    np.save(tmp_path / "truth.npy", np.zeros((2, 2)))
    with pytest.raises(DataError, match="an array with one dimension"):
        read_truth(tmp_path / "truth.npy")
