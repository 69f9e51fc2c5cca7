"""Spans of texts in the exports of Label Studio, Prodigy and doccano -> a table of spans."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from manyhands.annotations.labels import is_blank
from manyhands.core.errors import DataError
from manyhands.io.exports import doccano, label_studio, prodigy
from manyhands.io.exports.exported import NO_ANNOTATOR, SEVERAL, Record, pick, well_formed

COLUMNS = ("document", "text", "annotator", "start", "end", "label")


@dataclass(frozen=True)
class ExportedSpans:
    """Marked spans: `columns` is a table for `write_table`, which `read_spans` reads.

    A row without start, end and label means that the annotator marked nothing in the document.
    """

    tool: str
    columns: dict[str, list[Any]]
    skipped: dict[str, int] = field(default_factory=dict)


class _Span(NamedTuple):
    start: Any
    end: Any
    label: Any
    marked: str | None = None  # the text of the span, if the export has it


class _Document(NamedTuple):
    """What one annotator marked in one document; `spans` are None if it does not count."""

    name: Any
    text: Any
    annotator: Any
    spans: list[_Span] | None
    skipped: str = ""


def read_marked_spans(content: Any, *, label: str | None = None) -> ExportedSpans:
    """The spans of an export of Label Studio (JSON), Prodigy or doccano (a file per user).

    Cancelled, ignored and rejected annotations are skipped and counted, as are spans with several
    labels. `label` names the control of Label Studio, if several mark spans.
    """
    matches = (name for name, each in _READERS.items() if each[0](content))
    tool = next(matches, None)
    if tool is None:
        raise DataError(f"spans are read from the exports of {', '.join(_READERS)} only")
    rows: list[tuple[Any, ...]] = []
    skipped: Counter[str] = Counter()
    with well_formed(tool):
        for each in _READERS[tool][1](content, label):
            rows += _rows(each, skipped)
    if not rows:
        why = ", ".join(f"{reason} ({n})" for reason, n in skipped.items())
        raise DataError(f"the export has no document that an annotator looked through; {why}")
    columns = {
        name: list(cells) for name, cells in zip(COLUMNS, zip(*rows, strict=True), strict=True)
    }
    return ExportedSpans(tool, columns, {reason: n for reason, n in skipped.items() if n})


def _rows(document: _Document, skipped: Counter[str]) -> list[tuple[Any, ...]]:
    """The rows of a document; what is left out is counted."""
    if document.spans is None:
        skipped[document.skipped] += 1
        return []
    if is_blank(document.annotator):
        skipped[NO_ANNOTATOR] += 1
        return []
    spans = [span for span in document.spans if not isinstance(span.label, list)]
    skipped[SEVERAL] += len(document.spans) - len(spans)
    head = str(document.name), _text(document), str(document.annotator)
    found = [(*head, *_place(span, document), str(span.label)) for span in spans]
    return found or [(*head, None, None, None)]


def _label_studio(content: Any, label: str | None) -> Iterator[_Document]:
    tasks = [content] if isinstance(content, Mapping) else content
    found = {
        str(result["from_name"]): str(result.get("value", {}).get("text"))
        for task in tasks
        for annotation in label_studio.annotations_of(task)
        for result in label_studio.results_of(annotation)
        if result.get("type") == "labels"
    }
    control = pick("control", dict.fromkeys(found, "labels"), label)
    for task in tasks:
        words = [each for each in task["data"].values() if isinstance(each, str)]
        text = task["data"].get("text") or (words[0] if len(words) == 1 else None)
        for annotation in label_studio.annotations_of(task):
            name, who = task["id"], label_studio.annotator_of(annotation, None)
            if label_studio.is_cancelled(annotation):
                yield _Document(name, text, who, None, "cancelled")
                continue
            values = [
                result["value"]
                for result in label_studio.results_of(annotation)
                if result["from_name"] == control
            ]
            yield _Document(name, text, who, [
                _Span(each["start"], each["end"], _only(each["labels"]), each.get("text"))
                for each in values
            ])  # fmt: skip


def _prodigy(content: Any, label: str | None) -> Iterator[_Document]:
    for record in content:
        name, who = record.get("_input_hash", record["text"]), prodigy.annotator_of(record)
        if record.get("answer") != "accept":
            yield _Document(name, record["text"], who, None, _reason(record))
            continue
        spans = [
            _Span(each["start"], each["end"], each["label"]) for each in record.get("spans") or []
        ]
        yield _Document(name, record["text"], who, spans)


def _reason(record: Record) -> str:
    return {"ignore": "ignored", "reject": "rejected"}.get(str(record.get("answer")), "no answer")


def _doccano(content: Any, label: str | None) -> Iterator[_Document]:
    if not isinstance(content, Mapping) or set(content) == {doccano.SHARED}:
        raise DataError(f"the export does not tell annotators apart; {doccano.REMEDY}")
    for user, records in content.items():
        for record in records:
            marked = record.get("label", record.get("entities")) or []
            spans = [_Span(*each[:3]) for each in marked if isinstance(each, list)]
            yield _Document(record["id"], record["text"], user, spans)


_READERS: dict[
    str, tuple[Callable[[Any], bool], Callable[[Any, str | None], Iterator[_Document]]]
] = {
    prodigy.NAME: (prodigy.matches, _prodigy),
    label_studio.NAME: (label_studio.matches, _label_studio),
    doccano.NAME: (doccano.matches, _doccano),
}


def _only(labels: list[Any]) -> Any:
    return labels[0] if len(labels) == 1 else labels


def _text(document: _Document) -> str:
    if not isinstance(document.text, str) or not document.text:
        raise DataError(f"document {document.name!r} has no text, or several that may be it")
    return document.text


def _place(span: _Span, document: _Document) -> tuple[int, int]:
    """The characters of a span, checked against its text if the export has it.

    A browser counts some characters, such as emoji, as two; some exports name the last character
    of a span, and others the one after it.
    """
    text, start, end = _text(document), int(span.start), int(span.end)
    if span.marked is None or text[start:end] == span.marked:
        return start, end
    if text[start : end + 1] == span.marked:
        return start, end + 1
    units = text.encode("utf-16-le")
    before, within = units[: 2 * start], units[2 * start : 2 * end]
    if within.decode("utf-16-le", "replace") == span.marked:
        first = len(before.decode("utf-16-le", "replace"))
        return first, first + len(span.marked)
    raise DataError(
        f"document {document.name!r}: the span {start} to {end} is {text[start:end]!r} in the text "
        f"and {span.marked!r} in the export; correct it"
    )
