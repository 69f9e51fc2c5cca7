"""Tables that are empty, bombs, ambiguous or broken: read right, or refused in one line."""

import decimal
import io
import json
import struct
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import manyhands as mh
from manyhands.core.errors import DataError
from manyhands.io.tables import Table

ROWS = {"item": ["a", "a", "b"], "annotator": ["u", "v", "u"], "label": ["x", "x", "y"]}
HEADER = "item,annotator,label"
CSV = HEADER + "\na,u,x\na,v,x\nb,u,y\n"


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(path, text, read=mh.read):
    with pytest.raises(DataError, match=text) as error:
        read(path)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(str(path))
    assert str(error.value).count(str(path)) == 1


def parquet(path, **columns):
    pq.write_table(pa.table(ROWS | columns), path)
    return path


# Parquet


def test_parquet_without_columns_or_rows(tmp_path):
    path = tmp_path / "labels.parquet"
    pq.write_table(pa.table({}), path)
    refused(path, "has no columns")
    refused(path, "has no columns", mh.read_features)
    refused(path, "has no columns", mh.read_truth)
    pq.write_table(pa.table(ROWS).slice(0, 0), path)
    refused(path, "has columns and no rows")


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(1)], ids=str)
def test_bytes_that_are_text_are_text(kind, tmp_path):
    cells = pa.array([b"x", b"x", b"y"], kind)
    path = parquet(tmp_path / "labels.parquet", label=cells)
    assert mh.read(path).classes.tolist() == ["x", "y"]
    mh.io.copy_table(path, tmp_path / "labels.csv")
    assert (tmp_path / "labels.csv").read_text().replace('"', "") == CSV
    path = parquet(tmp_path / "labels.parquet", label=cells.dictionary_encode())
    assert mh.read(path).classes.tolist() == ["x", "y"]


@pytest.mark.parametrize("role", ["item", "label"])
def test_bytes_that_are_no_text_are_refused_with_their_column(role, tmp_path):
    path = parquet(tmp_path / "labels.parquet", **{role: [b"\xff\xd8", b"x", b"y"]})
    refused(path, f"the column '{role}' holds bytes that are not UTF-8")


def test_a_picture_beside_the_labels_is_left_alone(tmp_path):
    path = parquet(tmp_path / "labels.parquet", thumbnail=[b"\xff\xd8", b"\xff", b"\xfe"])
    assert mh.read(path).classes.tolist() == ["x", "y"]


def test_other_types_of_cells(tmp_path):
    path = parquet(tmp_path / "labels.parquet", label=[decimal.Decimal("1.5")] * 3)
    assert mh.read(path).label.tolist() == [1.5] * 3
    refused(parquet(path, label=[["x"], ["x"], ["y"]]), "list")
    refused(parquet(path, item=[{"a": 1}] * 3), "struct")
    columns = [pa.array(cells) for cells in (*ROWS.values(), ROWS["label"])]
    pq.write_table(pa.Table.from_arrays(columns, names=[*ROWS, "label"]), path)
    refused(path, "'label' appears more than once")


@pytest.mark.parametrize("repeated", ["rows", "texts", "cells"])
def test_a_small_file_that_would_fill_memory_is_refused(repeated, tmp_path, monkeypatch):
    monkeypatch.setattr("manyhands.io.packed.MAX_UNPACKED", 1 << 20)
    monkeypatch.setattr("manyhands.io.packed.MAX_RATIO", 1)
    n = 100_000 if repeated == "rows" else 5_000
    codes = pa.array(np.zeros(n, dtype=np.int32))
    cell = "x" * (100 if repeated == "rows" else 2_000)
    column = pa.DictionaryArray.from_arrays(codes, [cell]).cast(pa.string())
    path = tmp_path / "labels.parquet"
    table = pa.table(dict.fromkeys(ROWS, column))
    pq.write_table(table, path, compression="zstd", use_dictionary=repeated != "cells")
    assert path.stat().st_size < 100_000
    before = pa.default_memory_pool().bytes_allocated()
    refused(path, r"would unpack to about [0-9.]+ MiB, and at most 1 MiB")
    refused(path, "would unpack", mh.read_features)
    assert pa.default_memory_pool().bytes_allocated() - before < 1 << 20


def test_a_footer_that_lies_is_refused(tmp_path):
    good = parquet(tmp_path / "labels.parquet").read_bytes()
    size = struct.unpack("<I", good[-8:-4])[0]
    cut = good[: -8 - size // 2] + good[-8:]
    for content in (good[:-8] + struct.pack("<I", 1 << 31) + b"PAR1", cut, b"PAR1PAR1"):
        refused(written(tmp_path / "labels.parquet", content), "not a Parquet file, or cut short")


# JSON


def lines(**changes):
    rows = [
        dict(zip(ROWS, cells, strict=True)) | changes for cells in zip(*ROWS.values(), strict=True)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{}\n{}\n", "has no columns"),
        (lines() + '{"item":"c","annotator":"u","label":"x","label":"y"}', "line 4: 'label' is na"),
        (lines(label="@").replace('"@"', "1" * 5000), "line 1: a number has too many digits"),
        (lines(item="@").replace('"@"', "1" * 5000), "line 1: a number has too many digits"),
        (lines(item="@").replace('"@"', "1e999"), "an item is a number that is too large"),
        (lines(label="@").replace('"@"', "[" * 500 + "]" * 500), "line 1: .* nested too deep"),
        (lines(label="@").replace('"@"', "[" * 10**5), "line 1: .* nested too deep|not JSON"),
        (lines(label="\ud800"), "is not text"),
        (lines(**{"\ud800": 1}), "is not text"),
        ("\ufeff", "the file is empty"),
    ],
    ids=range(10),
)  # fmt: skip
def test_json_lines_that_are_not_clear_are_refused(content, text, tmp_path):
    refused(written(tmp_path / "labels.jsonl", content), text)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('{"a": {"u": 1, "u": 2}}', "'u' is named twice"),
        ('{"a": {"u": %s}}' % ("1" * 5000), "a number has too many digits"),
        ("[" * 10**5 + "]" * 10**5, "nested too deep"),
        ("[" * 500 + "]" * 500, "nested too deep"),
        ('[{"item": 1, "annotator": 2, "label": %s}]' % ("[" * 500 + "]" * 500), "nested too deep"),
        ("[{}, {}]", "has no columns|has no records|no column"),
        ('{"\\ud800": {"u": "x"}}', "half of a UTF-16 pair"),
    ],
    ids=range(7),
)
def test_json_that_is_not_clear_is_refused(content, text, tmp_path):
    refused(written(tmp_path / "labels.json", content), text)


def test_nan_is_no_cell_and_converts(tmp_path):
    path = written(tmp_path / "labels.jsonl", lines(time=float("nan")) + lines(time=1.5))
    mh.io.copy_table(path, tmp_path / "labels.csv")
    assert [line.split(",")[3] for line in (tmp_path / "labels.csv").read_text().split()] == [
        "time", *[""] * 3, *["1.5"] * 3,
    ]  # fmt: skip


# CSV


def test_a_header_longer_than_a_block_is_read(tmp_path):
    more = ",".join(f"column_{place}" for place in range(150_000))
    path = written(tmp_path / "labels.csv", f"{HEADER},{more}\na,u,x{',1' * 150_000}\n")
    assert len(path.read_text().splitlines()[0]) > 1 << 20
    assert Table(path, "csv").select(["label"])["label"].to_pylist() == ["x"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (HEADER, "has a header line and no rows"),
        (HEADER + "\n", "has a header line and no rows"),
        ("\n" * 1000, "no column names"),
        (b"\xef\xbb\xbf", "no column names"),
        (CSV.encode("utf-16"), "line 1: byte 0xff is not utf-8 .*encoding="),
        (CSV.encode("utf-16-le"), "not a text table.*encoding='utf-16'"),
        (CSV + 'c,"u,x\n', "line 5: a quote is opened and never closed"),
        (CSV.encode() + b"c,\xed\xa0\x80,x\n", "line 5: byte 0xed is not utf-8"),
        (HEADER + "," + "n" * 2_000_000 + "\na,u,x,1\n", "column 4 has 2000000 characters"),
    ],
    ids=range(9),
)
def test_csv_that_is_no_table_is_refused(content, text, tmp_path):
    refused(written(tmp_path / "labels.csv", content), text)


def test_marks_of_files_and_ends_of_lines_are_no_data(tmp_path):
    mixed = HEADER + "\r\na,u,x\na,v,x\rb,u,y\r\n"
    for content in (b"\xef\xbb\xbf" + CSV.encode(), mixed.encode()):
        ann = mh.read(written(tmp_path / "labels.csv", content))
        assert ann.items.tolist() == ["a", "b"]
        assert ann.classes.tolist() == ["x", "y"]
    assert mh.read(tmp_path / "labels.csv", encoding="utf-8").n_annotations == 3


def test_a_line_of_more_columns_than_any_crowd_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("manyhands.io.texts.MAX_COLUMNS", 100)
    for name, cell in (("m.txt", "1 "), ("m.bio", "O "), ("m.csv", "x,")):
        refused(written(tmp_path / name, f"{cell * 101}\n" * 2), "has 10[12] columns, and at most")
    vectors = written(tmp_path / "vectors.txt", "word" + " 1" * 101)
    refused(vectors, "has 101 columns", mh.io.read_word_vectors)


def test_a_text_file_with_a_mark_only_is_empty(tmp_path):
    refused(written(tmp_path / "labels.txt", b"\xef\xbb\xbf"), "the file is empty")


# workbooks and archives


def workbook(path, change):
    book = openpyxl.Workbook()
    for row in CSV.splitlines():
        book.active.append(row.split(","))
    content = io.BytesIO()
    book.save(content)
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name).decode()))
    return path


def sheet_with(row):
    def change(name, text):
        return text.replace("</sheetData>", row + "</sheetData>") if "sheet1" in name else text

    return change


@pytest.mark.parametrize(
    "change",
    [
        sheet_with('<row r="5"><c r="A5" t="s"><v>999</v></c></row>'),
        sheet_with('<row r="5"><c r="A5"><v>abc</v></c></row>'),
        lambda name, text: text[: len(text) // 2] if "sheet1" in name else text,
        lambda name, text: "<a/>" if name.endswith("workbook.xml") else text,
    ],
    ids=range(4),
)
def test_a_broken_workbook_is_refused(change, tmp_path):
    refused(workbook(tmp_path / "labels.xlsx", change), "not a workbook|not an Excel|no sheet")


def test_a_cell_far_away_does_not_fill_memory(tmp_path, monkeypatch):
    far = '<row r="9000"><c r="XFD9000"><v>1</v></c></row>'
    path = workbook(tmp_path / "labels.xlsx", sheet_with(far))
    refused(path, "no column looks like|blank|no column names|differ|cells|row")
    monkeypatch.setattr("manyhands.io.sheets._MAX_CELLS", 10_000)
    refused(path, "has more than 10000 cells")
    monkeypatch.setattr("manyhands.io.sheets._MAX_ROWS", 1_000)
    refused(path, "has more than 1000 rows")


def test_two_members_of_one_name_are_refused(tmp_path):
    path = tmp_path / "labels.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("labels.csv", CSV)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("labels.csv", CSV)
    refused(path, "holds two files 'labels.csv'")


def test_a_link_to_itself_is_refused(tmp_path):
    (tmp_path / "labels.csv").symlink_to(tmp_path / "labels.csv")
    with pytest.raises((DataError, OSError), match=r"no such file|symbolic links"):
        mh.read([tmp_path / "labels.csv"])


def test_a_name_that_is_no_name_is_refused(tmp_path):
    for name in ("a\x00b.csv", "\ud800.csv"):
        for use in (mh.read, mh.read_features, mh.read_truth, mh.io.make_folder):
            with pytest.raises(DataError, match="no file is called so"):
                use(name)
        with pytest.raises(DataError, match="no file is called so"):
            mh.io.write_table({"a": np.arange(2)}, name)
