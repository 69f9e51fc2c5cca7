"""Prodigy's JSONL export."""

import pytest

from manyhands.core.errors import DataError
from manyhands.io.exports import EXPORTS, recognise

OPTIONS = [{"id": "CAT", "text": "cat"}, {"id": "DOG", "text": "dog"}]


def answer(number, who, said="accept", **fields):
    hashes = {"_input_hash": -100 - number, "_task_hash": 900 + number, "_timestamp": 1700000000}
    person = {"_annotator_id": f"pets-{who}", "_session_id": f"pets-{who}"} if who else {}
    return {"text": f"naïve № {number}", "answer": said} | hashes | person | fields


def read(records, **options):
    found = recognise(records)
    assert found is EXPORTS["prodigy"]
    return found.read(records, **options)


def test_options():
    records = [
        answer(1, "ann", options=OPTIONS, accept=["CAT"], _view_id="choice"),
        answer(1, "bob", options=OPTIONS, accept=["DOG"], _view_id="choice"),
        answer(2, "ann", "ignore", options=OPTIONS, accept=[]),
        answer(2, "bob", "reject", options=OPTIONS, accept=["CAT"]),
        answer(3, "bob", options=OPTIONS, accept=[]),
    ]
    labels = read(records)
    assert labels.item == [-101, -101]
    assert labels.annotator == ["pets-ann", "pets-bob"]
    assert labels.label == ["CAT", "DOG"]
    assert labels.skipped == {"ignored": 1, "rejected": 1, "no label": 1}
    assert labels.texts[-103] == "naïve № 3"
    assert labels.extras["time"] == [1700000000] * 2


def test_options_with_numbers():
    options = [{"id": n, "text": str(n)} for n in (-1, 0, 1)]
    records = [answer(n, "ann", options=options, accept=[n - 1]) for n in range(3)]
    assert read(records).label == [-1, 0, 1]


def test_several_options_are_refused():
    records = [answer(1, "ann", options=OPTIONS, accept=["CAT", "DOG"])]
    with pytest.raises(DataError, match="several labels of one annotator"):
        read(records)


def test_a_label_is_accepted_or_rejected():
    records = [
        answer(1, "ann", label="SPAM"),
        answer(1, "bob", "reject", label="SPAM"),
        answer(2, "bob", "ignore", label="SPAM"),
    ]
    labels = read(records)
    assert labels.label == ["SPAM", "not SPAM"]
    assert labels.skipped == {"ignored": 1}


def test_one_of_several_labels_is_named():
    records = [answer(1, "ann", label="SPAM"), answer(1, "ann", "reject", label="RUDE")]
    with pytest.raises(DataError, match="several labels may be the label: SPAM, RUDE"):
        read(records)
    labels = read(records, label="RUDE")
    assert (labels.label, labels.skipped) == (["not RUDE"], {"another label": 1})


def test_answers_to_tasks_without_labels():
    records = [answer(1, "ann", image="a.png"), answer(1, "bob", "reject", image="a.png")]
    assert read(records).label == ["accept", "reject"]


def test_spans_are_refused():
    span = {"start": 0, "end": 3, "label": "PER"}
    records = [answer(1, "ann", spans=[span], _view_id="ner_manual"), answer(2, "ann")]
    with pytest.raises(DataError, match="the file marks spans of text"):
        read(records)


def test_kinds_of_tasks_are_not_mixed():
    records = [answer(1, "ann", label="SPAM"), answer(2, "ann", options=OPTIONS, accept=["CAT"])]
    with pytest.raises(DataError, match="several kinds of tasks: choice, label"):
        read(records)


def test_annotators():
    records = [answer(1, None, label="SPAM")]
    with pytest.raises(DataError, match=r"no annotator \(_annotator_id\); annotate with named"):
        read(records)
    records = [answer(1, "ann", label="SPAM", meta={"id": "doc-1"})]
    del records[0]["_annotator_id"]
    assert read([answer(1, "ann", label="SPAM", _annotator_id=0)]).annotator == [0]
    labels = read(records, item="id")
    assert (labels.item, labels.annotator) == (["doc-1"], ["pets-ann"])
