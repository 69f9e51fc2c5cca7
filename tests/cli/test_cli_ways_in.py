"""Commands read packed files, workbooks, standard input and several files."""

import gzip
import json
import zipfile

import openpyxl
import pytest
from command_line import HEADER, SMALL, assert_refused, call, start

ROWS = SMALL.removeprefix(HEADER).splitlines(keepends=True)


@pytest.fixture
def wanted(tmp_path):
    """The consensus of the small table."""
    (tmp_path / "plain.csv").write_text(SMALL)
    return call("aggregate", tmp_path / "plain.csv").out


def test_every_command_reads_standard_input(pipe, tmp_path, wanted):
    for content in (SMALL, gzip.compress(SMALL.encode())):
        pipe(content)
        outcome = call("aggregate", "-")
        assert (outcome.code, outcome.out) == (0, wanted)
        pipe(content)
        assert call("check", "-").out.startswith("standard input: items: item, annotators:")
        pipe(content)
        assert call("compare", "-", "--methods", "majority").code == 0
        pipe(content)
        assert call("convert", "-", tmp_path / "out.jsonl").code == 0
        lines = (tmp_path / "out.jsonl").read_text().splitlines()
        assert [json.loads(line)["label"] for line in lines] == list("xxyxyy")
    pipe(SMALL)
    read_as = json.loads(call("aggregate", "-", "--json").out)["source"]
    assert read_as["notes"] == ["read as csv, by its content"]


@pytest.mark.slow
def test_a_pipe_of_a_process_is_read(wanted):
    outcome = start("aggregate", "-", input=SMALL)
    assert outcome.code == 0
    assert outcome.out == wanted
    assert "note: read as csv, by its content" in outcome.err


def test_wrong_standard_input_is_told(pipe, tmp_path):
    pipe(HEADER + "a,u,\n")
    outcome = call("aggregate", "-")
    assert_refused(outcome)
    assert "standard input, line 2: the label is blank; drop such rows with --m" in outcome.err
    pipe("some words\n")
    outcome = call("check", "-")
    assert_refused(outcome)
    assert "give it with --format ..." in outcome.err
    pipe(SMALL)
    outcome = call("aggregate", "-", "--truth", "-")
    assert_refused(outcome)
    assert "standard input can be one file only" in outcome.err
    for command in ("aggregate", "check", "compare"):
        pipe("")
        outcome = call(command, "-")
        assert_refused(outcome)
        assert "standard input: is empty" in outcome.err


def test_several_files_are_given_by_name_folder_or_pattern(tmp_path, wanted):
    folder = tmp_path / "labels"
    folder.mkdir()
    (folder / "a.csv").write_text(HEADER + "".join(ROWS[:2]))
    (folder / "b.csv").write_text(HEADER + "".join(ROWS[2:]))
    for words in ([folder / "a.csv", folder / "b.csv"], [folder], [f"{folder}/*.csv"]):
        outcome = call("aggregate", *words)
        assert (outcome.code, outcome.out) == (0, wanted)
        assert f"note: read 2 files: {folder}/a.csv, {folder}/b.csv" in outcome.err
        assert "6 rows, 3 items" in call("check", *words).out
        assert call("compare", *words, "--methods", "majority").code == 0
    outcome = call("convert", folder, tmp_path / "all.csv")
    assert (outcome.code, "6 rows with all columns written" in outcome.out) == (0, True)
    outcome = call("aggregate", folder, "--out", folder / "b.csv")
    assert_refused(outcome)
    assert "is read from and would be lost" in outcome.err
    (folder / "b.csv").write_text(HEADER + "b,u,\n")
    outcome = call("check", folder)
    assert f"{folder}/b.csv, line 2" in outcome.out


def test_a_file_per_annotator_needs_one_option(tmp_path):
    for name in ("ann", "ben"):
        (tmp_path / f"{name}.csv").write_text("item,label\n1,x\n2,y\n")
    outcome = call("aggregate", tmp_path / "ann.csv", tmp_path / "ben.csv")
    assert_refused(outcome)
    assert '--annotator "file name"' in outcome.err
    outcome = call("aggregate", tmp_path, "--annotator", "file name", "--json")
    assert json.loads(outcome.out)["summary"]["annotators"] == 2


def test_sheets_are_named_by_an_option(tmp_path):
    book = openpyxl.Workbook()
    for name, rows in {"labels": SMALL, "truth": "item,truth\na,x\nb,y\n"}.items():
        sheet = book.create_sheet(name)
        for row in rows.splitlines():
            sheet.append(row.split(","))
    book.save(tmp_path / "book.xlsx")
    outcome = call("aggregate", tmp_path / "book.xlsx")
    assert_refused(outcome)
    assert "several sheets have content: labels, truth; name one with --sheet labels" in outcome.err
    outcome = call("aggregate", tmp_path / "book.xlsx", "--sheet", "labels")
    assert outcome.code == 0
    assert "note: read the sheet 'labels'" in outcome.err
    del book["labels"]
    book.save(tmp_path / "truth.xlsx")
    words = [tmp_path / "book.xlsx", "--sheet", "labels", "--truth", tmp_path / "truth.xlsx"]
    assert json.loads(call("aggregate", *words, "--json").out)["scores"]["accuracy"] == 1


def test_the_users_of_a_doccano_zip_stay_annotators_when_converted(tmp_path):
    with zipfile.ZipFile(tmp_path / "project.zip", "w") as archive:
        for user in ("ann", "ben"):
            record = {"id": 1, "text": "a text", "label": [user[0]]}
            archive.writestr(f"{user}.jsonl", json.dumps(record))
    outcome = call("convert", tmp_path / "project.zip", tmp_path / "out.csv")
    assert outcome.code == 0
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == ['1,"ann","a"', '1,"ben","b"']


def test_tagged_tokens_are_read_from_standard_input_and_packed_files(pipe, tmp_path):
    tokens = "Anna\tB-PER\tB-PER\nsang\tO\tO\n"
    pipe(tokens)
    outcome = call("aggregate", "-", "--out", tmp_path / "out.bio")
    assert outcome.code == 0
    assert "note: read as conll, by its content" in outcome.out
    (tmp_path / "tokens.conll.gz").write_bytes(gzip.compress(tokens.encode()))
    outcome = call("convert", tmp_path / "tokens.conll.gz", tmp_path / "spans.csv")
    assert (outcome.code, outcome.err) == (0, "note: unpacked (gzip)\n")


def test_the_help_tells_the_ways(tmp_path):
    for command in ("aggregate", "check", "convert"):
        text = " ".join(call(command, "--help").out.replace("│", " ").split())
        assert "- for standard input" in text
        assert ".gz" in text
        assert ".xlsx" in text
        assert "--sheet" in text
