"""Exports are recognised by their content, and a consensus goes back into the tool."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_exports_label_studio import annotation, choices, record, task
from test_exports_label_studio import result as answered
from test_exports_mturk_lewidi import assignment, entry
from test_exports_prodigy import OPTIONS, answer
from test_exports_records import argilla, document, response

import manyhands as mh
from manyhands.core.errors import DataError, ManyhandsError, UnknownNameError
from manyhands.io.exports import (
    EXPORTS,
    items_to_relabel,
    label_studio_predictions,
    predictions_for_label_studio,
    recognise,
    suggestions_for_argilla,
    tasks_for_prodigy,
)

EXAMPLES = {
    "label-studio": [
        task(n, *(annotation(10 * n + who, who, choices("good")) for who in (7, 8))) for n in (1, 2)
    ],
    "label-studio-table": [record(1, who, mood=said) for who, said in ((7, "good"), (8, "bad"))],
    "prodigy": [answer(n, who, options=OPTIONS, accept=["CAT"]) for n in (1, 2) for who in "ab"],
    "argilla": [argilla(n, mood=[response("good", "u1"), response("bad", "u2")]) for n in (1, 2)],
    "doccano": {"zoë": [document(1, "good")], "max": [document(1, "bad")]},
    "mturk": [assignment("H1", who, mood="good") for who in "AB"],
    "lewidi": {"1": entry("Ann2,Ann3", "1,0")},
    "list-columns": [{"id": 5, "text": "t", "labels": ["a", "b"], "annotators": ["x", "y"]}],
    "crowd-kit": [{"task": 1, "worker": who, "label": "x"} for who in "ab"],
}

FIELDS = st.sampled_from([
    "id", "data", "annotations", "result", "completed_by", "from_name", "type", "value", "choices",
    "answer", "_input_hash", "accept", "options", "label", "text", "fields", "responses", "user_id",
    "status", "HITId", "WorkerId", "Answer.q", "annotators", "labels", "task", "worker",
    "annotation_id", "annotator", "lead_time",
])  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_format_is_recognised_and_no_other_claims_it(name):
    content = EXAMPLES[name]
    assert [each.name for each in EXPORTS.values() if each.matches(content)] == [name]
    labels = recognise(content).read(content)
    assert labels.tool == name
    assert len(labels.item) == len(labels.annotator) == len(labels.label) >= 2
    assert set(labels.item) <= set(labels.data)


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        None,
        "text",
        [1, 2],
        [[0, 1], [1, 0]],
        [{"id": 1, "text": "t", "annotator": "x", "label": "a"}],
        [{"item": 1, "annotator": "x", "label": ["a", "b"]}],
        {"img1": {"ann": "cat", "bob": "dog"}},
        {"items": [{"id": 1}]},
    ],
)
def test_other_content_is_not_recognised(content):
    assert recognise(content) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=6),
    max_leaves=20,
)


@given(JSON)
def test_any_content_is_recognised_and_read_or_refused(content):
    found = recognise(content)
    for each in EXPORTS.values() if found is None else [found]:
        try:
            labels = each.read(content)
        except ManyhandsError:
            continue
        assert len(labels.item) == len(labels.annotator) == len(labels.label) > 0


@pytest.mark.parametrize("name", EXAMPLES)
def test_broken_entries_are_an_error_with_the_tool(name):
    content = json.loads(json.dumps(EXAMPLES[name]))
    if isinstance(content, dict):
        content |= {"broken": [None]}
    else:
        content.append(None)
    with pytest.raises(DataError, match=r"does not have the form|no field"):
        EXPORTS[name].read(content)


def test_an_unknown_format_is_an_error_with_the_known_ones():
    with pytest.raises(UnknownNameError, match="no export 'prodgy'; did you mean prodigy"):
        EXPORTS["prodgy"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_labels_become_annotations(name):
    labels = EXPORTS[name].read(EXAMPLES[name])
    ann = mh.Annotations.from_arrays(labels.item, labels.annotator, labels.label)
    assert ann.n_annotations == len(labels.label)


def test_a_consensus_goes_back_into_label_studio():
    tasks = EXAMPLES["label-studio"]
    labels = recognise(tasks).read(tasks)
    ann = mh.Annotations.from_arrays(labels.item, labels.annotator, labels.label)
    c = mh.aggregate(ann, method="majority")
    made = predictions_for_label_studio(
        ann.items, c.labels, c.confidence, source=labels, model_version="mv 1"
    )
    assert json.loads(json.dumps(made)) == made
    assert [each["data"] for each in made] == [each["data"] for each in tasks]
    prediction = made[0]["predictions"][0]
    assert (prediction["model_version"], prediction["score"]) == ("mv 1", 1.0)
    again = [
        each | {"annotations": [{"completed_by": 1, "result": each["predictions"][0]["result"]}]}
        for each in made
    ]
    assert recognise(again).read(again).label == ["good", "good"]


@pytest.mark.parametrize(
    ("kind", "value", "label"),
    [("rating", 4, "4"), ("number", 2.5, 2.5), ("taxonomy", [["a", "b"]], "a / b")],
)
def test_a_prediction_has_the_type_of_its_control(kind, value, label):
    tasks = [task(1, annotation(1, 7, answered(kind, value, "q")))]
    labels = recognise(tasks).read(tasks)
    made = label_studio_predictions([1], [label], [0.9], source=labels)
    assert made[0]["task"] == 1
    assert made[0]["result"][0]["value"] == {kind: value}


def test_json_min_does_not_tell_the_object_of_a_control():
    labels = EXPORTS["label-studio-table"].read(EXAMPLES["label-studio-table"])
    with pytest.raises(DataError, match="give to_name="):
        label_studio_predictions([1], ["good"], [0.9], source=labels)
    made = label_studio_predictions([1], ["good"], [0.9], source=labels, to_name="text")
    assert made[0]["result"][0]["to_name"] == "text"


def test_a_consensus_goes_back_into_prodigy():
    labels = EXPORTS["prodigy"].read(EXAMPLES["prodigy"])
    made = tasks_for_prodigy([-101], np.array(["CAT"]), np.array([0.75]), source=labels)
    assert json.loads(json.dumps(made)) == made
    assert made[0]["accept"] == ["CAT"]
    assert made[0]["options"] == OPTIONS
    assert made[0]["meta"] == {"score": 0.75, "model_version": "manyhands"}
    assert "answer" not in made[0]


def test_a_binary_consensus_goes_back_into_prodigy():
    records = [answer(1, "ann", label="SPAM"), answer(2, "ann", "reject", label="SPAM")]
    labels = EXPORTS["prodigy"].read(records)
    made = tasks_for_prodigy(labels.item, labels.label, [1, 1], source=labels)
    assert [each["answer"] for each in made] == ["accept", "reject"]
    assert [each["label"] for each in made] == ["SPAM", "SPAM"]


def test_a_consensus_goes_back_into_argilla():
    labels = EXPORTS["argilla"].read(EXAMPLES["argilla"])
    made = suggestions_for_argilla(["r1", "r2"], ["good", "bad"], [0.9, 0.8], source=labels)
    assert json.loads(json.dumps(made)) == made
    assert made[1]["suggestions"] == {"mood": {"value": "bad", "score": 0.8, "agent": "manyhands"}}
    assert made[1]["fields"] == {"text": "text 2"}


def test_items_to_relabel_are_what_the_tool_imports():
    made = {
        name: items_to_relabel(labels.item[:1], source=labels)[0]
        for name, labels in ((name, EXPORTS[name].read(EXAMPLES[name])) for name in EXAMPLES)
    }
    assert json.loads(json.dumps(made)) == made
    assert made["label-studio"] == {"id": 1, "data": EXAMPLES["label-studio"][0]["data"]}
    assert made["argilla"] == {"id": "r1", "fields": {"text": "text 1"}}
    assert made["mturk"] == {"text": "text of H1"}
    assert made["doccano"] == {"id": 1, "text": "Größe 1", "Comments": []}
    assert "accept" not in made["prodigy"]
    assert made["prodigy"]["options"] == OPTIONS


def test_a_summary_tells_what_was_skipped():
    tasks = [task(1, annotation(1, 7, choices("good")), annotation(2, 8, was_cancelled=True))]
    tasks.append(task(2, annotation(3, 7, choices("bad"), ground_truth=True)))
    assert recognise(tasks).read(tasks).summary() == (
        "label-studio: 1 labels of 1 items by 1 annotators; 1 known truths; skipped: cancelled (1)"
    )


def test_wrong_requests():
    labels = EXPORTS["argilla"].read(EXAMPLES["argilla"])
    with pytest.raises(DataError, match="exported from argilla, not from prodigy"):
        tasks_for_prodigy([], [], [], source=labels)
    with pytest.raises(DataError, match="no item 'r9'"):
        suggestions_for_argilla(["r9"], ["good"], [1.0], source=labels)
    with pytest.raises(DataError, match="got 2, 1 and 1"):
        suggestions_for_argilla(["r1", "r2"], ["good"], [1.0], source=labels)
