"""Label Studio's exports: JSON, JSON-MIN and CSV."""

import json

import pytest

import manyhands as mh
from manyhands.core.errors import DataError
from manyhands.io.exports import EXPORTS, recognise


def choices(*chosen, control="mood", about="text"):
    value = {"choices": list(chosen)}
    return {"from_name": control, "to_name": about, "type": "choices", "id": "x1", "value": value}


def result(kind, value, control):
    return {"from_name": control, "to_name": "text", "type": kind, "value": {kind: value}}


def annotation(number, who, *results, **fields):
    given = {"was_cancelled": False, "ground_truth": False, "lead_time": 2.5 * number}
    return {"id": number, "completed_by": who, "result": list(results)} | given | fields


def task(number, *annotations, text="Über alles: 好", **fields):
    return {"id": number, "data": {"text": text}, "annotations": list(annotations)} | fields


def read(tasks, **options):
    found = recognise(tasks)
    assert found is EXPORTS["label-studio"]
    return found.read(tasks, **options)


def rows(labels):
    return list(zip(labels.item, labels.annotator, labels.label, strict=True))


def test_choices_of_several_annotators():
    anna = {"id": 7, "email": "anna@example.org", "first_name": "Anna"}
    tasks = [
        task(1, annotation(11, anna, choices("good")), annotation(12, 8, choices("bad"))),
        task(2, annotation(13, 8, choices("good"))),
        task(3),
    ]
    labels = read(tasks)
    assert rows(labels) == [(1, "anna@example.org", "good"), (1, 8, "bad"), (2, 8, "good")]
    assert labels.extras["annotation_id"] == [11, 12, 13]
    assert labels.extras["lead_time"] == [27.5, 30.0, 32.5]
    assert labels.texts[3] == "Über alles: 好"
    assert labels.skipped == {}
    assert labels.question == {"from_name": "mood", "to_name": "text", "type": "choices"}
    assert read(tasks[:1], annotator="id").annotator != [8]


def test_what_is_no_label_is_counted():
    tasks = [
        task(
            1,
            annotation(11, 7, choices("good")),
            annotation(12, 8, was_cancelled=True),
            annotation(13, 9),
            drafts=[{"id": 4}],
            predictions=[{"model_version": "m", "result": []}, {"model_version": "n"}],
        ),
        task(
            2,
            annotation(14, 7, choices("bad"), ground_truth=True),
            annotation(15, 8, choices("bad")),
        ),
    ]
    labels = read(tasks)
    assert rows(labels) == [(1, 7, "good"), (2, 8, "bad")]
    assert labels.skipped == {"draft": 1, "prediction": 2, "cancelled": 1, "no label": 1}
    assert labels.known == {2: "bad"}


def test_a_truth_of_an_item_that_nobody_labelled_is_counted():
    tasks = [
        task(1, annotation(11, 7, choices("good"))),
        task(2, annotation(12, 7, choices("bad"), ground_truth=True)),
    ]
    labels = read(tasks)
    assert labels.known == {}
    assert labels.skipped == {"truth of an item that nobody labelled": 1}


def test_truths_that_differ_are_none():
    truths = [
        annotation(n, 7, choices(said), ground_truth=True) for n, said in ((1, "a"), (2, "b"))
    ]
    labels = read([task(1, *truths, annotation(3, 8, choices("a")))])
    assert (labels.known, labels.skipped) == ({}, {"truths that differ": 1})


@pytest.mark.parametrize(
    ("kind", "value", "label"),
    [
        ("rating", 4, 4),
        ("number", 3.5, 3.5),
        ("number", 0, 0),
        ("taxonomy", [["animal", "cat"]], "animal / cat"),
        ("choices", ["3"], "3"),
    ],
)
def test_types_of_controls(kind, value, label):
    labels = read([task(1, annotation(1, 7, result(kind, value, "q")))])
    assert labels.label == [label]
    assert labels.question["type"] == kind


def test_one_of_several_controls_is_named():
    tasks = [task(1, annotation(1, 7, choices("good"), result("rating", 4, "stars")))]
    with pytest.raises(
        DataError, match=r"mood \(choices\), stars \(rating\); name one with label="
    ):
        read(tasks)
    assert read(tasks, label="stars").label == [4]
    with pytest.raises(DataError, match="no control 'star'; did you mean stars"):
        read(tasks, label="star")


def test_a_comment_is_no_label():
    comment = {"from_name": "why", "to_name": "text", "type": "textarea", "value": {"text": ["so"]}}
    assert read([task(1, annotation(1, 7, choices("good"), comment))]).label == ["good"]


def test_spans_and_regions_are_refused():
    value = {"start": 0, "end": 4, "labels": ["PER"]}
    span = {"from_name": "ner", "to_name": "text", "type": "labels", "value": value}
    with pytest.raises(DataError, match="'ner' marks spans of text"):
        read([task(1, annotation(1, 7, span))])
    both = [task(1, annotation(1, 7, span, choices("good")))]
    assert read(both).label == read(both, label="mood").label == ["good"]
    assert read(both).skipped == {"span of text": 1}
    box = span | {"type": "rectanglelabels", "value": {"x": 1, "y": 2, "rectanglelabels": ["cat"]}}
    with pytest.raises(DataError, match="'ner' marks regions"):
        read([task(1, annotation(1, 7, box))])
    region = choices("good")
    region["value"] |= {"start": 0, "end": 4}
    with pytest.raises(DataError, match="labels regions"):
        read([task(1, annotation(1, 7, region))])


def test_several_choices_are_refused_or_counted():
    tasks = [task(n, annotation(n, 7, choices("good"))) for n in range(20)]
    tasks[0] = task(0, annotation(0, 7, choices("good", "bad")))
    assert read(tasks).skipped == {"several labels at once": 1}
    with pytest.raises(DataError, match="item 0 has several labels of one annotator"):
        read(tasks[:5])


def test_missing_annotators_and_items():
    with pytest.raises(DataError, match=r"item 1 has no annotator \(completed_by\)"):
        read([task(1, annotation(1, None, choices("good")))])
    nameless = [task(None, annotation(1, 7, choices("good")))]
    with pytest.raises(DataError, match="task 0 has no id"):
        read(nameless)
    assert read(nameless, item="text").item == ["Über alles: 好"]
    with pytest.raises(DataError, match="no field 'txt'; did you mean text"):
        read(nameless, item="txt")


def test_an_export_without_labels():
    with pytest.raises(DataError, match="no control with labels"):
        read([task(1, annotation(1, 7, was_cancelled=True))])
    truth = annotation(1, 7, choices("good"), ground_truth=True)
    with pytest.raises(
        DataError, match=r"no label of an annotator; what it has: known truths \(1\)"
    ):
        read([task(1, truth)])


def record(number, who, **fields):
    own = {"id": number, "annotator": who, "annotation_id": 10 * number, "lead_time": 3.2}
    return {"text": f"text {number}", "source": "web"} | own | fields


def flat(records, **options):
    found = recognise(records)
    assert found is EXPORTS["label-studio-table"]
    return found.read(records, **options)


def test_json_min():
    records = [record(1, 7, mood="good"), record(1, 8, mood="bad"), record(2, 7, mood="good")]
    labels = flat(records)
    assert rows(labels) == [(1, 7, "good"), (1, 8, "bad"), (2, 7, "good")]
    assert labels.data[2] == {"text": "text 2", "source": "web"}
    assert labels.extras["annotation_id"] == [10, 10, 20]


def test_json_min_with_ratings_and_several_choices():
    records = [record(n, 7, stars=[{"rating": n}], mood="fine") for n in (1, 2, 3)]
    labels = flat(records)
    assert (labels.label, labels.question["type"]) == ([1, 2, 3], "rating")
    several = [record(n, 7, mood={"choices": ["a", "b"]}) for n in (1, 2)]
    with pytest.raises(DataError, match="several labels of one annotator"):
        flat(several)


def test_unanimous_json_min_is_read_or_refused():
    two = [record(n, who, mood="ab"[n % 2]) for n in range(4) for who in (7, 8)]
    with pytest.raises(DataError, match=r"source .*, mood .*; name one with label="):
        flat(two)
    assert flat(two, label="mood").label == list("aabbaabb")
    one = [{k: v for k, v in each.items() if k != "source"} for each in two]
    assert flat(one).label == list("aabbaabb")


def test_csv_cells_are_text():
    cells = json.dumps([{"number": 2.5}])
    base = {"created_at": "2024-03-01T10:00:00Z", "was_cancelled": "False"}
    records = [
        record("1", "7", score=cells, **base),
        record("1", "8", score=json.dumps([{"number": 4}]), **base),
        record("2", "7", score="", **base | {"was_cancelled": "True"}),
        record("2", "8", score="", **base),
    ]
    labels = flat(records)
    assert rows(labels) == [("1", "7", 2.5), ("1", "8", 4)]
    assert labels.skipped == {"cancelled": 1, "no label": 1}


def test_spans_in_json_min_are_refused():
    spans = [{"start": 0, "end": 3, "text": "Ann", "labels": ["PER"]}]
    with pytest.raises(DataError, match="the column 'ner' marks spans"):
        flat([record(1, 7, ner=spans)])


def test_json_min_without_ids_needs_a_column_of_items():
    records = [record(1, 7, mood="good"), record(1, 8, mood="bad")]
    for each in records:
        del each["id"]
    with pytest.raises(DataError, match="name the column of items with item="):
        flat(records)
    assert flat(records, item="text").item == ["text 1", "text 1"]


@pytest.mark.parametrize("name", ["sentiment", "verdict_of_people"])
def test_a_table_of_few_tasks_on_which_all_agree(name, tmp_path):
    head = f"id,annotation_id,annotator,{name},text,lead_time,created_at"
    rows = ["1,11,1,pos,a b,2.1,2024", "1,12,2,pos,a b,2.5,2024", "2,21,1,neg,c d,2.2,2024"]
    (tmp_path / "export.csv").write_text("\n".join([head, *rows]) + "\n")
    if name == "sentiment":
        ann = mh.read(tmp_path / "export.csv")
    else:
        with pytest.raises(DataError, match=r"label='verdict_of_people'"):
            mh.read(tmp_path / "export.csv")
        ann = mh.read(tmp_path / "export.csv", label=name)
    assert (ann.n_annotations, ann.classes.tolist()) == (3, ["neg", "pos"])
