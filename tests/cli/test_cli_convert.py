"""manyhands convert: between formats, nothing lost on the way."""

import csv
import json

import pandas as pd
import pytest
from command_line import HEADER, call, plain_json

from manyhands.io import read_annotations

HEADER_OF_LONG = '"item","annotator","label"'
ROWS = [
    ["item", "annotator", "label", "submitted", "note"],
    ["007", "A1B2", "cat", "2024-02-29T12:00:00+01:00", "said, twice"],
    ["7", "A1B2", "dog", "", 'a "quote"'],
    ["new\nline", "é🙂", "cat", "1709204400", " blanks "],
    ["7", "A1B2", "dog", "1709204401", ""],
]


def said(path, **settings):
    ann = read_annotations(path, **settings)
    return sorted(
        zip(
            map(str, ann.items[ann.item]),
            map(str, ann.annotators[ann.annotator]),
            map(str, ann.label_names()),
            strict=True,
        )
    )


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "in.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(ROWS)
    return path


def test_every_column_and_row_survives_a_journey_through_all_formats(table, tmp_path):
    here = table
    for suffix in ("parquet", "jsonl", "tsv", "csv"):
        there = tmp_path / f"step.{suffix}"
        outcome = call("convert", here, there)
        assert outcome == (0, f"{there}: 4 rows with all columns written\n", "")
        here = there
    with here.open(newline="", encoding="utf-8") as stream:
        assert list(csv.reader(stream)) == ROWS


def test_another_encoding_or_suffix_loses_no_column(tmp_path):
    source = tmp_path / "labels.dat"
    source.write_bytes("item,annotator,label,when\né,u,x,now\n".encode("latin-1"))
    target = tmp_path / "out.jsonl"
    assert call("convert", source, target, "--format", "csv", "--encoding", "latin-1").code == 0
    row = json.loads(target.read_text("utf-8"))
    assert row == {"item": "é", "annotator": "u", "label": "x", "when": "now"}


def test_a_table_of_other_column_names_is_copied_as_it_is(tmp_path):
    (tmp_path / "in.csv").write_text("WorkerId,when,Answer.x,HITId\n1,2,3,4\n")
    assert call("convert", tmp_path / "in.csv", tmp_path / "out.tsv").code == 0
    assert list(pd.read_csv(tmp_path / "out.tsv", sep="\t").columns) == [
        "WorkerId", "when", "Answer.x", "HITId",
    ]  # fmt: skip


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl"])
def test_long_to_wide_and_back(table, tmp_path, suffix):
    wide, back = tmp_path / f"wide.{suffix}", tmp_path / "back.csv"
    words = ["--to", "wide", "--duplicates", "first"]
    assert call("convert", table, wide, *words).code == 0
    assert call("convert", wide, back, "--layout", "wide").code == 0
    assert said(back) == said(table, duplicates="first")


def test_a_repeat_is_not_lost_without_a_word(table, tmp_path):
    for name, words in [("wide.csv", ["--to", "wide"]), ("d.json", []), ("m.txt", [])]:
        outcome = call("convert", table, tmp_path / name, *words)
        assert outcome.code == 2
        assert "'A1B2' labelled item '7' more than once" in outcome.err
        assert "--duplicates" in outcome.err
        assert not (tmp_path / name).exists()


@pytest.mark.parametrize("suffix", ["txt", "npy"])
def test_long_to_dense_and_back_keeps_labels_in_order(tmp_path, suffix):
    source, dense, back = tmp_path / "in.csv", tmp_path / f"m.{suffix}", tmp_path / "out.csv"
    source.write_text(HEADER + "5,9,2\n5,8,0\n6,9,1\n")
    assert call("convert", source, dense).code == 0
    assert call("convert", dense, back).code == 0
    assert said(back) == [("0", "0", "0"), ("0", "1", "2"), ("1", "1", "1")]


def test_objects_to_tables_and_back(table, tmp_path):
    nested, back = tmp_path / "d.json", tmp_path / "back.parquet"
    assert call("convert", table, nested, "--duplicates", "last").code == 0
    content = json.loads(nested.read_text("utf-8"))
    assert content["7"] == {"A1B2": "dog"}
    assert call("convert", nested, back).code == 0
    assert said(back) == said(table, duplicates="last")


def test_reading_options_hold_for_the_source(tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("a,b,c\n1,2,x\n3,4,NA\n")
    words = ["--item", "a", "--annotator", "b", "--label", "c", "--missing", "NA"]
    outcome = call("convert", source, tmp_path / "out.csv", *words, "--json")
    told = plain_json(outcome.out)
    assert (told["out"], told["rows"]) == (str(tmp_path / "out.csv"), 1)
    assert said(tmp_path / "out.csv") == [("1", "2", "x")]


def test_an_old_file_is_replaced_only_by_a_whole_one(table, tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")
    (tmp_path / "bad.csv").write_text(HEADER + "a,u\n")
    assert call("convert", tmp_path / "bad.csv", target).code == 2
    assert target.read_text() == "old"
    assert call("convert", table, target).code == 0
    assert said(target) == said(table)


PLAIN = """item,annotator,label,score,part,price,code,flag,mixed,note
1,u,-3,0.5,1,0.10,007,true,1,
2,v,0,1.0,0.25,12,1e5,false,x,3
10,u,5,-0.125,,3.75,1,true,2,
"""


def test_numbers_stay_numbers_and_come_back_as_they_were(tmp_path):
    csv_file, lines, back = (tmp_path / name for name in ("in.csv", "t.jsonl", "back.csv"))
    csv_file.write_text(PLAIN)
    assert call("convert", csv_file, lines).code == 0
    first = json.loads(lines.read_text().splitlines()[0])
    assert first == {
        "item": 1, "annotator": "u", "label": -3, "score": 0.5, "part": 1, "price": 0.1,
        "code": "007", "flag": "true", "mixed": "1", "note": None,
    }  # fmt: skip
    assert call("convert", lines, back).code == 0
    assert back.read_text() == PLAIN
    table = tmp_path / "t.parquet"
    assert call("convert", csv_file, table).code == 0
    kinds = pd.read_parquet(table).dtypes.astype(str).to_dict()
    assert kinds["item"] == kinds["label"] == "int64"
    assert kinds["score"] == kinds["price"] == kinds["part"] == "float64"
    assert pd.read_parquet(table)["code"].tolist() == ["007", "1e5", "1"]


@pytest.mark.parametrize("big", ["12345678901234567890", "0.12345678901234567890", "00", "-01"])
def test_digits_that_numbers_cannot_hold_stay_text(big, tmp_path):
    csv_file, lines = tmp_path / "in.csv", tmp_path / "t.jsonl"
    csv_file.write_text(f"item,label\n{big},x\n")
    assert call("convert", csv_file, lines).code == 0
    assert json.loads(lines.read_text())["item"] == big


def test_a_dash_writes_csv_to_standard_output(table, tmp_path):
    copied = call("convert", table, "-")
    assert copied.code == 0
    assert list(csv.reader(copied.out.splitlines(keepends=True))) == ROWS
    assert copied.err == "4 rows with all columns written\n"
    matrix = tmp_path / "labels.txt"
    matrix.write_text("1 -1 2\n2 2 1\n")
    found = call("convert", matrix, "-")
    assert (found.out.splitlines()[0], len(found.out.splitlines())) == (HEADER_OF_LONG, 6)
    refused = call("convert", table, "-", "--json")
    assert (refused.code, refused.out) == (2, "")
    assert "both standard output" in refused.err
