"""Packed files, workbooks, standard input and several files are read as one plain file is."""

import bz2
import gc
import gzip
import io
import json
import lzma
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import manyhands as mh
from manyhands.core.errors import DataError, SettingError
from manyhands.io import packed
from manyhands.io.content import suffix_by_content

HEADER = "item,annotator,label\n"
ROWS = ["007,ann,cat", "007,ben,dog", "008,ann,cat", "008,ben,cat"]
TABLE = HEADER + "\n".join(ROWS) + "\n"
RECORDS = [dict(zip(("item", "annotator", "label"), row.split(","), strict=True)) for row in ROWS]
LINES = "".join(json.dumps(record) + "\n" for record in RECORDS)
TOKENS = "Anna\tB-PER\tB-PER\nsang\tO\tO\n\nBen\tB-PER\tO\nran\tO\tO\n"


def said(ann):
    """The labels as (item, annotator, label)."""
    columns = [column.tolist() for column in ann.to_columns().values()]
    return sorted(zip(*columns, strict=True))


WANTED = sorted(tuple(row.split(",")) for row in ROWS)


def packed_as(packing, content):
    if packing == "zst":
        return pa.Codec("zstd").compress(content, asbytes=True)
    return {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[packing](content)


def zipped(path, **files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), content)
    return path


def workbook(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """The folder of temporary files, which must be empty when the test is over."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    monkeypatch.undo()
    if list(folder.iterdir()):  # of a file object in a cycle, which is collected at some time
        gc.collect()
    assert list(folder.iterdir()) == []
    folder.rmdir()


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz", "zst"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("labels.csv", TABLE),
        ("labels.tsv", TABLE.replace(",", "\t")),
        ("labels.jsonl", LINES),
        ("labels.json", json.dumps(RECORDS)),
    ],
)
def test_packed_files_are_read(tmp_path, packing, name, content):
    path = tmp_path / f"{name}.{packing}"
    path.write_bytes(packed_as(packing, content.encode()))
    ann = mh.read(path)
    assert said(ann) == WANTED
    assert ann.source.path == str(path)
    assert ann.source.notes[0].startswith("unpacked (")


def test_the_content_tells_how_a_file_is_packed(tmp_path):
    plain, hidden = tmp_path / "labels.csv.gz", tmp_path / "labels.csv"
    plain.write_text(TABLE)  # some programs unpack and keep the name
    assert said(mh.read(plain)) == WANTED
    hidden.write_bytes(gzip.compress(TABLE.encode()))
    assert said(mh.read(hidden)) == WANTED


def test_errors_about_packed_files_name_the_file_and_the_line(tmp_path):
    path = tmp_path / "labels.csv.gz"
    path.write_bytes(gzip.compress((HEADER + "1,ann,cat\n2,ann,\n").encode()))
    with pytest.raises(DataError) as caught:
        mh.read(path)
    assert str(caught.value).startswith(f"{path}, line 3: the label is blank")
    path.write_bytes(gzip.compress((HEADER + "1,ann\n").encode()))
    with pytest.raises(DataError, match=r"labels\.csv\.gz, line 2: 2 cells where the header has 3"):
        mh.read(path)


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz", "zst"])
def test_a_file_that_is_cut_short_is_told(tmp_path, packing):
    path = tmp_path / f"labels.csv.{packing}"
    path.write_bytes(packed_as(packing, TABLE.encode() * 50)[:-9])
    with pytest.raises(DataError, match=f"labels.csv.{packing}: not a .* file, or cut short"):
        mh.read(path)


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz", "zst", "zip"])
def test_no_file_is_unpacked_beyond_the_bound(tmp_path, packing, monkeypatch, temporary):
    monkeypatch.setattr(packed, "MAX_UNPACKED", 1 << 20)
    path = tmp_path / f"labels.csv.{packing}"
    content = bytes(5 << 20)
    if packing == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("labels.csv", content)
    else:
        path.write_bytes(packed_as(packing, content))
    with pytest.raises(DataError, match=r"would unpack to about .* and at most 1 MiB are"):
        mh.read(path)
    assert list(temporary.iterdir()) == []


def test_the_bound_is_that_of_all_files_of_an_archive(tmp_path, monkeypatch):
    monkeypatch.setattr(packed, "MAX_UNPACKED", 1 << 20)
    inner = gzip.compress(bytes(900_000))
    path = zipped(tmp_path / "labels.zip", a__csv__gz=inner, b__csv__gz=inner)
    with pytest.raises(DataError, match=r"labels\.zip \(b\.csv\.gz\): would unpack to about"):
        mh.read(path)


def test_a_zip_of_one_file_is_that_file(tmp_path):
    extra = {"__MACOSX/._labels__csv": "x", ".DS_Store": "x"}
    path = zipped(tmp_path / "labels.zip", **{"export/labels__csv": TABLE} | extra)
    ann = mh.read(path)
    assert said(ann) == WANTED
    assert ann.source.notes == ("unpacked export/labels.csv (zip)",)
    zipped(path, labels__csv=HEADER + "1,ann,\n")
    with pytest.raises(DataError) as caught:
        mh.read(path)
    assert str(caught.value).startswith(f"{path}, line 2: the label is blank")


def test_a_zip_of_several_files_is_read_as_several(tmp_path):
    path = tmp_path / "labels.zip"
    zipped(path, a__csv=HEADER + ROWS[0] + "\n" + ROWS[1], b__csv=HEADER + "\n".join(ROWS[2:]))
    ann = mh.read(path)
    assert said(ann) == WANTED
    assert ann.source.files == (f"{path} (a.csv)", f"{path} (b.csv)")
    zipped(path, a__csv=TABLE, b__csv=HEADER + "1,ann,cat\n2,ann,\n")
    with pytest.raises(DataError, match=r"labels\.zip \(b\.csv\), line 3: the label is blank"):
        mh.read(path)
    inner = gzip.compress((HEADER + "\n".join(ROWS[2:])).encode())
    zipped(path, a__csv__gz=gzip.compress((HEADER + "\n".join(ROWS[:2])).encode()), b__csv=inner)
    assert said(mh.read(path)) == WANTED


def test_archives_that_are_not_files_of_labels_are_refused(tmp_path):
    path = zipped(tmp_path / "all.zip", labels__csv=TABLE, other__json="{}")
    with pytest.raises(DataError, match=r"several formats \(labels\.csv, other\.json\)"):
        mh.read(path)
    with pytest.raises(DataError, match="the zip archive holds no file"):
        mh.read(zipped(tmp_path / "none.zip"))
    with pytest.raises(DataError, match=r"holds 2 files \(a\.csv, b\.csv"):
        mh.read_truth(zipped(path, a__csv=TABLE, b__csv=TABLE))
    tar = bytearray(1024)
    tar[257:262] = b"ustar"
    (tmp_path / "labels.tar.gz").write_bytes(gzip.compress(bytes(tar)))
    with pytest.raises(DataError, match="is a tar archive; unpack it"):
        mh.read(tmp_path / "labels.tar.gz")


def test_names_in_an_archive_are_never_used_as_paths(tmp_path):
    path = zipped(tmp_path / "labels.zip", **{"../../evil__csv": TABLE})
    before = sorted(tmp_path.rglob("*"))
    assert said(mh.read(path)) == WANTED
    gc.collect()
    assert sorted(tmp_path.rglob("*")) == before


def doccano(labels):
    return "\n".join(
        json.dumps({"id": n, "text": f"text {n}", "label": [label]})
        for n, label in enumerate(labels)
    )


def test_files_of_a_doccano_zip_are_annotators(tmp_path):
    files = {"ann__jsonl": doccano("xyx"), "john.doe__jsonl": doccano("xxy")}
    path = zipped(tmp_path / "project.zip", **files)
    ann = mh.read(path)
    assert ann.annotators.tolist() == ["ann", "john.doe"]
    assert ann.to_dense(missing="").tolist() == [["x", "x"], ["y", "x"], ["x", "y"]]
    for name, content in files.items():
        (tmp_path / name.replace("__", ".")).write_text(content)
    assert said(mh.read(tmp_path / "*.jsonl")) == said(ann)
    assert mh.read(zipped(path, ann__jsonl=doccano("xy"))).annotators.tolist() == ["ann"]
    with pytest.raises(DataError, match=r"project\.zip: the users of this doccano project share"):
        mh.read(zipped(path, all__jsonl=doccano("xyx")))


def label_studio(*tasks):
    return json.dumps([
        {"id": task, "data": {"text": text}, "annotations": [
            {"id": 10 * task, "completed_by": who, "result": [
                {"from_name": "c", "to_name": "t", "type": "choices",
                 "value": {"choices": [label]}}]}]}
        for task, text, who, label in tasks
    ])  # fmt: skip


def test_several_exports_of_a_tool_are_joined(tmp_path):
    (tmp_path / "a.json").write_text(label_studio((1, "good", 5, "pos"), (2, "bad", 5, "neg")))
    (tmp_path / "b.json").write_text(label_studio((1, "good", 6, "pos")))
    ann = mh.read(tmp_path / "?.json")
    assert said(ann) == [(1, 5, "pos"), (1, 6, "pos"), (2, 5, "neg")]
    assert ann.source.layout == "label-studio"
    (tmp_path / "b.json").write_text(label_studio((1, "another project", 6, "pos")))
    with pytest.raises(DataError, match=r"b\.json: the item 1 has other data than in a file"):
        mh.read(tmp_path / "?.json")
    (tmp_path / "b.json").write_text(json.dumps(RECORDS))
    with pytest.raises(DataError, match=r"b\.json: is no export of a tool, and another"):
        mh.read(tmp_path / "?.json")


def sheet_rows(*rows):
    return [["item", "annotator", "label", "when"], *rows]


def test_a_sheet_is_read_as_a_table(tmp_path):
    day = pd.Timestamp("2026-01-05").to_pydatetime()
    rows = sheet_rows(["007", "ann", 1, day], ["007", "ben", 2.0, day], [], ["12", "ann", 2, None])
    path = workbook(tmp_path / "labels.xlsx", Labels=[[], *rows], Empty=[])
    ann = mh.read(path)
    assert said(ann) == [("007", "ann", 1), ("007", "ben", 2), ("12", "ann", 2)]
    assert ann.source.notes[0] == "read the sheet 'Labels'; its row 2 is line 1"
    assert said(mh.read(path, label="when", missing="", kind="classes")) == [
        ("007", "ann", "2026-01-05"), ("007", "ben", "2026-01-05"),
    ]  # fmt: skip
    assert said(mh.read(path, encoding="utf-16")) == said(ann)  # that of text files


def test_cells_of_a_sheet_keep_what_they_say(tmp_path):
    noon = pd.Timestamp("2026-01-05 12:30").to_pydatetime()
    cells = ["café, au lait", 'a "quote"', "two\nlines", 3.0, 2.5, 12345678901234, True, noon]
    rows = [["item", "truth"], *([n, cell] for n, cell in enumerate(cells))]
    path = workbook(tmp_path / "truth.xlsx", Truth=rows)
    assert [str(cell) for cell in mh.read_truth(path).values()] == [
        "café, au lait", 'a "quote"', "two\nlines", "3", "2.5", "12345678901234", "TRUE",
        "2026-01-05 12:30:00",
    ]  # fmt: skip


def test_one_of_several_sheets_must_be_named(tmp_path):
    first, second = sheet_rows(["1", "ann", "x", ""]), sheet_rows(["2", "ann", "y", ""])
    path = workbook(tmp_path / "labels.xlsx", First=first, Second=second)
    with pytest.raises(DataError, match=r"several sheets have content: First, Second; .*sheet='F"):
        mh.read(path)
    assert said(mh.read(path, sheet="Second")) == [(2, "ann", "y")]
    with pytest.raises(DataError, match="no sheet 'second'; did you mean Second"):
        mh.read(path, sheet="second")
    with pytest.raises(DataError, match="no sheet has content"):
        mh.read(workbook(path, First=[], Second=[]))
    (tmp_path / "labels.csv").write_text(TABLE)
    with pytest.raises(DataError, match="is no Excel workbook, and has no sheet 'First'"):
        mh.read(tmp_path / "labels.csv", sheet="First")
    with pytest.raises(DataError, match=r"is no Excel workbook \(\.xlsx\)"):
        mh.read(tmp_path / "labels.csv", format="xlsx")


def test_a_formula_without_a_saved_value_is_told(tmp_path):
    path = workbook(tmp_path / "labels.xlsx", A=[["item", "annotator", "label"], [1, "u", "=1+1"]])
    with pytest.raises(DataError, match="sheet 'A', row 2, column 3: the formula has no saved"):
        mh.read(path)


def test_old_and_broken_workbooks_are_refused(tmp_path):
    path = tmp_path / "labels.xls"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with pytest.raises(DataError, match=r"an old Excel file \(\.xls\).*save it as \.xlsx or \.csv"):
        mh.read(path)
    zipped(path, **{"xl/workbook__xml": "<broken", "[Content_Types]__xml": "<broken"})
    with pytest.raises(DataError, match=r"labels\.xls: not a workbook, or cut short"):
        mh.read(path)


def test_a_workbook_of_a_tool_is_recognised(tmp_path):
    rows = [
        ["HITId", "WorkerId", "AssignmentStatus", "Input.text", "Answer.category"],
        ["H1", "W1", "Approved", "a b", "cat"],
        ["H1", "W2", "Rejected", "a b", "dog"],
    ]
    ann = mh.read(workbook(tmp_path / "results.xlsx", Results=rows))
    assert said(ann) == [("H1", "W1", "cat")]
    assert ann.source.layout == "mturk"


def matrix():
    stream = io.BytesIO()
    np.save(stream, np.array([[0, 1], [1, 1]]))
    return stream.getvalue()


def parquet():
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(RECORDS), stream)
    return stream.getvalue()


CONTENTS = {
    ".csv": TABLE.encode(),
    ".tsv": TABLE.replace(",", "\t").encode(),
    ".jsonl": LINES.encode(),
    ".json": json.dumps(RECORDS, indent=2).encode(),
    ".parquet": parquet(),
    ".conll": TOKENS.encode(),
    ".txt": b"0 1 -1\n1 1 0\n",
    ".npy": matrix(),
}


@pytest.mark.parametrize(("suffix", "content"), CONTENTS.items(), ids=CONTENTS)
def test_the_format_of_standard_input_is_that_of_its_content(tmp_path, pipe, suffix, content):
    path = tmp_path / f"labels{suffix}"
    path.write_bytes(content)
    wanted, bare = mh.read(path), tmp_path / "labels"
    wanted = getattr(wanted, "annotations", wanted)
    bare.write_bytes(content)
    for given in (content, gzip.compress(content)):
        pipe(given)
        found = mh.read("-")
        assert said(getattr(found, "annotations", found)) == said(wanted)
    found = mh.read(bare)
    assert said(getattr(found, "annotations", found)) == said(wanted)


@pytest.mark.parametrize(
    ("content", "suffix"),
    [
        (b'{"a": {"u": 1}, "b": {"u": 2}}', ".json"),
        (b'{"item": 1, "label": "x"}', ".jsonl"),
        (b'\xef\xbb\xbf{\n "a": {"u": 1}}', ".json"),
        (b"item;annotator;label\n1;u;x\n", ".csv"),
        ("item\tlabel\n1\tx\n".encode("utf-16"), ".tsv"),
        (b"Anna B-PER ?\nsang O O\n", ".conll"),
        (b"0 1 ?\n1 -1 2.5\n", ".txt"),
        (b"B-PER B-PER\nO O\n", None),
        (b"item annotator label\n1 u x\n", None),
        (b"one\ntwo\n", None),
        (b"\x00\x01\x02", None),
        (b"", None),
    ],
)
def test_content_tells_a_format_or_nothing(content, suffix):
    assert suffix_by_content(content, whole=True) == suffix


def test_standard_input_is_read_once_and_named(pipe):
    pipe(TABLE)
    assert said(mh.read("-")) == said(mh.read("/dev/stdin")) == WANTED
    assert mh.read("-").source.path == "standard input"
    pipe(HEADER + "1,ann,\n")
    with pytest.raises(DataError, match=r"^standard input, line 2: the label is blank"):
        mh.read("-")
    pipe("")
    with pytest.raises(DataError, match=r"^standard input: is empty"):
        mh.read("-")
    pipe("hello\nthere\n")
    with pytest.raises(DataError, match=r"^standard input: neither.* give it with format=\.\.\."):
        mh.read("-")
    pipe("hello\nthere\n")
    with pytest.raises(DataError, match=r"^standard input: no column looks like the item"):
        mh.read("-", format="csv")


@pytest.fixture
def folder(tmp_path):
    """A folder with a table in two files."""
    made = tmp_path / "labels"
    made.mkdir()
    (made / "a.csv").write_text(HEADER + "\n".join(ROWS[:3]) + "\n")
    (made / "b.csv").write_text(HEADER + ROWS[3] + "\n")
    return made


def test_several_files_are_one_table(folder):
    files = [folder / "a.csv", folder / "b.csv"]
    for given in (files, tuple(map(str, files)), str(folder / "*.csv"), folder, f"{folder}/[ab].*"):
        ann = mh.read(given)
        assert said(ann) == WANTED
        assert ann.source.path == f"{files[0]}, {files[1]}"
        assert ann.source.as_dict()["files"] == [str(file) for file in files]
        assert ann.source.notes[0] == f"read 2 files: {files[0]}, {files[1]}"
    assert said(mh.read_annotations(files)) == WANTED
    assert mh.checks.check_file(folder).summary["rows"] == 4


def test_errors_about_several_files_name_the_file_and_its_line(folder):
    (folder / "b.csv").write_text(HEADER + "008,ben,cat\n009,ann,\n")
    with pytest.raises(DataError) as caught:
        mh.read(folder)
    assert str(caught.value).startswith(f"{folder / 'b.csv'}, line 3: the label is blank")
    (folder / "b.csv").write_text(HEADER + "008,ben,7\n")
    with pytest.raises(DataError, match=r"b\.csv, line 2: the label '7' is a number"):
        mh.read(folder)
    (folder / "b.csv").write_text("item,annotator,answer\n008,ben,cat\n")
    message = r"b\.csv: other columns than .*a\.csv: no 'label', and 'answer' besides"
    with pytest.raises(DataError, match=message):
        mh.read(folder)
    (folder / "b.csv").write_text("label,item,annotator\ncat,008,ben\n")
    assert said(mh.read(folder)) == WANTED  # in another order


def test_duplicates_are_those_of_one_table(folder):
    (folder / "b.csv").write_text(HEADER + ROWS[3] + "\n" + ROWS[0].replace("cat", "dog") + "\n")
    assert mh.read(folder).n_annotations == 5
    assert said(mh.read(folder, duplicates="first")) == WANTED
    with pytest.raises(DataError):
        mh.read(folder, duplicates="refuse")


def test_types_of_several_files_are_decided_together(tmp_path):
    for name, rows in {"a": "1,u,1\n2,u,2\n", "b": "007,u,1.5\n1,w,2\n"}.items():
        (tmp_path / f"{name}.csv").write_text(HEADER + rows)
    ann = mh.read(tmp_path / "*.csv")
    assert ann.kind == "numbers"
    assert sorted(ann.items.tolist()) == ["007", "1", "2"]
    (tmp_path / "a.jsonl").write_text('{"item": 1, "annotator": "u", "label": "x"}\n')
    (tmp_path / "b.jsonl").write_text('{"item": "x1", "annotator": 3, "label": "x"}\n')
    assert said(mh.read(tmp_path / "*.jsonl")) == [("1", "u", "x"), ("x1", "3", "x")]


def test_files_that_cannot_be_joined_are_refused(folder, tmp_path):
    first = folder / "a.csv"
    with pytest.raises(DataError, match=r"a\.csv: is named twice"):
        mh.read([first, folder / ".." / "labels" / "a.csv"])
    with pytest.raises(DataError, match="no file matches"):
        mh.read(folder / "*.tsv")
    with pytest.raises(DataError, match="no file is named"):
        mh.read([])
    (tmp_path / "c.jsonl").write_text(LINES)
    with pytest.raises(DataError, match=r"c\.jsonl: is jsonl, and .*a\.csv is csv"):
        mh.read([first, tmp_path / "c.jsonl"])
    (folder / "notes.txt").write_text("hello")
    with pytest.raises(DataError, match=r"is a folder with files of several formats \(a\.csv, b"):
        mh.read(folder)
    for name in ("x.txt", "y.txt"):
        (tmp_path / name).write_text("0 1\n1 1\n")
    with pytest.raises(DataError, match="a matrix is read from one file; these are 2"):
        mh.read(tmp_path / "?.txt")
    for name in ("x.conll", "y.conll"):
        (tmp_path / name).write_text(TOKENS)
    with pytest.raises(DataError, match="a file of tagged tokens is read from one file"):
        mh.read(tmp_path / "?.conll")


@pytest.mark.parametrize(
    "given", [{"a": {"u": 1}}, pd.DataFrame({"item": [1]}), None, [["a.csv"]], io.BytesIO(b"x")]
)
def test_what_is_no_path_is_told(given):
    with pytest.raises(SettingError, match="path must be a file, a folder, a pattern or a list"):
        mh.read(given)


def test_a_path_may_be_found_while_it_is_read(folder):
    assert said(mh.read(folder.glob("*.csv"))) == WANTED
    with pytest.raises(DataError, match="the name of a file is empty"):
        mh.read("")


def test_tables_with_the_suffix_txt_are_no_matrices(tmp_path):
    path = tmp_path / "labels.txt"
    for mark in (",", "\t", ";"):
        path.write_text(TABLE.replace(",", mark))
        assert said(mh.read(path)) == WANTED
    path.write_text("0,1,1\n1,1,0\n")
    with pytest.raises(DataError, match=r"parted by blanks; give format='csv', and layout='dense'"):
        mh.read(path)
    assert mh.read(path, format="csv", layout="dense").n_annotations == 6


def test_a_file_whose_name_looks_like_a_pattern_is_read(tmp_path):
    path = tmp_path / "labels [1].csv"
    path.write_text(TABLE)
    assert said(mh.read(path)) == WANTED


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "jsonl", "json", "xlsx"])
def test_the_name_of_a_file_may_be_its_annotator(tmp_path, suffix):
    for name, labels in {"ann": ["cat", "cat"], "ben": ["dog", "cat"]}.items():
        records = [{"item": item, "label": label} for item, label in enumerate(labels)]
        text = "item,label\n" + "".join(f"{each['item']},{each['label']}\n" for each in records)
        path = tmp_path / f"{name}.{suffix}"
        if suffix == "xlsx":
            workbook(path, A=[["item", "label"], *(list(each.values()) for each in records)])
            continue
        content = {
            "csv": text, "csv.gz": gzip.compress(text.encode()), "json": json.dumps(records),
            "jsonl": "".join(json.dumps(each) + "\n" for each in records),
        }[suffix]  # fmt: skip
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    pattern = f"{tmp_path}/*.{suffix}"
    ann = mh.read(pattern, annotator="file name")
    assert said(ann) == [(0, "ann", "cat"), (0, "ben", "dog"), (1, "ann", "cat"), (1, "ben", "cat")]
    assert str(ann.source) == "items: item, annotators: file name, labels: label"
    with pytest.raises(DataError, match=r"every file is of one annotator.*annotator='file name'"):
        mh.read(pattern)


def test_wide_tables_and_spans_may_be_several_files(tmp_path):
    (tmp_path / "a.csv").write_text("item,ann,ben\n1,cat,dog\n")
    (tmp_path / "b.csv").write_text("item,ann,ben\n2,cat,cat\n")
    assert mh.read(tmp_path / "*.csv", layout="wide").n_annotations == 4
    header = "document,text,annotator,start,end,label\n"
    (tmp_path / "a.tsv").write_text((header + "d1,Anna sang,u,0,4,PER\n").replace(",", "\t"))
    (tmp_path / "b.tsv").write_text((header + "d2,Ben ran,u,0,3,PER\n").replace(",", "\t"))
    labels = mh.read(tmp_path / "*.tsv")
    assert labels.sentences.names.tolist() == ["d1", "d2"]
    (tmp_path / "b.tsv").write_text((header + "d2,Ben ran,u,0,99,PER\n").replace(",", "\t"))
    with pytest.raises(DataError, match=r"b\.tsv, line 2: the span 0\.\.99"):
        mh.read(tmp_path / "*.tsv")


def test_features_truths_texts_and_tokens_may_be_packed(tmp_path):
    features, truth = tmp_path / "features.csv.xz", tmp_path / "truth.tsv.bz2"
    features.write_bytes(lzma.compress(b"item,x\n1,0.5\n2,1.5\n"))
    truth.write_bytes(bz2.compress(b"item\ttruth\n1\ta\n"))
    assert mh.read_features(features).values.tolist() == [[0.5], [1.5]]
    assert mh.read_truth(truth) == {1: "a"}
    table = workbook(tmp_path / "features.xlsx", X=[["item", "x"], ["a", 0.5]], Y=[["note"]])
    assert mh.read_features(table, sheet="X").names == ["x"]
    array = tmp_path / "array.npy.gz"
    array.write_bytes(gzip.compress(matrix()))
    assert mh.read_features(array).values.shape == (2, 2)
    with (tmp_path / "arrays.npz").open("wb") as stream:
        np.savez(stream, x=np.eye(2))
    assert mh.read_features(tmp_path / "arrays.npz").values.shape == (2, 2)
    tokens = tmp_path / "tokens.conll.gz"
    tokens.write_bytes(gzip.compress(TOKENS.encode()))
    assert mh.read(tokens).sentences.n_tokens == mh.read_conll(tokens).sentences.n_tokens == 4
    with pytest.raises(SettingError, match=r"tokens\.conll\.gz, which has tagged tokens"):
        mh.read(tokens, item="x")


def test_what_is_shown_is_what_was_given(tmp_path):
    path = tmp_path / "labels.csv.gz"
    path.write_bytes(gzip.compress(TABLE.encode()))
    (file,) = mh.io.input_files(path)
    assert str(file) == str(path)
    assert file.suffix == ".csv"
    assert file.title == "labels"
    assert file.read_text() == TABLE
    assert Path(file).exists()
    assert mh.io.input_files(file) == (file,)
