"""Spans that a tool exported: one command each for a consensus, a check, a copy and a model."""

import json

import pytest
from command_line import assert_refused, call, plain_json


def marked(start, end, label, text):
    value = {"start": start, "end": end, "text": text, "labels": [label]}
    return {"from_name": "ner", "to_name": "text", "type": "labels", "value": value}


def annotation(number, who, *result, **more):
    return {"id": number, "completed_by": who, "result": list(result)} | more


ADA, OSLO = marked(0, 3, "PER", "Ada"), marked(12, 16, "LOC", "Oslo")
TASKS = [
    {"id": number, "data": {"text": "Ada sang in Oslo."}, "annotations": [
        annotation(1, "ann", ADA, OSLO), annotation(2, "bob", ADA, OSLO), annotation(3, "eve"),
        annotation(4, "max", was_cancelled=True)]}
    for number in (7, 8)
]  # fmt: skip
CHOICE = {"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": ["ok"]}}


@pytest.fixture
def export(tmp_path):
    path = tmp_path / "export.json"
    path.write_text(json.dumps(TASKS))
    return path


def test_a_consensus_says_what_was_skipped(export, tmp_path):
    out = tmp_path / "c.bio"
    outcome = call("aggregate", export, "--out", out, "--method", "majority")
    assert outcome.code == 0
    assert "note: Label Studio: 8 spans in 2 texts by 3 annotators" in outcome.out
    assert "skipped: cancelled (2)" in outcome.out
    assert out.read_text().startswith("Ada\tB-PER\nsang\tO\nin\tO\nOslo\tB-LOC\n.\tO\n")
    content = plain_json(call("aggregate", export, "--json").out)
    assert "cancelled (2)" in content["summary"]["notes"][0]


def test_known_tags_are_known(export, tmp_path):
    tasks = json.loads(export.read_text())
    tasks[0]["annotations"].append(annotation(5, "boss", ground_truth=True))
    export.write_text(json.dumps(tasks))
    assert call("aggregate", export, "--out", tmp_path / "c.bio").code == 0
    assert (tmp_path / "c.bio").read_text().startswith("Ada\tO\nsang\tO\nin\tO\nOslo\tO\n")


def test_it_is_checked_and_converted(export, tmp_path):
    outcome = call("check", export)
    assert outcome.code == 0
    assert "10 items, 3 annotators" in outcome.out
    assert "cancelled (2)" in outcome.out
    assert call("convert", export, tmp_path / "tokens.conll").code == 0
    assert (tmp_path / "tokens.conll").read_text().startswith("#token\tann\tbob\teve\nAda\tB-PER")
    assert call("convert", export, tmp_path / "spans.csv").code == 0
    assert '"7",,"ann",12,16,"LOC"' in (tmp_path / "spans.csv").read_text()


def test_json_lines_of_a_tool_are_not_copied_as_a_table(tmp_path):
    source, target = tmp_path / "answers.jsonl", tmp_path / "labels.csv"
    record = {"text": "a", "_input_hash": 5, "_task_hash": 6, "answer": "accept",
              "options": [{"id": "x"}], "accept": ["x"], "_annotator_id": "pets-ann"}  # fmt: skip
    source.write_text(json.dumps(record) + "\n")
    assert call("convert", source, target).code == 0
    assert target.read_text().splitlines()[1] == '5,"pets-ann","x"'


def test_a_model_is_trained_on_it(export, tmp_path):
    outcome = call("train", export, "--out", tmp_path / "m", "--epochs", 1,
                   "--validation-fraction", 0)  # fmt: skip
    assert outcome.code == 0, outcome
    out = tmp_path / "p.bio"
    assert call("predict", tmp_path / "m", export, "--out", out).code == 0
    assert out.read_text().split()[0] == "Ada"


def test_choices_beside_spans_are_chosen_by_name(export, tmp_path):
    tasks = json.loads(export.read_text())
    for task in tasks:
        task["annotations"][0]["result"].append(CHOICE)
    export.write_text(json.dumps(tasks))
    outcome = call("aggregate", export)
    assert_refused(outcome)
    assert "--label mood or --label ner" in outcome.err
    assert call("aggregate", export, "--label", "ner", "--out", tmp_path / "c.bio").code == 0
    assert call("aggregate", export, "--label", "mood", "--out", tmp_path / "c.csv").code == 0
    assert call("aggregate", export, "--task", "tagging", "--out", tmp_path / "d.bio").code == 0
