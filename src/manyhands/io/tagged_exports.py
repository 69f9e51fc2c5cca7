"""Spans that annotation tools export -> labels of tokens."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from manyhands.annotations import TokenizedTexts
from manyhands.annotations.sentences import token_offsets
from manyhands.annotations.source import Source
from manyhands.annotations.tags import Span
from manyhands.io.exports import ExportedSpans
from manyhands.io.exports.span_documents import GROUND_TRUTH, SpanRow
from manyhands.io.spans import Alignment, MarkedRow, TextLabels, labels_of_spans


def tag_exported_spans(
    spans: ExportedSpans,
    path: str,
    *,
    alignment: Alignment = "refuse",
    types: Iterable[str] | None = None,
) -> TextLabels:
    """The labels of tokens that exported spans give, with their texts.

    Tokens are those of the tool if it has some. Documents that are marked as ground truth become
    known tags of tokens, in the source of the annotations.
    """
    rows = [SpanRow(*row) for row in zip(*spans.columns.values(), strict=True)]
    everything = [*rows, *spans.known]
    contents = {row.document: row.text for row in everything}
    offsets = _offsets(contents, spans.tokens)
    texts = TokenizedTexts.of(list(contents.values()), list(contents), lambda _: next(offsets))
    types = {row.label for row in everything if row.label is not None} if types is None else types
    known = frozenset(types)
    labels = labels_of_spans(texts, [_marked(row, path) for row in rows], alignment, known)
    content = None if spans.items is None else replace(spans.items, texts=texts)
    source = Source(path, spans.tool, *spans.fields, notes=(spans.summary(),), content=content)
    if spans.known:
        truth = [_marked(row, path) for row in spans.known]
        found = labels_of_spans(texts, truth, alignment, known).annotations
        tags = {
            found.items[i]: found.classes[k] for i, k in zip(found.item, found.label, strict=True)
        }
        source = replace(source, known=tags)
    annotations = replace(labels.annotations, source=source)
    return TextLabels(texts, replace(labels, annotations=annotations))


def _offsets(
    contents: dict[str, str], tokens: dict[str, list[tuple[int, int]]]
) -> Iterator[Sequence[tuple[int, int]]]:
    for name, text in contents.items():
        yield tokens.get(name) or token_offsets(text)


def _marked(row: SpanRow, path: str) -> MarkedRow:
    span = None
    if row.start is not None and row.end is not None:
        span = Span(row.start, row.end, str(row.label))
    who = "" if row.annotator == GROUND_TRUTH else f", annotator {row.annotator!r}"
    where = f"{path}, document {row.document!r}{who}"
    return MarkedRow(where, row.document, row.annotator, span)
