"""Spans of a consensus as annotation tools import them: Label Studio, Prodigy, Argilla, doccano."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from manyhands.core.errors import DataError, SettingName
from manyhands.io.exports import argilla, mturk
from manyhands.io.exports.exported import FILE_NAME, TITLES, Records, field_of
from manyhands.io.exports.label_studio import annotations_of, own_of, results_of
from manyhands.io.exports.suggestions import Entry, ToolItems, bare_entry


class SuggestedSpan(NamedTuple):
    """A span of the consensus: characters of its text, type and confidence."""

    start: int
    end: int
    label: str
    score: float
    words: str


class MarkedText(NamedTuple):
    """The spans of one document; `score` is the confidence of its least confident token."""

    item: Any
    text: str
    spans: list[SuggestedSpan]
    score: float


def span_items(tool: str, content: Any, answer: str, item: str | None = None) -> ToolItems:
    """What the parsed export of a tool has of its documents, to write spans back.

    Parameters
    ----------
    tool : str
        Name of the format in `EXPORTS`.
    content : list of dict or dict
        The parsed file.
    answer : str
        The control, question or field that holds the spans.
    item : str
        Field that names the document, if it is not the id that the tool gives it.
    """
    data: dict[Any, dict[str, Any]] = {}
    own: dict[Any, dict[str, Any]] = {}
    question: dict[str, Any] = {"kind": "spans", "question": answer}
    if tool == mturk.NAME:
        item = item or mturk.item_column(content)
    records = argilla.records_of(content) if tool == argilla.NAME else _records(content)
    fields = argilla.fields_of(records) if tool == argilla.NAME else map(_data_of(tool), records)
    for record, kept in zip(records, fields, strict=True):
        name = _name(record, item)
        data.setdefault(name, {key: cell for key, cell in kept.items() if key != answer})
        own.setdefault(name, argilla.own_of(record) if tool == argilla.NAME else own_of(record))
        for annotation in annotations_of(record) if tool == "label-studio" else ():
            for result in results_of(annotation):
                if result["from_name"] == answer:
                    question |= {key: result.get(key) for key in ("from_name", "to_name", "type")}
    return ToolItems(tool, data, own, question)


def _data_of(tool: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """What the record of a tool has of its document."""
    if tool == "label-studio":
        return lambda record: dict(record["data"])
    if tool == mturk.NAME:
        return mturk.inputs_of
    return lambda record: {key: record[key] for key in record if key not in _OF_ANSWERS}


def span_suggestion(marked: MarkedText, items: ToolItems, version: str) -> Entry:
    """A document with the spans of the consensus, as its tool imports it."""
    require_span_tool(items.tool)
    return _MAKERS[items.tool](marked, items, version)


def require_span_tool(tool: str) -> None:
    """Raise a `DataError` for a tool that does not import spans."""
    if tool not in _MAKERS:
        raise DataError(
            f"spans go back into {', '.join(TITLES[name] for name in _MAKERS)}, and these are from "
            f"{TITLES.get(tool, tool)}; write them as a table (write_table, --spans FILE)"
        )


def _label_studio(marked: MarkedText, items: ToolItems, version: str) -> Entry:
    if items.question.get("type") != "labels":
        raise DataError(
            f"the control {items.question['question']!r} is of type {items.question.get('type')}; "
            "spans go back into controls of type labels: name one with ", SettingName("label", ...),
        )  # fmt: skip
    place = {key: items.question[key] for key in ("from_name", "to_name", "type")}
    result = [
        {"id": f"result{number}"} | place | {
            "score": span.score,
            "value": {
                "start": _units(marked.text, span.start), "end": _units(marked.text, span.end),
                "text": span.words, "labels": [span.label],
            },
        }
        for number, span in enumerate(marked.spans, 1)
    ]  # fmt: skip
    prediction = {"model_version": version, "score": marked.score, "result": result}
    return bare_entry(marked.item, items) | {"predictions": [prediction]}


def _prodigy(marked: MarkedText, items: ToolItems, version: str) -> Entry:
    task = bare_entry(marked.item, items)
    tokens = task.get("tokens") or []
    starts = {token["start"]: token["id"] for token in tokens}
    ends = {token["end"]: token["id"] for token in tokens}
    spans: list[Entry] = []
    for span in marked.spans:
        entry: Entry = {"start": span.start, "end": span.end, "label": span.label}
        if span.start in starts and span.end in ends:
            entry |= {"token_start": starts[span.start], "token_end": ends[span.end]}
        spans.append(entry)
    meta = (task.get("meta") or {}) | {"score": marked.score, "model_version": version}
    return task | {"spans": spans, "meta": meta}


def _argilla(marked: MarkedText, items: ToolItems, version: str) -> Entry:
    value = [
        {"start": span.start, "end": span.end, "label": span.label} for span in marked.spans
    ]  # fmt: skip
    suggestion = {"value": value, "score": [span.score for span in marked.spans], "agent": version}
    named = {items.question["question"]: suggestion} if value else {}
    return bare_entry(marked.item, items) | {"suggestions": named}


def _doccano(marked: MarkedText, items: ToolItems, version: str) -> Entry:
    spans = [[span.start, span.end, span.label] for span in marked.spans]
    return bare_entry(marked.item, items) | {"label": spans}


_MAKERS: dict[str, Callable[[MarkedText, ToolItems, str], Entry]] = {
    "label-studio": _label_studio,
    "prodigy": _prodigy,
    "argilla": _argilla,
    "doccano": _doccano,
}
# Fields of a record that hold answers, or what a tool adds to them.
_OF_ANSWERS = {
    "id", "answer", "accept", "spans", "label", "labels", "entities", "relations", "annotations",
    "predictions", "drafts", "responses", "suggestions", "Comments", "_annotator_id", "_session_id",
    "_timestamp", FILE_NAME,
}  # fmt: skip


def _records(content: Any) -> Records:
    """The records of an export; doccano has those of every user in a file of their own."""
    if not isinstance(content, Mapping):
        return list(content)
    if "data" in content or "id" in content:
        return [content]
    return [record for records in content.values() for record in records]


def _name(record: Mapping[str, Any], item: str | None) -> Any:
    if item is not None:
        return field_of(record, item, "data", "fields", "meta", "metadata")
    found = (record.get(key) for key in ("id", "external_id", "_input_hash", "_server_id", "text"))
    return next(name for name in found if name is not None)


def _units(text: str, place: int) -> int:
    """A place in a text as browsers count it: some characters, such as emoji, are two."""
    return len(text[:place].encode("utf-16-le", "surrogatepass")) // 2
