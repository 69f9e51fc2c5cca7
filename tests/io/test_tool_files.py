"""Files of annotation tools are recognised by their content and read in one step."""

import json

import pytest

import manyhands as mh
from manyhands.core.errors import DataError


def choice(name, value):
    return {
        "from_name": name,
        "to_name": "text",
        "type": "choices",
        "value": {"choices": [value]},
    }


def judged(annotation, who, value, **more):
    result = [] if value is None else [choice("sentiment", value)]
    return {"id": annotation, "completed_by": who, "result": result} | more


LABEL_STUDIO = [
    {"id": 1, "data": {"text": "good"}, "annotations": [
        judged(11, 1, "pos"), judged(12, 2, "pos"), judged(13, 3, None, was_cancelled=True)]},
    {"id": 2, "data": {"text": "bad"}, "annotations": [
        judged(21, 1, "neg"), judged(22, 4, "neg", ground_truth=True)]},
]  # fmt: skip
PRODIGY = [
    {"text": "a", "_input_hash": 1, "_task_hash": 5, "options": [{"id": "x"}, {"id": "y"}],
     "accept": ["x"], "answer": "accept", "_annotator_id": "s1", "_session_id": "s1"},
    {"text": "a", "_input_hash": 1, "_task_hash": 5, "options": [{"id": "x"}, {"id": "y"}],
     "accept": ["y"], "answer": "ignore", "_annotator_id": "s2", "_session_id": "s2"},
]  # fmt: skip
MTURK = """HITId,WorkerId,AssignmentStatus,Input.text,Answer.category
H1,W1,Approved,a b,cat
H1,W2,Rejected,a b,dog
H2,W1,Approved,c d,dog
"""


@pytest.fixture
def written(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_label_studio(written):
    ann = mh.read(written("anything.json", json.dumps(LABEL_STUDIO)))
    assert (ann.n_items, ann.n_annotators, sorted(ann.classes)) == (2, 2, ["neg", "pos"])
    assert ann.source.layout == "label-studio"
    assert ann.source.known == {2: "neg"}
    assert "cancelled (1)" in ann.source.notes[0]


def test_prodigy(written):
    ann = mh.read(written("answers.jsonl", "\n".join(map(json.dumps, PRODIGY)) + "\n"))
    assert ann.annotators.tolist() == ["s1"]
    assert ann.classes.tolist() == ["x"]
    assert "ignored (1)" in ann.source.notes[0]


def test_mturk(written):
    ann = mh.read(written("batch.csv", MTURK))
    assert sorted(ann.items) == ["H1", "H2"]
    assert ann.n_annotations == 2
    assert "rejected (1)" in ann.source.notes[0]


def test_a_table_that_no_tool_made_is_read_as_before(written):
    ann = mh.read(written("labels.csv", "task,worker,label\na,u,x\n"))
    assert ann.source.layout == "long"


def test_an_error_names_the_file_and_what_to_name(written):
    two = [json.loads(json.dumps(task)) for task in LABEL_STUDIO]
    for task in two:
        for each in task["annotations"]:
            each["result"] += [choice("topic", "sports")] if each["result"] else []
    path = written("two.json", json.dumps(two))
    with pytest.raises(DataError, match=r"two\.json.*sentiment.*topic"):
        mh.read(path)
    assert sorted(mh.read(path, label="sentiment").classes) == ["neg", "pos"]


def test_a_truth_that_no_annotator_said_is_a_class(written):
    tasks = [
        {"id": 1, "data": {"text": "good"}, "annotations": [
            judged(11, 1, "pos"), judged(12, 2, "neg"), judged(13, 3, "odd", ground_truth=True)]},
        {"id": 2, "data": {"text": "bad"}, "annotations": [
            judged(21, 1, "neg"), judged(22, 4, "neg", ground_truth=True)]},
    ]  # fmt: skip
    ann = mh.read(written("anything.json", json.dumps(tasks)))
    assert ann.source.known == {1: "odd", 2: "neg"}
    assert ann.classes.tolist() == ["neg", "pos", "odd"]
    assert mh.aggregate(ann).labels.tolist() == ["odd", "neg"]
    only = mh.read(written("anything.json", json.dumps(tasks)), classes=["neg", "pos"])
    assert only.source.known == {2: "neg"}
    assert only.source.notes[1] == "1 known truths are not used: no annotator said odd"


def test_truths_that_a_file_marks_are_known_in_python_too(written):
    ann = mh.read(written("export.json", json.dumps(LABEL_STUDIO)))
    assert ann.source.known == {2: "neg"}
    assert mh.aggregate(ann).evidence.is_known.tolist() == [False, True]
    assert not mh.aggregate(ann, known={}).evidence.is_known.any()
    assert mh.aggregate(ann[[0]]).labels.tolist() == ["pos"]  # the other item is not here
