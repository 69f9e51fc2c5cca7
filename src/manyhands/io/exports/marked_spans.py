"""Spans of texts in the exports of annotation tools -> a table of spans."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from manyhands.core.errors import DataError, SettingName
from manyhands.io.exports import (
    argilla,
    doccano,
    label_studio,
    label_studio_tables,
    mturk,
    prodigy,
)
from manyhands.io.exports.catalog import recognise
from manyhands.io.exports.exported import (
    MAX_LEFT_OUT,
    NO_ANNOTATOR,
    SEVERAL,
    TITLES,
    Fields,
    counted,
    pick,
    remarks_on,
    well_formed,
)
from manyhands.io.exports.span_documents import OVERLAPPING, MarkedDocument, SpanRow, rows_of
from manyhands.io.exports.span_suggestions import span_items
from manyhands.io.exports.suggestions import ToolItems


@dataclass(frozen=True)
class ExportedSpans:
    """Marked spans: `columns` is a table for `write_table`, which `read_spans` reads.

    A row without start, end and label means that the annotator marked nothing in the document.
    `tokens` has the characters of the tool's own tokens by document, `known` the rows of documents
    that are marked as ground truth, `items` what is needed to write spans back, and `fields` what
    was taken for item, annotator and label.
    """

    tool: str
    columns: dict[str, list[Any]]
    skipped: dict[str, int] = field(default_factory=dict)
    tokens: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    known: list[SpanRow] = field(default_factory=list)
    items: ToolItems | None = None
    fields: Fields = field(default_factory=Fields)

    def summary(self) -> str:
        """What was read and what was skipped, in one line."""
        n_spans = sum(start is not None for start in self.columns["start"])
        documents, annotators = (set(self.columns[name]) for name in ("document", "annotator"))
        parts = [f"{n_spans} spans in {len(documents)} texts by {len(annotators)} annotators"]
        n_empty = sum(start is None for start in self.columns["start"])
        parts += [f"{n_empty} times a text without a span, all of it O"] if n_empty else []
        n_known = len({row.document for row in self.known})
        if n_known:
            parts.append(
                f"{n_known} texts with known truths (ground truth), used for the consensus"
            )
        parts += ["skipped: " + counted(self.skipped)] if self.skipped else []
        return f"{TITLES[self.tool]}: " + "; ".join([*parts, *remarks_on(annotators)])


class SpanReader(NamedTuple):
    """How a tool marks spans.

    `answers` maps the names of all controls, questions or fields with labels to whether they mark
    spans; `documents` reads those of one of them; `remedy` is how to export annotators; `places`
    gives where items and annotators stand.
    """

    remedy: str
    places: Callable[[Any, str], tuple[str, str]]
    answers: Callable[[Any], dict[str, bool]]
    documents: Callable[[Any, str, str | None, str | None], Iterator[MarkedDocument]]


READERS: dict[str, SpanReader] = {
    tool.NAME: SpanReader(tool.REMEDY, tool.places_of, tool.span_answers, tool.documents)
    for tool in (prodigy, label_studio, label_studio_tables, argilla, doccano, mturk)
}


def marks_spans(content: Any, *, label: str | None = None, tagging: bool | None = None) -> bool:
    """Whether the labels of an export are spans of texts.

    An export may have labels of items beside spans: then `label` decides, which names the control,
    question or field, or `tagging`, which is whether spans are wanted; otherwise a `DataError`.
    """
    tool = recognise(content)
    if tool is None or tool.name not in READERS:
        return False
    with well_formed(tool.tool):
        found = READERS[tool.name].answers(content)
    if label is not None and label in found:
        return found[label]
    spans = [name for name, is_span in found.items() if is_span]
    others = [name for name, is_span in found.items() if not is_span]
    if not (spans and others) or label is not None:
        return bool(spans) and not others
    if tagging is None:
        raise DataError(
            f"the export has labels of items ({', '.join(others)}) and spans of text "
            f"({', '.join(spans)}); choose one with ", SettingName("label", others[0]), " or ",
            SettingName("label", spans[0]), ", or all of a kind with ", SettingName("task", ...),
        )  # fmt: skip
    return tagging


def read_marked_spans(
    content: Any, *, item: str | None = None, annotator: str | None = None, label: str | None = None
) -> ExportedSpans:
    """The spans of an export of a tool whose annotators mark texts; see `READERS`.

    Cancelled, ignored, rejected and discarded annotations are skipped and counted, as are spans
    with several labels and relations between spans. An annotator who marked nothing in a text has
    a row of its own.

    Parameters
    ----------
    content : list of dict or dict
        The parsed file.
    item, annotator : str
        Fields that name the document and the annotator.
    label : str
        Name of the control, question or field, if several mark spans.
    """
    tool = recognise(content)
    if tool is None or tool.name not in READERS:
        tools = ", ".join(dict.fromkeys(TITLES[name] for name in READERS))
        raise DataError(f"spans are read from the exports of {tools} only")
    found: dict[tuple[str, str], list[SpanRow]] = {}
    known: list[SpanRow] = []
    tokens: dict[str, list[tuple[int, int]]] = {}
    skipped: Counter[str] = Counter()
    with well_formed(tool.tool):
        reader = READERS[tool.name]
        spans = {name: "spans" for name, is_span in reader.answers(content).items() if is_span}
        answer = pick("answer", spans, label)
        items = span_items(tool.name, content, answer, item)
        for each in reader.documents(content, answer, item, annotator):
            rows = rows_of(each, skipped)
            if each.tokens:
                tokens.setdefault(str(each.name), each.tokens)
            if each.is_truth:
                known += rows
            elif rows:
                pair = rows[0].document, rows[0].annotator
                skipped["earlier answer of the same annotator"] += pair in found
                found[pair] = rows
    rows = [row for answer in found.values() for row in answer]
    _require_annotators(rows, skipped, reader.remedy)
    _require_apart(rows, skipped)
    _require_one_text([*rows, *known])
    columns = {name: [row[place] for row in rows] for place, name in enumerate(SpanRow._fields)}
    kept = {reason: n for reason, n in skipped.items() if n}
    places = reader.places(content, answer)
    fields = Fields(item or places[0], annotator or places[1], f"{answer!r} (spans)")
    return ExportedSpans(tool.name, columns, kept, tokens, known, items, fields)


def _require_annotators(rows: list[SpanRow], skipped: Mapping[str, int], remedy: str) -> None:
    n_documents = len({(row.document, row.annotator) for row in rows})
    if skipped[NO_ANNOTATOR] > MAX_LEFT_OUT * (skipped[NO_ANNOTATOR] + n_documents):
        raise DataError(
            f"{skipped[NO_ANNOTATOR]} texts have no annotator; {remedy}, or name a field of "
            "annotators with ", SettingName("annotator", ...),
        )  # fmt: skip
    if not rows:
        why = counted(skipped)
        raise DataError(f"the export has no document that an annotator looked through; {why}")


def _require_apart(rows: list[SpanRow], skipped: Mapping[str, int]) -> None:
    """Raise a `DataError` if many spans overlap: a token has one tag of every annotator."""
    n_spans = sum(row.start is not None for row in rows)
    for reason in (OVERLAPPING, SEVERAL):
        if skipped[reason] > MAX_LEFT_OUT * (skipped[reason] + n_spans):
            raise DataError(
                f"{skipped[reason]} of {skipped[reason] + n_spans} spans: {reason}; a token has "
                "one tag of every annotator: keep one kind of span in the file"
            )


def _require_one_text(rows: list[SpanRow]) -> None:
    texts: dict[str, str] = {}
    for row in rows:
        if texts.setdefault(row.document, row.text) != row.text:
            raise DataError(
                f"the document {row.document!r} has two texts; name a field that tells documents "
                "apart with ", SettingName("item", ...),
            )  # fmt: skip
