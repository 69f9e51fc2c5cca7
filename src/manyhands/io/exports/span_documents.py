"""Documents in which annotators marked spans of text, in one form for all tools."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from manyhands.annotations.labels import is_blank
from manyhands.core.errors import DataError
from manyhands.io.exports.exported import NO_ANNOTATOR, SEVERAL

OVERLAPPING = "span that overlaps an earlier one"
GROUND_TRUTH = "ground truth"  # in place of an annotator


class MarkedSpan(NamedTuple):
    """A span as the tool has it: `end` may or may not be included."""

    start: Any
    end: Any
    label: Any
    marked: str | None = None  # the text of the span, if the export has it


class MarkedDocument(NamedTuple):
    """What one annotator marked in one document; `spans` are None if it does not count."""

    name: Any
    text: Any
    annotator: Any
    spans: list[MarkedSpan] | None
    skipped: str = ""
    tokens: list[tuple[int, int]] | None = None  # the characters of the tool's own tokens
    n_relations: int = 0
    is_truth: bool = False


class SpanRow(NamedTuple):
    """One row of a table of spans; without a start the annotator marked nothing."""

    document: str
    text: str
    annotator: str
    start: int | None
    end: int | None
    label: str | None


def rows_of(document: MarkedDocument, skipped: Counter[str]) -> list[SpanRow]:
    """The rows of a document; what is left out is counted."""
    skipped["relation"] += document.n_relations
    if document.spans is None:
        skipped[document.skipped] += 1
        return []
    if is_blank(document.annotator):
        skipped[NO_ANNOTATOR] += 1
        return []
    head = str(document.name), _text(document), str(document.annotator)
    placed = [(*_place(span, document), span.label) for span in document.spans]
    single = [each for each in placed if not isinstance(each[2], list)]
    unlabelled = [each for each in single if is_blank(each[2])]
    kept = list(dict.fromkeys(each for each in single if not is_blank(each[2])))
    skipped[SEVERAL] += len(placed) - len(single)
    skipped["span without a label"] += len(unlabelled)
    skipped["span marked twice"] += len(single) - len(unlabelled) - len(kept)
    apart = [each for place, each in enumerate(kept) if not _overlaps(each, kept[:place])]
    skipped[OVERLAPPING] += len(kept) - len(apart)
    found = [SpanRow(*head, start, end, str(label)) for start, end, label in apart]
    return found or [SpanRow(*head, None, None, None)]


def _overlaps(span: tuple[int, int, Any], others: list[tuple[int, int, Any]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end, _ in others)


def text_field(fields: Iterator[tuple[Mapping[str, Any], list[MarkedSpan]]]) -> str | None:
    """The field that holds the marked text: `text`, the only one of words, or the one that fits.

    `fields` are the data of every document together with spans of it. A field fits if it has the
    text of all spans at their places.
    """
    common: dict[str, None] | None = None
    fitting: dict[str, bool] = {}
    for data, spans in fields:
        words = [name for name, value in data.items() if isinstance(value, str)]
        common = dict.fromkeys(words if common is None else [w for w in words if w in common])
        for name in words:
            fits = all(_fits(str(data[name]), span) for span in spans)
            fitting[name] = fitting.get(name, True) and fits
    candidates = list(common or ())
    if len(candidates) > 1:
        candidates = [name for name in candidates if fitting[name]] or candidates
    if "text" in candidates:
        return "text"
    return candidates[0] if len(candidates) == 1 else None


def _fits(text: str, span: MarkedSpan) -> bool:
    return _found(span, text) is not None


def _text(document: MarkedDocument) -> str:
    if not isinstance(document.text, str) or not document.text:
        raise DataError(
            f"document {document.name!r} has no text, or several that may be it; name the field of "
            "the marked text `text` in the file"
        )
    return document.text


def _place(span: MarkedSpan, document: MarkedDocument) -> tuple[int, int]:
    """The characters of a span, checked against its text if the export has it."""
    text = _text(document)
    found = _found(span, text)
    if found is None:
        start, end = int(span.start), int(span.end)
        raise DataError(
            f"document {document.name!r}: the span {start} to {end} is {text[start:end]!r} in the "
            f"text and {span.marked!r} in the export; correct it"
        )
    return _without_blanks(text, *found)


def _found(span: MarkedSpan, text: str) -> tuple[int, int] | None:
    """The characters of a span; None if its text is not there.

    A browser counts some characters, such as emoji, as two; some exports name the last character
    of a span, and others the one after it.
    """
    start, end = int(span.start), int(span.end)
    if span.marked is None:
        return start, end
    marked = _plain(span.marked)
    for last in (end, end + 1):
        if _plain(text[start:last]) == marked:
            return start, min(last, len(text))
    if "\r\n" in text:  # one character in a browser
        place = _found(span, text.replace("\r\n", "\n"))
        return (_with_returns(text, place[0]), _with_returns(text, place[1])) if place else None
    return None if text.isascii() else _in_units(text, start, end, marked)


def _in_units(text: str, start: int, end: int, marked: str) -> tuple[int, int] | None:
    """The characters of a span that counts as a browser does."""
    units = text.encode("utf-16-le")
    before = units[: 2 * start].decode("utf-16-le", "replace")
    for last in (end, end + 1):
        within = units[2 * start : 2 * last].decode("utf-16-le", "replace")
        if _plain(within) == marked:
            return len(before), len(before) + len(within)
    return None


def _with_returns(text: str, place: int) -> int:
    """The place in a text of a place in the same text without carriage returns."""
    found = 0
    for _ in range(place):
        found += 2 if text.startswith("\r\n", found) else 1
    return found


def _plain(text: str) -> str:
    """A text without the differences that exports make at the ends of lines."""
    return text.replace("\\n", "\n").replace("\r\n", "\n").strip()


def _without_blanks(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without white space at its ends, which belongs to no token."""
    within = text[start:end]
    if not within.strip():
        return start, end  # the reader of spans raises the error
    n_before, n_behind = (len(within) - len(each) for each in (within.lstrip(), within.rstrip()))
    return start + n_before, end - n_behind
