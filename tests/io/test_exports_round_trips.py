"""Exports are recognised by their content, and broken ones are errors that name the tool."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_exports_label_studio import annotation, choices, record, task
from test_exports_mturk_lewidi import assignment, entry
from test_exports_prodigy import OPTIONS, answer
from test_exports_records import argilla, document, response

import manyhands as mh
from manyhands.core.errors import DataError, ManyhandsError, UnknownNameError
from manyhands.io.exports import EXPORTS, recognise

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


def test_a_summary_tells_what_was_skipped():
    tasks = [task(1, annotation(1, 7, choices("good")), annotation(2, 8, was_cancelled=True))]
    tasks[0]["annotations"].append(annotation(3, 9, choices("good"), ground_truth=True))
    assert recognise(tasks).read(tasks).summary() == (
        "Label Studio: 1 labels of 1 items by 1 annotators; 1 known truths (ground truth), used "
        "for the consensus; skipped: cancelled (1)"
    )
