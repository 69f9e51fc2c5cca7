"""What is written is what is read back, whatever the names are."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyhands.annotations import Annotations
from manyhands.core.errors import DataError
from manyhands.io import copy_table, read_annotations, write_annotations, write_table

NASTY = [
    "a,b", 'qu"ote', '"all"', "new\nline", "cr\rx", "crlf\r\nx", "emoji 🙂", "007", "7", " lead",
    "trail ", "é", "e\u0301", "日本語", "tab\tx", "semi;colon", "'single'", "\\back", "#hash", "NA",
    "null", "None", "true", "-", "=1+1", "\u2028x", "x" * 5000, "0x10", "1e5", "\ufeffmark",
]  # fmt: skip
TABLES = ["csv", "tsv", "parquet", "jsonl", "ndjson", "tab", "pq"]


def said(ann):
    """Every annotation by name."""
    return sorted(
        zip(
            map(str, ann.items[ann.item]),
            map(str, ann.annotators[ann.annotator]),
            map(str, ann.label_names().tolist()),
            strict=True,
        )
    )


@pytest.fixture(scope="module")
def nasty():
    people = NASTY[::-1]
    return Annotations.from_arrays(
        NASTY * 2, people + NASTY, [f"{name}!" for name in NASTY + people]
    )


@pytest.mark.parametrize("suffix", [*TABLES, "json"])
def test_names_go_there_and_back_byte_by_byte(nasty, suffix, tmp_path):
    path = tmp_path / f"labels.{suffix}"
    write_annotations(nasty, path)
    back = read_annotations(path)
    assert said(back) == said(nasty)
    assert set(back.items.tolist()) == set(NASTY)
    assert set(back.annotators.tolist()) == set(NASTY)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl"])
def test_a_wide_table_goes_there_and_back(nasty, suffix, tmp_path):
    path = tmp_path / f"labels.{suffix}"
    write_annotations(nasty, path, layout="wide")
    back = read_annotations(path, layout="wide")
    assert said(back) == said(nasty)
    assert back.n_items == len(NASTY)


@pytest.mark.parametrize("suffix", TABLES)
@pytest.mark.parametrize(
    "labels", [[0, 1, 2], [0.1, 2.0, 1e-9], [-5, 10**17, 3]], ids=["codes", "decimals", "large"]
)
def test_numbers_go_there_and_back(suffix, labels, tmp_path):
    path = tmp_path / f"labels.{suffix}"
    ann = Annotations.from_arrays([10, 2, 33], [5, 5, 6], labels)
    write_annotations(ann, path)
    back = read_annotations(path)
    assert back.items.tolist() == [2, 10, 33]
    assert back.items.dtype == np.int64
    assert back.kind == ann.kind
    assert back.label_names().tolist() == ann.label_names().tolist()


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("labels", [[3, 1, 3], [0.5, 2.0, 1.25], [2**55 + 1, 0, 1]])
def test_numbers_in_a_wide_table_go_there_and_back(suffix, labels, tmp_path):
    path = tmp_path / f"labels.{suffix}"
    ann = Annotations.from_arrays([10, 2, 2], [5, 5, 6], labels, items=[10, 2, 7])
    write_annotations(ann, path, layout="wide")
    back = read_annotations(path, layout="wide")
    assert back.items.tolist() == [10, 2, 7]
    assert said(back) == said(ann)


@pytest.mark.parametrize("suffix", ["txt", "npy"])
@pytest.mark.parametrize("labels", [[3, 1, 3], [0.5, 2.0, 1.25], [2**55 + 1, 0, 1]])
def test_a_matrix_goes_there_and_back(suffix, labels, tmp_path):
    path = tmp_path / f"labels.{suffix}"
    ann = Annotations.from_arrays([0, 1, 1], [0, 0, 1], labels, items=range(4))
    write_annotations(ann, path)
    back = read_annotations(path)
    assert said(back) == said(ann)
    assert len(back) == 4


def test_a_matrix_of_words_goes_there_and_back_as_text_only(tmp_path):
    ann = Annotations.from_arrays([0, 1, 1], [0, 0, 1], ["cat", "007", "None"], kind="classes")
    write_annotations(ann, tmp_path / "labels.txt")
    assert said(read_annotations(tmp_path / "labels.txt", kind="classes")) == said(ann)
    with pytest.raises(DataError, match="holds numbers only"):
        write_annotations(ann, tmp_path / "labels.npy")


@pytest.mark.parametrize("label", ["a b", "tab\tx", "new\nline", "hard\u00a0space", "?", "-1"])
def test_a_label_that_a_matrix_cannot_hold_is_refused_and_nothing_is_written(label, tmp_path):
    ann = Annotations.from_arrays([0, 1], [0, 0], [label, "x"], kind="classes")
    with pytest.raises(DataError, match="cannot stand in a matrix"):
        write_annotations(ann, tmp_path / "labels.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("labels", [["?", "x"], [" ? ", "x"], [-1, 1], [-1.0, 0.5]], ids=str)
def test_a_label_that_means_nothing_is_refused_in_a_wide_table(suffix, labels, tmp_path):
    ann = Annotations.from_arrays(["a", "b"], ["u", "u"], labels)
    with pytest.raises(DataError, match="means no label in a wide table"):
        write_annotations(ann, tmp_path / f"labels.{suffix}", layout="wide")
    assert list(tmp_path.iterdir()) == []


def test_a_column_whose_name_holds_nul_is_refused_where_it_cannot_be_read(tmp_path):
    ann = Annotations.from_arrays(["a"], ["u\x00v"], ["x"])
    for suffix in ("csv", "tsv"):
        with pytest.raises(DataError, match="holds NUL"):
            write_annotations(ann, tmp_path / f"labels.{suffix}", layout="wide")
    assert list(tmp_path.iterdir()) == []
    write_annotations(ann, tmp_path / "labels.jsonl", layout="wide")
    assert said(read_annotations(tmp_path / "labels.jsonl", layout="wide")) == said(ann)


def test_half_of_a_pair_is_refused(tmp_path):
    with pytest.raises(DataError, match="half of a UTF-16 pair"):
        write_table({"item": np.array(["\ud800"], dtype=object)}, tmp_path / "labels.csv")
    assert list(tmp_path.iterdir()) == []


def test_words_that_a_matrix_would_turn_into_numbers_are_refused(tmp_path):
    for labels in (["1e5", "2"], ["\ufeffx", "y"]):
        ann = Annotations.from_arrays([0, 1], [0, 0], labels, kind="classes")
        with pytest.raises(DataError, match="use a table"):
            write_annotations(ann, tmp_path / "labels.txt")
    assert list(tmp_path.iterdir()) == []


def test_only_line_ends_end_a_row_of_a_matrix(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes("a\x85b,c\r\nd,e\u2028f\n".encode())
    assert read_annotations(path, layout="dense").classes.tolist() == [
        "a\x85b",
        "c",
        "d",
        "e\u2028f",
    ]


@pytest.mark.parametrize("suffix", ["npy", "txt"])
def test_a_number_that_means_nothing_is_refused_in_a_matrix(suffix, tmp_path):
    for labels in ([-1.0, 0.5], [-1, 0]):
        ann = Annotations.from_arrays([0, 1], [0, 0], labels)
        with pytest.raises(DataError, match="-1"):
            write_annotations(ann, tmp_path / f"labels.{suffix}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["w.csv", "m.txt", "m.npy", "d.json"])
def test_repeats_are_refused_where_there_is_no_room_for_them(name, tmp_path):
    ann = Annotations.from_arrays([0, 0, 1], [0, 0, 0], [1, 2, 1])
    layout = "wide" if name == "w.csv" else "long"
    with pytest.raises(DataError, match="'0' labelled item '0' more than once"):
        write_annotations(ann, tmp_path / name, layout=layout)
    assert list(tmp_path.iterdir()) == []


def test_an_annotator_called_item_cannot_stand_in_a_wide_table(tmp_path):
    ann = Annotations.from_arrays(["a"], ["item"], ["x"])
    with pytest.raises(DataError, match="an annotator is named 'item'"):
        write_annotations(ann, tmp_path / "w.csv", layout="wide")


def test_an_unlabelled_item_stays_in_a_json_object(tmp_path):
    ann = Annotations.from_arrays(["a"], ["u"], ["x"], items=["a", "b"])
    write_annotations(ann, tmp_path / "d.json")
    assert read_annotations(tmp_path / "d.json").items.tolist() == ["a", "b"]


cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
columns = st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=20)


@settings(max_examples=60)
@given(columns, st.sampled_from(["csv", "tsv", "parquet", "jsonl"]))
def test_any_text_goes_there_and_back(tmp_path, rows, suffix):
    path = tmp_path / f"labels.{suffix}"
    kept = [row for row in rows if all(c.strip() and c.lower() != "nan" for c in row)] or ["abc"]
    item, annotator, label = zip(*kept, strict=True)
    ann = Annotations.from_arrays(item, annotator, label, kind="classes")
    write_annotations(ann, path)
    assert said(read_annotations(path, kind="classes")) == said(ann)


# -- tables copied whole


EXTRA = {
    "item": ["007", "8", "a,b"],
    "annotator": ["u", "v", "w"],
    "label": ["x", "y", "x"],
    "when": ["2024-01-31T23:59:59Z", "", "yesterday\n"],
    "seconds": ["1.50", "02", "-0"],
}


@pytest.mark.parametrize("first", ["csv", "tsv", "parquet", "jsonl"])
@pytest.mark.parametrize("second", ["csv", "tsv", "parquet", "jsonl"])
def test_every_column_of_a_long_table_is_kept_between_formats(first, second, tmp_path):
    paths = [tmp_path / f"one.{first}", tmp_path / f"two.{second}", tmp_path / "last.jsonl"]
    write_table({name: np.array(cells, dtype=object) for name, cells in EXTRA.items()}, paths[0])
    assert copy_table(paths[0], paths[1]) == 3
    copy_table(paths[1], paths[2])
    rows = [json.loads(line) for line in paths[2].read_text("utf-8").splitlines()]
    assert list(rows[0]) == list(EXTRA)
    assert {name: [row[name] for row in rows] for name in EXTRA} == EXTRA


def test_times_dates_and_nested_cells_of_parquet_are_kept(tmp_path):
    table = pa.table(
        {
            "item": ["a", "b"],
            "when": pa.array([1_700_000_000_123_456_789, None], pa.timestamp("ns", tz="UTC")),
            "day": pa.array([19_000, 1], pa.date32()),
            "price": pa.array(["1.10", "2.00"]).cast(pa.decimal128(5, 2)),
            "boxes": [[1, 2], []],
            "place": [{"x": 1.5}, None],
            "kind": pa.array(["k", "k"]).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    for suffix in ("csv", "jsonl", "parquet"):
        assert copy_table(tmp_path / "in.parquet", tmp_path / f"out.{suffix}") == 2
    text = (tmp_path / "out.csv").read_text()
    assert "2023-11-14 22:13:20.123456789" in text
    assert '"[1, 2]"' in text
    row = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert row["when"].startswith("2023-11-14 22:13:20.123456789")
    assert (row["day"], row["price"], row["boxes"], row["place"], row["kind"]) == (
        "2022-01-08", "1.10", [1, 2], {"x": 1.5}, "k",
    )  # fmt: skip
    assert pq.read_table(tmp_path / "out.parquet").column("when").equals(table.column("when"))


def test_a_table_copied_onto_itself_is_still_there(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label\n1,2,3\n")
    assert copy_table(path, path) == 1
    assert said(read_annotations(path)) == [("1", "2", "3")]


def test_a_column_that_stands_twice_cannot_be_copied(tmp_path):
    (tmp_path / "labels.csv").write_text("item,item,label\n1,2,3\n")
    with pytest.raises(DataError, match="a column name appears twice"):
        copy_table(tmp_path / "labels.csv", tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()
