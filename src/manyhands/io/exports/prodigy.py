"""Prodigy's JSONL export (db-out): one record per answer of an annotator to a task."""

from collections.abc import Iterator
from typing import Any

from manyhands.annotations.out_of_scope import refusal, tool_for
from manyhands.core.errors import DataError
from manyhands.io.exports.exported import (
    FILE_NAME,
    ExportedLabels,
    LabelRows,
    Record,
    Records,
    field_of,
    is_records,
    pick,
    refuse_spans,
)
from manyhands.io.exports.span_documents import MarkedDocument, MarkedSpan

NAME = "prodigy"
ANSWERS = ("accept", "reject", "ignore")
NOT = "not "  # before a label that an annotator rejected
REMEDY = "annotate with named sessions (?session=name in the address)"
_NAMES = ("_input_hash", "_task_hash", "text")  # of an item
_SPAN_VIEWS = ("ner_manual", "spans_manual", "ner", "spans", "relations")
_BINARY_VIEWS = ("ner", "spans")
_OTHER_VIEWS = {
    "image_manual": "marks regions of pictures", "audio_manual": "marks parts of sounds",
    "text_input": "asks for texts", "dep": "asks about relations", "pos": "asks about words",
    "pos_manual": "asks about words",
}  # fmt: skip
_OF_THE_ANSWER = {"answer", "accept", "_annotator_id", "_session_id", "_timestamp", FILE_NAME}


def matches(content: Any) -> bool:
    """Whether these are answers to Prodigy's tasks."""
    return is_records(content) and all(
        record.get("answer") in ANSWERS
        and {"_input_hash", "_task_hash", "_annotator_id", "_session_id", "_view_id"} & set(record)
        for record in content[:20]
    )


def read(
    content: Any, *, item: str | None = None, annotator: str | None = None, label: str | None = None
) -> ExportedLabels:
    """The labels of a JSONL export.

    The label of a task with options is the option that was chosen. The label of a task that asks
    about one label X is X if it was accepted, and "not X" if it was rejected. The label of a task
    with neither is the answer, accept or reject. Ignored tasks are skipped and counted, as are
    rejected tasks with options.

    Parameters
    ----------
    content : list of dict
        The parsed lines.
    item : str
        Field of a task, or of its `meta`, that names the item; by default `_input_hash`, which is
        the same for equal texts.
    annotator : str
        Field of annotators; by default `_annotator_id`, or `_session_id` in old versions.
    label : str
        The label X to read, if the tasks ask about several.
    """
    records: Records = content
    kind = _kind(records)
    asked = {str(record["label"]): "" for record in records if record.get("label") is not None}
    wanted = pick("label", asked, label) if kind == "label" else None
    places = places_of(records, kind)
    rows = LabelRows(NAME, annotator or places[1], REMEDY, item or places[0], _taken(kind, wanted))
    for record in records:
        name = _item(record, item)
        given = {key: value for key, value in record.items() if key not in _OF_THE_ANSWER}
        rows.data.setdefault(name, given)
        if record.get("answer") not in ("accept", "reject"):
            rows.skipped["ignored" if record.get("answer") == "ignore" else "no answer"] += 1
        elif kind == "choice" and record["answer"] == "reject":
            rows.skipped["rejected"] += 1
        elif kind == "label" and str(record.get("label")) != wanted:
            rows.skipped["another label"] += 1
        else:
            who = field_of(record, annotator) if annotator else annotator_of(record)
            said = _said(record, kind)
            rows.add(name, who, said, time=record.get("_timestamp"), task=record.get("_task_hash"))
    return rows.finish(kind=kind, **({"label": wanted} if wanted is not None else {}))


def places_of(content: Any, label: str) -> tuple[str, str]:
    """Where items and annotators stand."""
    names = [name for name in _NAMES if any(each.get(name) is not None for each in content)]
    old = all(each.get("_annotator_id") is None for each in content)
    sessions = any(each.get("_session_id") is not None for each in content)
    return (names or _NAMES)[0], "_session_id" if old and sessions else "_annotator_id"


def _taken(kind: str, wanted: str | None) -> str:
    """What is the label, in words."""
    return {"choice": "accept (options)", "label": f"{wanted!r} (accept or reject)"}.get(
        kind, "answer (accept or reject)"
    )


def _kind(records: Records) -> str:
    """What the tasks ask for: one of several options, one label, or nothing in particular."""
    kinds = _kinds(records)
    if kinds == {"spans"}:
        raise refuse_spans("the file")
    if len(kinds) > 1:
        raise DataError(
            "the file has several kinds of tasks: " + ", ".join(sorted(kinds)) + "; export one "
            "dataset at a time"
        )
    return kinds.pop()


def _kinds(records: Records) -> set[str]:
    """The kinds of all tasks; a task in which nothing was marked is one of spans beside others."""
    for record in records:
        if record.get("_view_id") in _OTHER_VIEWS:
            about = _OTHER_VIEWS[record["_view_id"]]
            out = {"image_manual": "parts", "text_input": "texts"}.get(record["_view_id"])
            raise DataError(
                f"the view {record['_view_id']!r} {about}, which is not "
                "read; tasks with options, one label or spans of text are"
                + (f"; {tool_for(out)}" if out else "")
            )
        if any("points" in span for span in record.get("spans") or []):
            raise refusal("parts")
    kinds = {
        "choice" if "options" in record or "accept" in record
        else "spans" if record.get("_view_id") in _SPAN_VIEWS
        else "label" if record.get("label") is not None
        else "spans" if record.get("spans") or "relations" in record
        else "answer"
        for record in records
    }  # fmt: skip
    return kinds - {"answer"} if "spans" in kinds else kinds


def span_answers(content: Any) -> dict[str, bool]:
    """What the tasks ask for, and whether it is spans."""
    asked = dict.fromkeys(sorted(_kinds(content)), False)
    if "spans" in asked:
        asked["spans"] = True
    blocks = [each for each in content if each.get("_view_id") == "blocks"]
    if "choice" in asked and any(each.get("spans") for each in blocks):
        asked["spans"] = True  # one page asks for both
    return asked


def documents(
    content: Any, label: str, item: str | None, annotator: str | None
) -> Iterator[MarkedDocument]:
    """What every annotator marked; tasks that were ignored or rejected do not count."""
    for record in content:
        if record.get("_view_id") in _BINARY_VIEWS and record.get("spans"):
            raise DataError(
                f"the view {record['_view_id']!r} asks whether one suggested span is right, which "
                "says nothing about the rest of the text; annotate with ner.manual or ner.correct"
            )
        who = field_of(record, annotator, "meta") if annotator else annotator_of(record)
        text, answer = record.get("text"), str(record.get("answer"))
        if answer != "accept":
            reason = {"ignore": "ignored", "reject": "rejected"}.get(answer, "no answer")
            yield MarkedDocument(_item(record, item), text, who, None, reason)
            continue
        spans = [
            MarkedSpan(each["start"], each["end"], each["label"])  # their texts may be outdated
            for each in record.get("spans") or []
        ]
        tokens = [
            (each["start"], each["end"])
            for each in record.get("tokens") or []
            if str(each["text"]).strip()
        ]
        yield MarkedDocument(
            _item(record, item), text, who, spans, tokens=tokens or None,
            n_relations=len(record.get("relations") or []),
        )  # fmt: skip


def _said(record: Record, kind: str) -> Any:
    if kind == "choice":
        return record.get("accept") or []
    if kind == "label":
        accepted = record["answer"] == "accept"
        return record["label"] if accepted else f"{NOT}{record['label']}"
    return record["answer"]


def _item(record: Record, field: str | None) -> Any:
    if field is not None:
        return field_of(record, field, "meta")
    for name in _NAMES:
        if record.get(name) is not None:
            return record[name]
    return field_of(record, "_input_hash")


def annotator_of(record: Record) -> Any:
    """The annotator; old versions have the session only."""
    found = record.get("_annotator_id")
    return record.get("_session_id") if found is None else found
