"""Records of doccano, Argilla, Hugging Face datasets, crowd-kit and cleanlab."""

import pytest
from exported_rows import read, rows

from manyhands.core.errors import DataError, SettingError
from manyhands.io.exports import EXPORTS, recognise


def document(number, *labels):
    return {"id": number, "text": f"Größe {number}", "label": list(labels), "Comments": []}


def test_doccano_has_a_file_per_user():
    users = {
        "zoë": [document(1, "good"), document(2)],
        "max": [document(1, "bad"), document(2, "good")],
        "nobody": [],
    }
    labels = read("doccano", users)
    assert rows(labels) == [(1, "zoë", "good"), (1, "max", "bad"), (2, "max", "good")]
    assert labels.skipped == {"no label": 1}
    assert labels.texts == {1: "Größe 1", 2: "Größe 2"}


def test_a_shared_doccano_project_has_no_annotators():
    shared = [document(1, "good") | {"batch": "m"}, document(2, "bad") | {"batch": "n"}]
    for content in (shared, {"all": shared}):
        with pytest.raises(DataError, match="share their annotations"):
            read("doccano", content)
    assert read("doccano", shared, annotator="batch").annotator == ["m", "n"]


def test_doccano_spans_and_several_labels_are_refused():
    with pytest.raises(DataError, match="marks spans of text"):
        read("doccano", {"zoë": [document(1, [0, 5, "PER"])]})
    with pytest.raises(DataError, match="several labels of one annotator"):
        read("doccano", {"zoë": [document(1, "good", "bad")]})


def test_old_doccano_has_users_in_records():
    said = [{"label": 3, "user": 1}, {"label": 4, "user": 2}]
    old = [{"id": 9, "text": "t", "annotations": said, "meta": {}, "annotation_approver": None}]
    assert rows(read("doccano", old)) == [(9, 1, 3), (9, 2, 4)]
    old[0]["annotations"].append({"label": 5, "user": 1})
    with pytest.raises(DataError, match="several labels of one annotator"):
        read("doccano", old)


def response(value, user, status="submitted"):
    return {"value": value, "user_id": user, "status": status}


def argilla(number, suggestion=None, **responses):
    suggestions = {"mood": {"value": suggestion, "score": 0.8, "agent": "m"}} if suggestion else {}
    return {
        "id": f"r{number}", "fields": {"text": f"text {number}"}, "metadata": {"page": number},
        "suggestions": suggestions, "responses": responses, "vectors": {}, "_server_id": "5f",
    }  # fmt: skip


def test_argilla_records():
    records = [
        argilla(1, "bad", mood=[response("good", "u1"), response("bad", "u2", "discarded")]),
        argilla(2, mood=[response("good", "u1", "draft"), response("bad", "u2")]),
        argilla(3),
    ]
    labels = read("argilla", records)
    assert rows(labels) == [("r1", "u1", "good"), ("r2", "u2", "bad")]
    assert labels.skipped == {"suggestion": 1, "discarded": 1, "draft": 1}
    assert labels.data["r3"] == {"text": "text 3"}
    assert read("argilla", records, item="page").item == [1, 2]


def test_argilla_records_without_status():
    records = [argilla(1, stars=[{"value": 4, "user_id": "u1"}, {"value": 2, "user_id": "u2"}])]
    assert read("argilla", records).label == [4, 2]


def test_flat_argilla_records():
    records = [
        {
            "id": "r1", "text": "t", "_server_id": None, "mood.responses": ["good", "bad"],
            "mood.responses.users": ["u1", "u2"], "mood.responses.status": ["submitted", "draft"],
            "mood.suggestion": "bad", "mood.suggestion.score": 0.5, "mood.suggestion.agent": None,
        },
        {"id": "r2", "text": "u", "mood.responses": None, "mood.responses.users": None},
    ]  # fmt: skip
    labels = read("argilla", records)
    assert rows(labels) == [("r1", "u1", "good")]
    assert labels.skipped == {"draft": 1, "suggestion": 1}
    assert labels.data == {"r1": {"text": "t"}, "r2": {"text": "u"}}


def test_argilla_records_of_version_1():
    said = {"values": {"mood": {"value": "good"}}, "user_id": "u1", "status": "submitted"}
    nested = [{"external_id": "r1", "fields": {"text": "t"}, "responses": [said]}]
    assert rows(read("argilla", nested)) == [("r1", "u1", "good")]
    dataset = [{"id": "r1", "text": "t", "mood": [response("good", "u1")], "mood-suggestion": None}]
    assert rows(read("argilla", dataset)) == [("r1", "u1", "good")]


def test_argilla_questions():
    records = [argilla(1, mood=[response("good", "u1")], stars=[response(4, "u1")])]
    with pytest.raises(DataError, match="several questions may be the label: mood, stars"):
        read("argilla", records)
    assert read("argilla", records, label="stars").label == [4]
    with pytest.raises(DataError, match="several labels of one annotator"):
        read("argilla", [argilla(1, topics=[response(["a", "b"], "u1")])])
    span = [{"start": 0, "end": 2, "label": "PER"}]
    with pytest.raises(DataError, match="marks spans of text"):
        read("argilla", [argilla(1, ner=[response(span, "u1")])])
    ranks = [{"value": "a", "rank": 1}, {"value": "b", "rank": 2}]
    with pytest.raises(DataError, match="ranks its answers"):
        read("argilla", [argilla(1, order=[response(ranks, "u1")])])
    with pytest.raises(DataError, match=r"no annotator \(user_id\)"):
        read("argilla", [argilla(1, mood=[response("good", "None")])])


def test_list_columns():
    records = [
        {"id": 5, "text": "same", "labels": ["a", "b"], "annotator_ids": ["x", "y"]},
        {"id": 6, "text": "same", "labels": ["b"], "annotator_ids": ["y"]},
    ]
    labels = read("list-columns", records)
    assert rows(labels) == [(5, "x", "a"), (5, "y", "b"), (6, "y", "b")]
    assert labels.texts == {5: "same", 6: "same"}


def test_list_columns_are_named_if_several_fit():
    records = [{"id": 5, "labels": [0, 1], "ratings": [3, 4], "annotators": ["x", "y"]}]
    with pytest.raises(DataError, match="several columns may be the label: labels, ratings"):
        read("list-columns", records)
    assert read("list-columns", records, label="ratings").label == [3, 4]


def test_equal_texts_are_not_made_one_item():
    records = [{"text": "same", "labels": ["a"], "annotators": ["x"]}] * 2
    with pytest.raises(DataError, match="the item 'same' is in several records"):
        read("list-columns", records)


def test_lists_of_dictionaries():
    said = [{"annotator_id": "x", "label": 1}, {"annotator_id": "y", "label": 0}]
    labels = read("list-columns", [{"id": 5, "text": "t", "annotations": said}])
    assert rows(labels) == [(5, "x", 1), (5, "y", 0)]
    lists = {"annotator_id": ["x", "y"], "label": [1, 0]}
    assert rows(read("list-columns", [{"id": 5, "text": "t", "annotations": lists}])) == rows(
        labels
    )
    empty = {"annotator_id": [], "label": []}
    records = [{"id": 5, "annotations": lists}, {"id": 6, "annotations": empty}]
    assert set(read("list-columns", records).data) == {5, 6}


def test_lists_of_other_lengths_are_refused():
    records = [{"id": 5, "labels": [0, 1], "annotators": ["x"]}]
    assert recognise(records) is not EXPORTS["list-columns"]
    with pytest.raises(DataError, match="item 5 has 1 annotators and 2 labels"):
        EXPORTS["list-columns"].read(records, label="labels", annotator="annotators")


def test_frames():
    table = [{"task": 1, "worker": "w1", "label": "x"}, {"task": 1, "worker": "w2", "label": None}]
    labels = read("crowd-kit", table)
    assert (rows(labels), labels.skipped) == ([(1, "w1", "x")], {"no label": 1})
    with pytest.raises(DataError, match="no item; name the field of items with item="):
        read("crowd-kit", [{"task": " ", "worker": "w1", "label": "x"}])
    with pytest.raises(DataError, match="is no name; name the field of annotators"):
        read("crowd-kit", [{"task": 1, "worker": ["w1"], "label": "x"}])
    matrix = [{"ann": 0, "bob": None}, {"ann": float("nan"), "bob": 1}]
    assert recognise(matrix) is None
    assert rows(EXPORTS["cleanlab"].read(matrix)) == [(0, "ann", 0), (1, "bob", 1)]
    with pytest.raises(SettingError, match="label is not for a matrix"):
        EXPORTS["cleanlab"].read(matrix, label="ann")
