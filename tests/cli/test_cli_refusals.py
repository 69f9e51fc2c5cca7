"""A wrong request: exit code 2, one line that tells what and where, nothing written."""

import json
import re
import tempfile
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import HEADER, SMALL, assert_refused, call

import manyhands as mh

BAD_TABLES = {
    "binary": (b"\x00\x01\x02\x03\xff\xfe" * 9, "not utf-8 text|not a text table"),
    "png": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "line 1: byte 0x89"),
    "zip": (b"PK\x03\x04\x14\x00\x00\x00\x08\x00", "not a zip file, or cut short"),
    "empty": ("", "the file is empty"),
    "header only": (HEADER, "no rows"),
    "no header": ("1,2,3\n4,5,6\n", "no column looks like the item.*columns: '1', '2', '3'"),
    "ambiguous item": (
        "item,task,worker,label\n1,2,3,4\n",
        r"'item' \(first row: '1'\), 'task'.*--item",
    ),
    "ambiguous label": (
        "item,worker,label,answer\n1,2,3,4\n",
        r"'label' \(first row: '3'\), 'answer'.*--label",
    ),
    "no annotator": ("item,label,when\n1,2,3\n", "looks like the annotator.*--annotator"),
    "blank label": (HEADER + "a,u,x\na,v,\n", 'line 3: the label is blank.*--missing ""'),
    "nan label": (HEADER + "a,u,x\na,v,NaN\n", "line 3: the label is blank"),
    "blank item": (HEADER + "a,u,x\n,v,x\n", "line 3: the item is blank"),
    "blank annotator": (HEADER + "a,u,x\na,,x\n", "line 3: the annotator is blank"),
    "word among numbers": (HEADER + "a,u,1\na,v,2\nb,u,cat\n", "line 4: the label 'cat' is a word"),
    "number among words": (HEADER + "a,u,x\na,v,y\nb,u,7\n", "line 4: the label '7' is a number"),
    "infinite": (HEADER + "a,u,1.5\na,v,inf\n", "line 3: the label is infinite"),
    "cut in a row": (HEADER + "a,u,x\na,v", "line 3: 2 cells.*3.*cut short"),
    "cut in a cell": (HEADER + 'a,u,x\na,v,"y', "line 3: a quote is opened.*cut short"),
    "latin": ((HEADER + "a,u,caf\xe9\n").encode("latin-1"), "line 2: byte 0xe9.*--encoding"),
    "a name with a line break": ('"it\nem","w",label\n1,2,3\n', "no column looks like the item"),
}


@pytest.mark.parametrize(("content", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_table_that_cannot_be_used(content, message, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    out, people = tmp_path / "out.csv", tmp_path / "people.csv"
    outcome = call("aggregate", path, "--out", out, "--annotators", people)
    assert_refused(outcome)
    assert str(path) in outcome.err
    assert re.search(message, outcome.err), outcome.err
    assert list(tmp_path.iterdir()) == [path]


def bad_files(folder):
    """Files of other formats that cannot be used: name -> part of the message."""
    rows = {"item": [1, 2], "annotator": [1, 2], "label": [0, 1]}
    pq.write_table(pa.table(rows), folder / "cut.parquet")
    whole = (folder / "cut.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (folder / "text.parquet").write_text(SMALL)
    lines = "\n".join(
        json.dumps({name: cells[n] for name, cells in rows.items()}) for n in range(2)
    )
    (folder / "cut.jsonl").write_text(lines[:-9])
    (folder / "cut.json").write_text('{"a": {"u": 1')
    (folder / "list.json").write_text("[1, 2]")
    np.save(folder / "cut.npy", np.zeros((99, 99)))
    (folder / "cut.npy").write_bytes((folder / "cut.npy").read_bytes()[:500])
    (folder / "cut.txt").write_text("0 1 1\n0 1\n")
    (folder / "labels.csv.gz").write_bytes(b"\x1f\x8b\x08\x00")
    (folder / "labels.xlsx").write_bytes(b"PK\x03\x04")
    return {
        "nothing.csv": "no such file",
        ".": "is a folder",
        "cut.parquet": "not a Parquet file, or cut short",
        "text.parquet": "not a Parquet file",
        "cut.jsonl": "line 2: not JSON",
        "cut.json": "not JSON",
        "list.json": "expected {item: {annotator: label}}",
        "cut.npy": "not a .npy array, or cut short",
        "cut.txt": "line 2: 2 cells where line 1 has 3",
        "labels.csv.gz": "not a gzip file, or cut short",
        "labels.xlsx": "not an Excel file, or cut short",
        "n" * 300 + ".csv": "File name too long",
    }


def test_files_of_other_formats_that_cannot_be_used(tmp_path):
    for name, message in bad_files(tmp_path).items():
        for command in ("aggregate", "compare"):
            outcome = call(command, tmp_path / name)
            assert_refused(outcome)
            assert message in outcome.err
        outcome = call("convert", tmp_path / name, tmp_path / "out.csv")
        assert_refused(outcome)
        assert not (tmp_path / "out.csv").exists()


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(SMALL)
    return path


@pytest.fixture
def decimals(tmp_path):
    path = tmp_path / "decimals.csv"
    path.write_text(HEADER + "a,u,1.5\na,v,2.5\nb,u,0.5\n")
    return path


BAD_WORDS = {
    "a method misspelt": (
        ["--method", "dawid-sken"],
        "did you mean dawid-skene or ordinal-dawid-skene.*known: .*glad",
    ),
    "a method unknown": (["--method", "zzz"], "no aggregator 'zzz'; known: .*majority"),
    "an option unknown": (["--methd", "majority"], "No such option.*--help"),
    "an option without value": (["--method"], "'--method' requires an argument"),
    "a column misspelt": (["--item", "itm"], "no column 'itm'; did you mean item"),
    "a column unknown": (["--label", "zzz"], "no column 'zzz'.*'item', 'annotator', 'label'"),
    "a column twice": (["--item", "label", "--label", "label"], "must be three columns"),
    "a label outside": (["--classes", "x,z"], "line 4: the label is outside the classes"),
    "a class twice": (["--classes", "x,y,x"], "class 'x' is listed twice"),
    "numbers of words": (["--method", "gaussian"], "labels are classes .* where numbers"),
    "numbers said of words": (["--kind", "numbers"], "the label '[xy]' is a word"),
    "kind": (["--kind", "words"], "'--kind': .*'words' is not one of 'classes', 'numbers'"),
    "duplicates": (
        ["--duplicates", "newest"],
        "'--duplicates': .*'newest' is not one of 'keep', 'first'",
    ),
    "layout": (["--layout", "tall"], "'--layout': .*'tall' is not one of 'long', 'wide', 'dense'"),
    "format": (["--format", "excel"], "no format 'excel'; known: csv"),
    "encoding": (["--encoding", "klingon"], "no encoding is called 'klingon'"),
    "all dropped": (["--missing", "x", "--missing", "y"], "not a single label"),
    "two tables on one stream": (["--annotators", "-"], "cannot both go to '-'"),
    "no such truth": (["--truth", "nothing.csv"], "nothing.csv: no such file"),
    "no such known": (["--known", "nothing.csv"], "nothing.csv: no such file"),
    "an empty name of a file": (["--truth", ""], "is a folder; name a file"),
    "a file that is not there": (["more.csv"], "more.csv: no such file"),
}


@pytest.mark.parametrize(("words", "message"), BAD_WORDS.values(), ids=BAD_WORDS)
def test_words_that_cannot_be_followed(words, message, labels, tmp_path):
    outcome = call("aggregate", labels, *words)
    assert_refused(outcome)
    assert re.search(message, outcome.err), outcome.err
    assert list(tmp_path.iterdir()) == [labels]


def test_classes_asked_of_decimals(decimals):
    for method in ("dawid-skene", "majority", "glad"):
        outcome = call("aggregate", decimals, "--method", method)
        assert_refused(outcome)
        assert "labels are numbers with decimals where classes are needed" in outcome.err
    assert call("aggregate", decimals, "--method", "majority", "--kind", "classes").code == 0


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("no/such/out.csv", "no such folder"),
        (".", "names no known format"),
        ("out.xlsx", "'.xlsx' names no known format"),
        ("out.csv.gz", "compressed files"),
    ],
)
def test_a_place_that_cannot_be_written_is_told_before_anything_is_written(
    out, message, labels, tmp_path
):
    for command in (
        ["aggregate", labels, "--annotators", tmp_path / "a.csv", "--out"],
        ["aggregate", labels, "--out", tmp_path / "o.csv", "--annotators"],
        ["compare", labels, "--out"],
    ):
        outcome = call(*command, tmp_path / out)
        assert_refused(outcome)
        assert message in outcome.err
    assert list(tmp_path.iterdir()) == [labels]


def test_a_folder_with_the_name_of_a_table_is_told(labels, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    outcome = call("aggregate", labels, "--out", tmp_path / "folder.csv")
    assert_refused(outcome)
    assert "is a folder" in outcome.err


def test_two_tables_cannot_take_one_name(labels, tmp_path):
    outcome = call(
        "aggregate", labels, "--out", tmp_path / "o.csv", "--annotators", f"{tmp_path}/./o.csv"
    )
    assert_refused(outcome)
    assert "cannot both go to" in outcome.err


def test_a_file_that_is_read_is_not_replaced(labels, tmp_path):
    truth = tmp_path / "truth.csv"
    truth.write_text("item,truth\na,x\n")
    for words in (
        ["aggregate", labels, "--out", labels],
        ["aggregate", labels, "--annotators", labels, "--out", tmp_path / "o.csv"],
        ["aggregate", labels, "--truth", truth, "--out", truth],
        ["compare", labels, "--out", f"{tmp_path}/../{tmp_path.name}/labels.csv"],
    ):
        outcome = call(*words)
        assert_refused(outcome)
        assert "is read from and would be lost" in outcome.err
    assert labels.read_text() == SMALL


TRUTHS = {
    "other items": ("item,truth\nzz,x\n", "no item of the truth table has labels"),
    "blank truth": ("item,truth\na,x\nb,\n", "truth.csv, line 3: the truth is blank"),
    "nan truth": ("item,truth\na,x\nb,NaN\n", "truth.csv, line 3: the truth is blank"),
    "blank item": ("item,truth\na,x\n,y\n", "truth.csv, line 3: the item is blank"),
    "an item twice": ("item,truth\na,x\na,x\n", "truth of item 'a' is given more than once"),
    "no rows": ("item,truth\n", "truth.csv: has a header line and no rows"),
    "other columns": ("foo,bar\na,x\n", "name the columns of a truth table item and truth"),
}


@pytest.mark.parametrize(("content", "message"), TRUTHS.values(), ids=TRUTHS)
def test_a_truth_table_that_cannot_be_used(content, message, labels, tmp_path):
    truth = tmp_path / "truth.csv"
    truth.write_text(content)
    for command in ("aggregate", "compare"):
        outcome = call(command, labels, "--truth", truth, "--out", tmp_path / "out.csv")
        assert_refused(outcome)
        assert message in outcome.err
        assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("item,truth\nzz,x\n", "item 'zz', which nobody labelled"),
        ("item,truth\na,cow\n", "no class 'cow'; known: x, y"),
        ("item,truth\na,\n", "line 2: the truth is blank"),
    ],
)
def test_known_truths_that_cannot_be_used(content, message, labels, tmp_path):
    known = tmp_path / "known.csv"
    known.write_text(content)
    outcome = call("aggregate", labels, "--known", known, "--out", tmp_path / "out.csv")
    assert_refused(outcome)
    assert message in outcome.err
    assert not (tmp_path / "out.csv").exists()


def test_words_as_truth_of_numbers_are_told(decimals, tmp_path):
    truth = tmp_path / "truth.csv"
    truth.write_text("item,truth\na,many\n")
    for option in ("--truth", "--known"):
        assert_refused(call("aggregate", decimals, option, truth))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["simulate", "spamers"], "no scenario 'spamers'; did you mean spammers"),
        (["simulate", "spammers", "--items", "0"], "n_items must be in 1..10^12; got 0"),
        (["simulate", "spammers", "--items", "many"], "--items"),
        (["simulate", "spammers", "--share", "1.5"], "share must be in 0..1; got 1.5"),
        (["simulate", "spammers", "--share", "nan"], "share must be in 0..1; got nan"),
        (["simulate", "spammers", "--lowest", "0.9", "--highest", "0.1"], "in order within"),
        (["simulate", "spammers", "--labels-per-item", "9", "--annotators", "3"], "at most n_ann"),
        (["simulate", "spammers", "--seed", "-1"], "--seed"),
    ],
)
def test_a_crowd_that_cannot_be(words, message, tmp_path):
    outcome = call(*words, "--out", tmp_path / "crowd")
    assert_refused(outcome)
    assert message in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_crowd_needs_a_folder(labels):
    assert "Missing option '--out'" in call("simulate", "spammers").err
    outcome = call("simulate", "spammers", "--out", labels)
    assert_refused(outcome)
    assert "is a file; name a folder" in outcome.err
    assert_refused(call("simulate", "spammers", "--out", labels / "inside"))


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ("majority,majorty", "did you mean majority"),
        ("majority,,glad", "no aggregator ''"),
        ("majority,mean", "all for classes or all for numbers"),
        ("mean,median", "where numbers are needed"),
    ],
)
def test_methods_that_cannot_be_compared(methods, message, labels):
    outcome = call("compare", labels, "--methods", methods)
    assert_refused(outcome)
    assert message in outcome.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["out.xlsx"], "names no known format"),
        (["no/out.csv"], "no such folder"),
        (["out.csv", "--to", "tall"], "'--to': Value error, 'tall' is not one of 'long', 'wide'"),
        (["out.npy"], "these labels are words"),
        (["out.parquet", "--item", "zzz"], "no column 'zzz'"),
        (
            ["out.csv", "--to", "wide", "--duplicates", "newest"],
            "'newest' is not one of 'keep', 'first', 'last'",
        ),
    ],
)
def test_a_conversion_that_cannot_be(words, message, labels, tmp_path):
    outcome = call("convert", labels, tmp_path / words[0], *words[1:])
    assert_refused(outcome)
    assert message in outcome.err
    assert list(tmp_path.iterdir()) == [labels]


def test_no_memory_is_one_line_and_the_run_failed(tmp_path, monkeypatch):
    monkeypatch.setattr(mh, "aggregate", mock.Mock(side_effect=MemoryError("8 GiB")))
    (tmp_path / "labels.csv").write_text(SMALL)
    outcome = call("aggregate", tmp_path / "labels.csv")
    assert_refused(outcome, code=1)
    assert "not enough memory: 8 GiB" in outcome.err


def test_an_unknown_command_and_a_missing_file_name():
    for words in (["agregate"], ["aggregate"], ["convert", "in.csv"], ["--verson"]):
        assert_refused(call(*words))


def test_the_unexpected_is_one_line_and_a_file(tmp_path, monkeypatch):
    def break_down(*_, **__):
        raise ZeroDivisionError("what nobody\nforesaw")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(mh, "aggregate", break_down)
    (tmp_path / "labels.csv").write_text(SMALL)
    outcome = call("aggregate", tmp_path / "labels.csv")
    assert_refused(outcome, code=1)
    assert (
        "unexpected ZeroDivisionError: what nobody; please report it with the file" in outcome.err
    )
    (log,) = tmp_path.glob("manyhands-error-*.log")
    assert "break_down" in log.read_text()


def test_predict_wants_a_model(tmp_path):
    mh.aggregate([["x", "y"], ["y", "y"]]).save(tmp_path / "consensus")
    (tmp_path / "features.csv").write_text("item,a\n0,1\n")
    refused = call("predict", tmp_path / "consensus", tmp_path / "features.csv")
    assert_refused(refused)
    assert "there is no model in this folder" in refused.err


@pytest.mark.parametrize("option", ["--levels", "--classes"])
def test_names_in_a_list_are_not_blank(tmp_path, option):
    (tmp_path / "labels.csv").write_text(SMALL)
    refused = call("aggregate", tmp_path / "labels.csv", option, "bad,,good")
    assert_refused(refused)
    assert f"{option} must be names with commas between them; got 'bad,,good'" in refused.err
