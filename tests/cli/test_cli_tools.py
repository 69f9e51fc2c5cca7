"""manyhands aggregate --suggestions and --relabel: files for annotation tools."""

import json

import pandas as pd
import pytest
from command_line import SMALL, assert_refused, call, plain_json

import manyhands as mh


def judged(number, who, said):
    result = {
        "from_name": "mood",
        "to_name": "text",
        "type": "choices",
        "value": {"choices": [said]},
    }
    return {"id": number, "completed_by": who, "result": [result]}


TASKS = [
    {
        "id": n,
        "data": {"text": f"text {n}"},
        "annotations": [judged(10 * n + who, who, said) for who, said in enumerate(labels, 1)],
    }
    for n, labels in ((1, ("good", "good")), (2, ("good", "bad")), (3, ("bad", "bad")))
]


@pytest.fixture
def export(tmp_path):
    path = tmp_path / "export.json"
    path.write_text(json.dumps(TASKS))
    return path


def aggregate(export, *words):
    return call("aggregate", export, "--method", "majority", *words)


def test_the_consensus_and_items_to_relabel(export, tmp_path):
    out, made, unsure = (tmp_path / name for name in ("out.csv", "made.json", "unsure.json"))
    done = aggregate(export, "--out", out, "--suggestions", made, "--relabel", unsure)
    assert done.code == 0, done.err
    assert done.out.splitlines()[-2:] == [
        f"suggestions: 3 items in {made}",
        f"to relabel: 1 items with confidence below 0.7 in {unsure}",
    ]
    scores = [each["predictions"][0]["score"] for each in json.loads(made.read_text())]
    assert scores == [1.0, 0.5, 1.0]
    assert json.loads(unsure.read_text()) == [{"id": 2, "data": {"text": "text 2"}}]
    c = mh.aggregate(mh.read(export), "majority")
    mh.io.write_suggestions(c, tmp_path / "python.json")
    assert made.read_bytes() == (tmp_path / "python.json").read_bytes()


def test_the_confidence_below_which_items_are_written(export, tmp_path):
    path = tmp_path / "unsure.json"
    for below, n_items in (("0.5", 0), ("0.6", 1), ("1", 1)):
        words = ["--out", tmp_path / "out.csv", "--relabel", path, "--relabel-below", below]
        assert aggregate(export, *words).code == 0
        assert len(json.loads(path.read_text())) == n_items


def test_json_tells_what_was_written(export, tmp_path):
    words = ["--suggestions", tmp_path / "s.json", "--relabel", tmp_path / "r.json", "--json"]
    summary = plain_json(aggregate(export, *words).out)["summary"]
    assert summary["suggestions"] == {"file": str(tmp_path / "s.json"), "items": 3}
    assert summary["relabel"] == {"file": str(tmp_path / "r.json"), "items": 1, "below": 0.7}


def test_items_of_a_table_are_a_table(tmp_path):
    labels, path = tmp_path / "labels.csv", tmp_path / "unsure.csv"
    labels.write_text(SMALL)
    assert aggregate(labels, "--out", tmp_path / "out.csv", "--relabel", path).code == 0
    assert pd.read_csv(path)["item"].tolist() == ["b"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--suggestions", "s.csv"], "Label Studio imports .json files; name it s.json"),
        (["--relabel", "r.jsonl"], "Label Studio imports .json files; name it r.json"),
        (["--suggestions", "export.json"], "is read from and would be lost"),
        (["--relabel", "export.json"], "is read from and would be lost"),
        (["--suggestions", "s.json", "--relabel", "s.json"], "cannot both go to"),
        (["--suggestions", "no/s.json"], "no such folder"),
        (["--out", "o.csv", "--suggestions", "-"], "--suggestions needs the name of a file"),
        (["--relabel-below", "0.5"], "--relabel-below needs --relabel FILE"),
        (["--relabel", "r.json", "--relabel-below", "70"], "--relabel-below"),
    ],
)
def test_wrong_requests(words, told, export, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = export.read_bytes()
    done = aggregate("export.json", *words)
    assert_refused(done)
    assert told in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["export.json"]
    assert export.read_bytes() == before


def test_a_table_has_no_suggestions(tmp_path):
    (tmp_path / "labels.csv").write_text(SMALL)
    done = aggregate(tmp_path / "labels.csv", "--suggestions", tmp_path / "s.json")
    assert_refused(done)
    assert "from no tool; write the consensus as a table (write_table, --out FILE)" in done.err


def test_tagged_tokens_have_files_of_their_own(tmp_path):
    (tmp_path / "tags.conll").write_text("Anna B-PER B-PER\nsaw O O\nRome B-LOC O\n")
    for option in ("--suggestions", "--relabel"):
        done = aggregate(tmp_path / "tags.conll", option, tmp_path / "s.json")
        assert_refused(done)
        assert "--out consensus.conll" in done.err
