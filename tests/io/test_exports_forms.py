"""Forms in which tools export beside the usual one, and files that are told apart from labels."""

import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import manyhands as mh
from manyhands.core.errors import DataError
from manyhands.io.exports import EXPORTS, recognise
from manyhands.io.tool_imports import write_suggestions


def structs(number, said="abb", status=("submitted", "discarded", "draft")):
    label = {"user_id": ["u", "v", "w"], "value": list(said), "status": list(status)}
    name = f"r{number}"
    return {"text": f"t {number}", "label": label, "external_id": name, "metadata": '{"n": 1}'}


def nested(number, *said):
    answers = [
        {"value": value, "user_id": f"u{n}", "status": "submitted"} for n, value in enumerate(said)
    ]
    fields = {"text": f"t {number}"}
    return {"id": f"r{number}", "fields": fields, "responses": {"label": answers}}


def rows(labels):
    return list(zip(labels.item, labels.annotator, labels.label, strict=True))


def written(path, content):
    path.write_text(json.dumps(content))
    return path


def test_drafts_in_lists_of_argilla_do_not_count(tmp_path):
    records = [structs(0), structs(1, "bbb", ("submitted", "submitted", "pending"))]
    assert recognise(records) is EXPORTS["argilla"]
    labels = EXPORTS["argilla"].read(records)
    assert rows(labels) == [("r0", "u", "a"), ("r1", "u", "b"), ("r1", "v", "b")]
    assert labels.skipped == {"discarded": 1, "draft": 1, "pending": 1}
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "records.parquet")
    ann = mh.read(tmp_path / "records.parquet")
    assert (ann.source.layout, ann.n_annotations) == ("argilla", 3)


def test_lists_of_argilla_must_have_one_length():
    cut = structs(1)["label"] | {"value": ["a"]}
    with pytest.raises(DataError, match="record 1: the lists of 'label' differ in length"):
        EXPORTS["argilla"].read([structs(0), structs(1) | {"label": cut}])
    none = {"user_id": [], "value": [], "status": []}
    labels = EXPORTS["argilla"].read([structs(0) | {"label": none}, structs(1)])
    assert (labels.item, labels.data["r0"]) == (["r1"], {"text": "t 0"})


def test_metadata_as_text_go_back_as_an_object(tmp_path):
    path = written(tmp_path / "records.json", [structs(0), structs(1) | {"metadata": "no JSON"}])
    consensus = mh.aggregate(mh.read(path), "majority")
    write_suggestions(consensus, tmp_path / "suggestions.json")
    first, second = json.loads((tmp_path / "suggestions.json").read_text())
    assert (first["metadata"], first["fields"]) == ({"n": 1}, {"text": "t 0"})
    assert "metadata" not in second


@pytest.mark.parametrize("form", ["index", "items", "names"])
def test_dictionaries_of_argilla_are_read(tmp_path, form):
    records = [nested(0, "a", "b"), nested(1, "b")]
    content = {
        "index": {each["id"]: each for each in records},
        "items": {"items": records},
        "names": {name: [each[name] for each in records] for name in records[0]},
    }[form]
    ann = mh.read(written(tmp_path / "records.json", content))
    assert ann.source.layout == "argilla"
    assert ann.classes.tolist() == ["a", "b"]
    assert ann.n_annotations == 3


def test_labels_that_are_objects_are_refused(tmp_path):
    path = written(tmp_path / "labels.json", {"i": {"ann": "x", "bob": {"value": "x"}}})
    with pytest.raises(DataError, match=r"labels\.json: item 'i': the label of 'bob' is"):
        mh.read(path)


def test_flat_spans_of_argilla_go_back_without_answers(tmp_path):
    spans = [{"label": "LOC", "start": 0, "end": 5}]
    record = {
        "id": "r", "status": "completed", "_server_id": "s", "text": "Paris is large",
        "e.responses": [spans, spans], "e.responses.users": ["u", "v"],
        "e.responses.status": ["submitted"] * 2, "e.suggestion": None,
    }  # fmt: skip
    labels = mh.read(written(tmp_path / "records.json", [record]))
    assert str(labels.annotations.source) == (
        "argilla: label 'e' (spans), items by record id, annotators by user_id"
    )
    assert labels.annotations.source.content.data == {"r": {"text": "Paris is large"}}


def test_a_record_without_an_id_names_a_field():
    record = structs(0) | {"external_id": None}
    with pytest.raises(DataError, match=r"record 0 has no id; .* item='text'"):
        EXPORTS["argilla"].read([record])
    assert EXPORTS["argilla"].read([record], item="text").item == ["t 0"]


def test_discarded_responses_without_values_are_counted():
    record = nested(0, "a") | {
        "responses": [
            {"user_id": "u", "status": "submitted", "values": {"label": {"value": "a"}}},
            {"user_id": "v", "status": "discarded", "values": {}},
            {"user_id": "w", "status": "discarded", "values": None},
        ]
    }
    labels = EXPORTS["argilla"].read([record])
    assert (labels.label, labels.skipped) == (["a"], {"discarded": 2})


def assignment(hit, worker, **answers):
    row = {
        "HITId": hit,
        "WorkerId": worker,
        "AssignmentStatus": "Approved",
        "Input.text": "in Rome",
    }
    return row | {f"Answer.{name}": value for name, value in answers.items()}


def test_check_boxes_are_several_labels():
    said = ["price|staff", "staff", "price|food", "food"]
    results = [assignment(f"H{n}", "A", topics=each) for n, each in enumerate(said)]
    with pytest.raises(DataError, match="several labels of one annotator"):
        EXPORTS["mturk"].read(results)
    alone = [assignment(f"H{n}", "A", mood=each) for n, each in enumerate(["a|b", "c", "c"])]
    assert EXPORTS["mturk"].read(alone).label == ["a|b", "c", "c"]


@pytest.mark.parametrize("label", [None, "boundingBoxes"])
def test_regions_of_mechanical_turk_are_refused(label):
    boxes = json.dumps([{"height": 1, "label": "cat", "left": 0, "top": 0, "width": 5}])
    size = {"inputImageProperties.height": "10"}
    results = [assignment(f"H{n}", "A", boundingBoxes=boxes, **size) for n in range(3)]
    with pytest.raises(DataError, match="'boundingBoxes' marks regions, which are not read"):
        EXPORTS["mturk"].read(results, label=label)


def test_spans_of_mechanical_turk(tmp_path):
    entity = {"startOffset": 3, "endOffset": 7, "label": "LOC"}
    some = json.dumps([{"entities": {"entities": [entity]}}])
    none = json.dumps([{"entities": {"entities": []}}])
    results = [assignment("H1", who, taskAnswers=said) for who, said in [("A", some), ("B", none)]]
    pa.csv.write_csv(pa.Table.from_pylist(results), tmp_path / "results.csv")
    labels = mh.read(tmp_path / "results.csv")
    assert labels.annotations.classes.tolist() == ["O", "B-LOC", "I-LOC"]
    assert labels.annotations.to_dense(missing="").tolist() == [["O", "O"], ["B-LOC", "O"]]
    with pytest.raises(DataError, match="task='tagging'"):
        EXPORTS["mturk"].read(results)
    with pytest.raises(DataError, match="these are from Mechanical Turk; write them as a table"):
        mh.io.require_span_target(labels.annotations, tmp_path / "suggestions.csv")


def test_answers_that_are_not_taken_are_named():
    results = [assignment("H1", "A", mood="good", sure="yes", comment="fine")]
    labels = EXPORTS["mturk"].read(results, label="mood")
    assert labels.summary().endswith("; answers not taken: sure, comment")


def doccano(*said):
    lines = [{"id": n, "text": f"t {n}", "label": [label]} for n, label in enumerate(said)]
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_the_file_of_one_doccano_user(tmp_path):
    path = tmp_path / "alice.jsonl"
    path.write_text(doccano("x", "y", "x"))
    with pytest.raises(DataError, match=r"that of one user.* zip .*annotator='file name'"):
        mh.read(path)
    ann = mh.read(path, annotator="file name")
    assert (ann.annotators.tolist(), ann.n_annotations) == (["alice"], 3)
    assert "file name" not in ann.source.content.data[0]
    (tmp_path / "bob.jsonl").write_text(doccano("y", "y", "x"))
    both = mh.read(tmp_path / "*.jsonl", annotator="file name")
    assert both.annotators.tolist() == ["alice", "bob"]
    export = written(tmp_path / "records.json", [nested(0, "a")])
    with pytest.raises(DataError, match=r"an export of Argilla .* names its annotators"):
        mh.read(export, annotator="file name")


def test_texts_are_no_labels(tmp_path):
    path = tmp_path / "alice.jsonl"
    path.write_text(doccano(*(f"a translation of text {n}" for n in range(5))))
    with pytest.raises(DataError, match=r"'label' has 5 different values in 5 answers"):
        mh.read(path, annotator="file name")
    assert mh.read(path, annotator="file name", kind="classes").n_classes == 5


def task(number, *said, **more):
    annotations = [
        {
            "completed_by": n, "ground_truth": truth,
            "result": [
                {"from_name": "mood", "to_name": "t", "type": "choices", "value": {"choices": [k]}}
            ],
        }
        for n, (k, truth) in enumerate(said)
    ]  # fmt: skip
    return {"id": number, "data": {"text": "t"}, "annotations": annotations, **more}


def test_a_task_with_the_id_0_keeps_it():
    labels = EXPORTS["label-studio"].read([task(0, ("a", False))])
    assert labels.own == {0: {"id": 0}}
    assert labels.fields == ("task id", "completed_by", "'mood' (choices)")


def test_annotations_that_are_all_truths_have_a_remedy():
    with pytest.raises(DataError, match=r"truths that differ \(1\).* remove the mark"):
        EXPORTS["label-studio"].read([task(1, ("a", True), ("b", True))])


def test_predictions_and_drafts_beside_spans_are_counted(tmp_path):
    span = {"start": 0, "end": 4, "text": "Rome", "labels": ["LOC"]}
    result = {"from_name": "e", "to_name": "t", "type": "labels", "value": span}
    annotations = [{"completed_by": 1, "result": [result]}]
    more = {"annotations": annotations, "predictions": [{"result": []}], "drafts": [{}, {}]}
    labels = mh.read(
        written(tmp_path / "tasks.json", [task(1) | more | {"data": {"text": "Rome"}}])
    )
    assert "skipped: prediction (1), draft (2)" in labels.annotations.source.notes[0]


def test_the_reading_names_what_was_taken(tmp_path):
    record = {"id": 1, "text": "t", "annotations": [{"user": 1, "label": "x"}]}
    old = EXPORTS["doccano"].read([record, record | {"id": 2}])
    assert old.fields == ("id", "user", "'annotations'")
    answer = {"text": "t", "_session_id": "s", "answer": "accept", "label": "X"}
    task = EXPORTS["prodigy"].read([answer])
    assert task.fields == ("text", "_session_id", "'X' (accept or reject)")
    ann = mh.read(written(tmp_path / "records.json", [nested(0, "a"), nested(1, "b")]))
    assert str(ann.source) == "argilla: label 'label', items by record id, annotators by user_id"
    assert ann.source.as_dict()["label"] == "'label'"
