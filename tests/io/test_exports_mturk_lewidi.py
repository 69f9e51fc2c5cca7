"""Results of Mechanical Turk, and the files of the shared tasks on disagreement."""

import json

import pytest
from exported_rows import read, rows

from manyhands.core.errors import DataError, SettingError
from manyhands.io.exports import EXPORTS


def assignment(hit, worker, status="Approved", **answers):
    row = {"HITId": hit, "HITTypeId": "T", "AssignmentId": f"{hit}{worker}", "WorkerId": worker}
    row |= {"AssignmentStatus": status, "WorkTimeInSeconds": "31", "Input.text": f"text of {hit}"}
    row |= {f"Answer.{name.replace('__', '.')}": value for name, value in answers.items()}
    return row | {"Approve": "", "Reject": ""}


def test_rejected_assignments_are_dropped():
    results = [
        assignment("H1", "A", mood="good"),
        assignment("H1", "B", "Rejected", mood="bad"),
        assignment("H2", "A", "Submitted", mood="bad", comment="très bien"),
        assignment("H2", "B", mood=""),
        assignment("H3", "B", "Submitted", mood="bad") | {"Reject": "not serious"},
    ]
    labels = read("mturk", results)
    assert rows(labels) == [("H1", "A", "good"), ("H2", "A", "bad")]
    assert labels.skipped == {"rejected": 2, "no label": 1}
    assert labels.extras["WorkTimeInSeconds"] == ["31", "31"]
    assert labels.texts["H1"] == "text of H1"


def flags(hit, worker, chosen, names=("cat", "dog"), question="animal__"):
    said = {f"{question}{name}": str(name == chosen).lower() for name in names}
    return assignment(hit, worker, **said)


def test_a_column_per_option():
    results = [flags("H1", "A", "cat"), flags("H1", "B", "dog"), flags("H2", "A", "cat")]
    labels = read("mturk", results)
    assert rows(labels) == [("H1", "A", "cat"), ("H1", "B", "dog"), ("H2", "A", "cat")]
    assert labels.question == {"answer": "animal"}
    assert read("mturk", results, label="Answer.animal.dog").label == ["false", "true", "false"]


def test_options_without_a_question():
    results = [
        flags("H1", "A", "Yes", ("Yes", "No"), ""),
        flags("H1", "B", "No", ("Yes", "No"), ""),
    ]
    assert read("mturk", results).label == ["Yes", "No"]
    results[0]["Answer.No"] = "true"
    with pytest.raises(DataError, match="several answers may be the label: Yes, No"):
        read("mturk", results)


def test_several_options_at_once_are_refused():
    both = assignment("H1", "A", animal__cat="true", animal__dog="true")
    with pytest.raises(DataError, match="several labels of one annotator"):
        read("mturk", [both, flags("H2", "A", "cat")])


def test_answers_packed_as_json():
    def packed(hit, worker, answers):
        return assignment(hit, worker, taskAnswers=json.dumps([answers]))

    results = [
        packed("H1", "A", {"mood": {"label": "good"}}),
        packed("H1", "B", {"mood": {"label": "bad"}}),
    ]
    assert read("mturk", results).label == ["good", "bad"]
    results = [
        packed("H1", "A", {"ok": {"yes": True, "no": False}}),
        packed("H1", "B", {"ok": {"yes": False, "no": True}}),
    ]
    assert read("mturk", results).label == ["yes", "no"]


def test_one_of_several_answers_is_named():
    results = [assignment("H1", "A", mood="good", stars="4")]
    with pytest.raises(DataError, match="several answers may be the label: mood, stars"):
        read("mturk", results)
    assert read("mturk", results, label="stars").label == ["4"]
    assert read("mturk", results, label="Answer.mood").label == ["good"]


def test_own_ids_are_items_if_they_tell_hits_apart():
    results = [assignment(hit, "A", mood="good") for hit in ("H1", "H2")]
    own = [row | {"Input.tweet_id": f"t{n}"} for n, row in enumerate(results)]
    assert read("mturk", own).item == ["t0", "t1"]
    same = [row | {"Input.author_id": "a"} for row in results]
    assert read("mturk", same).item == ["H1", "H2"]
    assert read("mturk", same, item="Input.text").item == ["text of H1", "text of H2"]


def test_workers_are_needed():
    with pytest.raises(DataError, match=r"no annotator \(WorkerId\)"):
        read("mturk", [assignment("H1", "", mood="good")])


def entry(annotators, annotations, **fields):
    return {"text": "naïve", "annotators": annotators, "annotations": annotations} | fields


def test_lewidi_2023():
    other = {"other_annotations": {"sexist": "0,1"}, "page": "p1"}
    content = {
        "1": entry("Ann2,Ann3", "1,-2", hard_label="1", other_info=other),
        "2": entry("Ann2", "0", hard_label="0", other_info={}),
        "3": entry("Ann2", "", other_info={}),
    }
    labels = read("lewidi", content)
    assert rows(labels) == [("1", "Ann2", "1"), ("1", "Ann3", "-2"), ("2", "Ann2", "0")]
    assert (labels.skipped, labels.known) == ({"no annotations": 1}, {})
    sexist = read("lewidi", content, label="sexist")
    assert (sexist.label, sexist.skipped) == (["0", "1"], {"no annotations": 2})
    assert read("lewidi", {"1": content["1"]}, item="page").item == ["p1", "p1"]


def test_lewidi_2025():
    text = {"context": "c", "response": "r"}
    content = {"121": entry("Ann288,Ann289", {"Ann288": "2", "Ann289": "-5"}, text=text)}
    labels = read("lewidi", content)
    assert rows(labels) == [("121", "Ann288", "2"), ("121", "Ann289", "-5")]
    assert labels.data == {"121": text}
    several = {"1": entry("Ann1", {"Ann1": "neutral,contradiction"})}
    with pytest.raises(DataError, match="several labels of one annotator"):
        read("lewidi", several)


def test_lewidi_files_that_contradict_themselves():
    with pytest.raises(DataError, match="item '1' has 2 annotators and 1 annotations"):
        read("lewidi", {"1": entry("Ann1,Ann2", "0")})
    with pytest.raises(SettingError, match="annotator is not for LeWiDi"):
        read("lewidi", {"1": entry("Ann1", "0")}, annotator="who")


@pytest.mark.parametrize("ticked", ["true", "on"])
def test_boxes_of_which_one_is_ticked_are_one_question(ticked):
    names = ("positive", "negative", "neutral")

    def row(hit, worker, chosen, **more):
        boxes = {f"Answer.{name}.{ticked}": str(name in chosen).lower() for name in names}
        status = {"AssignmentStatus": "Approved"} | more
        return {"HITId": hit, "WorkerId": worker, "Input.text": "t"} | status | boxes

    rows = [
        row("H1", "W1", ["positive"]),
        row("H1", "W2", ["neutral"]),
        row("H2", "W1", ["negative"]),
    ]
    found = EXPORTS["mturk"].read(rows)
    assert found.label == ["positive", "neutral", "negative"]
    with pytest.raises(DataError, match="several answers may be the label"):
        EXPORTS["mturk"].read([*rows, row("H2", "W2", ["negative", "neutral"])])


def test_a_file_without_hits_has_its_items_in_an_input():
    labels = [("a.mp3", "7", "rock"), ("a.mp3", "8", "pop"), ("b.mp3", "7", "pop")]
    results = [
        {
            "WorkerID": worker,
            "Input.song": song,
            "Input.true_label": "pop",
            "Answer.pred_label": said,
        }
        for song, worker, said in labels
    ]
    assert rows(read("mturk", results)) == labels
    assert EXPORTS["mturk"].matches(results)
    two = [row | {"Input.artist": "x"} for row in results]
    with pytest.raises(
        DataError, match=r"several inputs may be the item: Input.song, Input.artist"
    ):
        read("mturk", two)
    ids = [row | {"Input.song_id": row["Input.song"]} for row in two]
    assert rows(read("mturk", ids)) == labels
