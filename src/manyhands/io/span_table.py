"""The rows of a table of spans; columns are found by their names."""

import json
import math
from dataclasses import dataclass
from typing import Any

from manyhands.annotations import Span
from manyhands.annotations.vocabulary import name_to_text
from manyhands.core.errors import DataError, SettingName
from manyhands.core.settings import nearest_names
from manyhands.io.tables import Table

_NAMES = {
    "item": ("document", "doc", "sentence", "item", "id"),
    "text": ("text",),
    "tokens": ("tokens", "words"),
    "annotator": ("annotator", "worker", "user"),
    "start": ("start", "begin", "start_offset"),
    "end": ("end", "stop", "end_offset"),
    "label": ("label", "type", "class", "tag"),
}


@dataclass(frozen=True)
class MarkedSpan:
    """One row of the table; `span` is None if the annotator found no entity."""

    where: str
    document: str
    annotator: str | None
    span: Span | None


def span_cells(table: Table, given: dict[str, str | None]) -> tuple[dict[str, list[Any]], bool]:
    """The columns by role, and whether texts are given as tokens."""
    found = {role: _column(table, role, given.get(role)) for role in _NAMES}
    if found["text"] is not None:
        found["tokens"] = None
    in_tokens = found["tokens"] is not None
    lacking = [r for r in found if found[r] is None and r not in {"text", "tokens"}]
    if lacking or (found["text"] is None and not in_tokens):
        role = lacking[0] if lacking else "text"
        raise DataError(
            f"{table.path}: no column looks like the {role}; name it with ",
            SettingName(role, ...),
            f"; columns: {', '.join(table.columns)}",
        )
    names = {role: name for role, name in found.items() if name is not None}
    taken = table.select(list(dict.fromkeys(names.values())))
    cells = {role: taken[name].to_pylist() for role, name in names.items()}
    return {("text" if role == "tokens" else role): cells[role] for role in cells}, in_tokens


def _column(table: Table, role: str, given: str | None) -> str | None:
    if given is not None and given not in table.columns:
        near = nearest_names(given, table.columns)
        hint = f"did you mean {near[0]}?" if near else f"columns: {', '.join(table.columns)}"
        raise DataError(f"{table.path}: no column {given!r}; {hint}")
    by_lower = {name.lower(): name for name in table.columns}
    return given or next((by_lower[name] for name in _NAMES[role] if name in by_lower), None)


def document_texts(cells: dict[str, list[Any]], wheres: list[str]) -> dict[str, str]:
    """The text of every document by name, in the order of the documents."""
    contents: dict[str, str] = {}
    for where, document, text in zip(wheres, cells["item"], cells["text"], strict=True):
        if is_blank(document):
            raise DataError(f"{where}: the document is blank; every row needs one")
        name, content = name_to_text(document), "" if text is None else str(text)
        before = contents.setdefault(name, content)
        if not before:
            contents[name] = content
        elif content and content != before:
            raise DataError(f"{where}: the document {name!r} has another text in an earlier row")
    for name, text in contents.items():
        if not text:
            raise DataError(f"document {name!r}: no row gives its text; give it once")
    return contents


def listed_words(text: str, where: str) -> list[str]:
    """The words of a text that is a JSON list."""
    try:
        words = json.loads(text)
    except ValueError:
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
        raise DataError(f'{where}: tokens must be a JSON list like ["Anna", "sang"]')
    return words


def marked_span(cells: dict[str, list[Any]], row: int, where: str) -> MarkedSpan:
    """One row of the table."""
    start, end, label = (cells[role][row] for role in ("start", "end", "label"))
    annotator = cells["annotator"][row]
    who = None if is_blank(annotator) else name_to_text(annotator)
    document = name_to_text(cells["item"][row])
    blank = [is_blank(value) for value in (start, end, label)]
    if all(blank):
        return MarkedSpan(where, document, who, None)
    if any(blank) or who is None:
        raise DataError(f"{where}: a span needs an annotator, a start, an end and a label")
    span = Span(_whole(start, where), _whole(end, where), str(label).strip())
    return MarkedSpan(where, document, who, span)


def is_blank(value: Any) -> bool:
    """Whether a cell holds nothing, or white space of any kind."""
    nothing = value is None or (isinstance(value, float) and math.isnan(value))
    return nothing or not str(value).strip()


def _whole(value: Any, where: str) -> int:
    text = name_to_text(value).strip().removesuffix(".0")  # pandas writes columns with blanks so
    if not text.isdecimal():
        raise DataError(f"{where}: {text!r} is not a whole number >= 0; offsets count from 0")
    return int(text)
