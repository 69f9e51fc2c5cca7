"""Spans of texts in exports become a table of spans."""

import pytest
from test_exports_label_studio import annotation, task
from test_exports_prodigy import answer
from test_exports_records import document

from manyhands.core.errors import DataError
from manyhands.io import read_spans, write_table
from manyhands.io.exports import SpansError, read_marked_spans, recognise

TEXT = "😀 Anna saw Oslo"


def marked(start, end, label, text=None):
    value = {"start": start, "end": end, "labels": [label] if isinstance(label, str) else label}
    value |= {"text": text} if text else {}
    return {"from_name": "ner", "to_name": "text", "type": "labels", "value": value}


def places(spans):
    return list(zip(*(spans.columns[name] for name in ("start", "end", "label")), strict=True))


def test_spans_of_label_studio(tmp_path):
    tasks = [
        task(
            1,
            annotation(11, 7, marked(2, 6, "PER"), marked(11, 15, "LOC")),
            annotation(12, 8),
            annotation(13, 9, was_cancelled=True),
            text=TEXT,
        )
    ]
    spans = read_marked_spans(tasks)
    assert places(spans) == [(2, 6, "PER"), (11, 15, "LOC"), (None, None, None)]
    assert (spans.tool, spans.skipped) == ("label-studio", {"cancelled": 1})
    write_table(spans.columns, tmp_path / "spans.csv")
    labels = read_spans(tmp_path / "spans.csv").labels
    assert labels.annotations.n_annotators == 2
    assert {"O", "B-PER", "B-LOC"} <= set(labels.annotations.classes.tolist())
    with pytest.raises(SpansError):
        recognise(tasks).read(tasks)


@pytest.mark.parametrize("place", [(2, 6), (2, 5), (3, 7)])
def test_places_are_checked_against_the_text_of_a_span(place):
    # The characters, the last one included, and as a browser counts them.
    tasks = [task(1, annotation(11, 7, marked(*place, "PER", "Anna")), text=TEXT)]
    assert places(read_marked_spans(tasks)) == [(2, 6, "PER")]


def test_a_place_that_contradicts_its_text_is_refused():
    tasks = [task(1, annotation(11, 7, marked(8, 11, "PER", "Anna")), text=TEXT)]
    with pytest.raises(DataError, match="the span 8 to 11 is"):
        read_marked_spans(tasks)


def counted(*others):
    """Twenty texts with a span each, and spans besides."""
    tasks = [task(n, annotation(n, 7, marked(2, 6, "PER")), text=TEXT) for n in range(20)]
    return [*tasks, task(99, annotation(99, 7, *others), text=TEXT)]


def test_spans_with_several_labels_are_counted():
    spans = read_marked_spans(counted(marked(2, 6, ["PER", "LOC"])))
    assert places(spans)[-1] == (None,) * 3
    assert spans.skipped == {"several labels at once": 1}
    with pytest.raises(DataError, match="1 of 1 spans: several labels at once"):
        read_marked_spans(counted(marked(2, 6, ["PER", "LOC"]))[-1:])


def test_spans_that_overlap_are_counted():
    both = marked(2, 10, "PER"), marked(7, 15, "LOC"), marked(2, 10, "PER")
    spans = read_marked_spans(counted(*both))
    assert places(spans)[-1] == (2, 10, "PER")
    assert spans.skipped == {"span marked twice": 1, "span that overlaps an earlier one": 1}
    with pytest.raises(DataError, match="overlaps an earlier one; a token has one tag"):
        read_marked_spans(counted(*both)[-1:])


def test_spans_of_prodigy():
    span = {"start": 0, "end": 5, "label": "ADJ", "token_start": 0, "token_end": 0}
    records = [
        answer(1, "ann", spans=[span], _view_id="ner_manual"),
        answer(1, "bob", spans=[], _view_id="ner_manual"),
        answer(2, "ann", "ignore", _view_id="ner_manual"),
        answer(2, "bob", "reject", spans=[span], _view_id="ner_manual"),
    ]
    spans = read_marked_spans(records)
    assert places(spans) == [(0, 5, "ADJ"), (None, None, None)]
    assert spans.skipped == {"ignored": 1, "rejected": 1}
    assert spans.columns["document"] == ["-101", "-101"]


def test_spans_of_doccano():
    users = {"zoë": [document(1, [0, 5, "NOUN"])], "max": [document(1)]}
    spans = read_marked_spans(users)
    assert places(spans) == [(0, 5, "NOUN"), (None, None, None)]
    assert spans.columns["annotator"] == ["zoë", "max"]
    with pytest.raises(DataError, match="does not tell who labelled"):
        read_marked_spans(users["zoë"])


def test_broken_entries_and_missing_annotators():
    records = [answer(1, "ann", spans=[{"start": 0}], _view_id="ner_manual")]
    with pytest.raises(DataError, match="does not have the form that Prodigy"):
        read_marked_spans(records)
    with pytest.raises(DataError, match="1 texts have no annotator; annotate with named sessions"):
        read_marked_spans([answer(1, None, spans=[], _view_id="ner_manual")])


def test_other_tools_have_no_spans():
    with pytest.raises(DataError, match="exports of Prodigy, Label Studio, Argilla, doccano"):
        read_marked_spans([{"task": 1, "worker": 2, "label": 3}])
