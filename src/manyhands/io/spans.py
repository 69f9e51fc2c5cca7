"""Tables of spans, one row per entity that an annotator marked in a text, <-> labels of tokens.

Columns: document, text (or tokens), annotator, start, end, label. A row with blank start, end and
label means that the annotator found no entity in the document; if the annotator is blank too,
nobody labelled the document. At least one row of a document has its text.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from manyhands.annotations import (
    Span,
    TagScheme,
    TokenizedTexts,
    Tokenizer,
    TokenLabels,
    find_spans,
    spans_to_tags,
    token_offsets,
)
from manyhands.annotations.grouping import duplicated_pairs
from manyhands.annotations.rows import place
from manyhands.annotations.vocabulary import encode, name_to_text
from manyhands.core.arrays import object_array
from manyhands.core.errors import DataError, SettingName
from manyhands.core.settings import require_choice
from manyhands.io.span_table import (
    MarkedSpan,
    document_texts,
    is_blank,
    listed_words,
    marked_span,
    span_cells,
)
from manyhands.io.tables import SUFFIXES, Table, existing, format_of, write_table

Alignment = Literal["refuse", "widen"]
ALIGNMENTS = ("refuse", "widen")


@dataclass(frozen=True, eq=False)
class TextLabels:
    """Labels of tokens, and the texts with the places of the tokens.

    `texts` is None if the file has tokens and no texts. `n_orphan_tags` counts the I-X that
    followed no B-X or I-X in the file.
    """

    texts: TokenizedTexts | None
    labels: TokenLabels
    n_orphan_tags: int = 0


def read_spans(
    path: str | Path,
    *,
    item: str | None = None,
    text: str | None = None,
    tokens: str | None = None,
    annotator: str | None = None,
    start: str | None = None,
    end: str | None = None,
    label: str | None = None,
    alignment: Alignment = "refuse",
    types: Iterable[str] | None = None,
    tokenizer: Tokenizer = token_offsets,
    format: str | None = None,
    encoding: str = "utf-8",
) -> TextLabels:
    """Read spans that annotators marked, from CSV, TSV, Parquet or JSON lines.

    `item` (the document), `text`, `tokens`, `annotator`, `start`, `end` and `label` name columns
    whose names differ from those above. `start` and `end` count characters of the text, `end` not
    included; with a column of tokens (a JSON list) in place of the text they count tokens. A span
    that begins or ends within a token is an error, or is widened to whole tokens with
    `alignment="widen"`. Spans of one annotator must not overlap. `types` lists the labels that are
    allowed; they are classes even if no span has them.
    """
    require_choice("alignment", alignment, ALIGNMENTS)
    table = Table(existing(path), format_of(Path(path), format, SUFFIXES), encoding)
    given = {"item": item, "text": text, "tokens": tokens, "annotator": annotator}
    given |= {"start": start, "end": end, "label": label}
    cells, in_tokens = span_cells(table, given)
    wheres = [place(str(path), table.first_line, row) for row in range(len(cells["item"]))]
    contents = document_texts(cells, wheres)
    names = list(contents)
    if in_tokens:
        lists = [
            listed_words(text, f"{path}, document {name!r}") for name, text in contents.items()
        ]
        texts = TokenizedTexts.of_words(lists, names)
    else:
        texts = TokenizedTexts.of(list(contents.values()), names, tokenizer)
    rows = [marked_span(cells, row, where) for row, where in enumerate(wheres)]
    known = frozenset(types) if types is not None else None
    labels = _labels(texts, rows, alignment, known, in_tokens)
    return TextLabels(None if in_tokens else texts, labels)


def write_spans(marked: TextLabels, path: str | Path) -> None:
    """Write the spans of every annotator with their characters, in the columns named above.

    Without texts the characters are those of the words joined by spaces. An I-X that follows no
    B-X or I-X begins a span, as in `find_spans`.
    """
    texts, ann = marked.texts, marked.labels.annotations
    sentences = marked.labels.sentences
    if texts is None:
        texts = TokenizedTexts.of_words(sentences.to_lists(), sentences.names.tolist())
    _require_whole_documents(marked)
    rows: list[tuple[Any, ...]] = []
    scheme = TagScheme.of(ann.classes)
    order, starts = ann.annotator_order, ann.annotator_offsets
    for a, annotator in enumerate(ann.annotators.tolist()):
        mine = order[starts[a] : starts[a + 1]]
        code_t = np.full(sentences.n_tokens, -1, dtype=np.int32)
        code_t[ann.item[mine]] = ann.label[mine]
        spans = find_spans(code_t, sentences.offsets, scheme)
        found = zip(spans.sentence, spans.first, spans.end, spans.type_names, strict=True)
        for s, first, end, name in found:
            rows.append((int(s), annotator, int(texts.start[first]), int(texts.end[end - 1]), name))
        looked = np.unique(sentences.sentence_of_token[ann.item[mine]])
        rows.extend(
            (int(s), annotator, None, None, None) for s in np.setdiff1d(looked, spans.sentence)
        )
    seen = {row[0] for row in rows}
    rows.extend((s, None, None, None, None) for s in range(len(texts)) if s not in seen)
    rows.sort(key=lambda row: row[0])  # stable: annotators stay in order
    _write_rows(texts, rows, path)


def _write_rows(texts: TokenizedTexts, rows: list[tuple[Any, ...]], path: str | Path) -> None:
    document, annotator, start, end, label = zip(*rows, strict=True)
    is_first = [each == 0 or document[each - 1] != s for each, s in enumerate(document)]
    text = [str(texts.texts[s]) if new else None for s, new in zip(document, is_first, strict=True)]
    if "" in text:
        raise DataError(
            f"document {texts.sentences.names[document[text.index('')]]!s}: it is empty"
        )
    called = [name_to_text(texts.sentences.names[s]) for s in document]
    annotators = [None if one is None else name_to_text(one) for one in annotator]
    said = [one for one in label if one is not None]
    blank = [one for one in (*called, *annotators, *said) if one is not None and is_blank(one)]
    blank += [one for one in said if one != one.strip()]
    if blank:
        raise DataError(f"{blank[0]!r} cannot stand in a table of spans: it is blank, or ends so")
    columns = {
        "document": object_array(called),
        "text": object_array(text),
        "annotator": object_array(annotators),
        "start": pa.array(start, type=pa.int64()),
        "end": pa.array(end, type=pa.int64()),
        "label": object_array(label),
    }
    write_table(columns, path)


def _require_whole_documents(marked: TextLabels) -> None:
    ann, sentences = marked.labels.annotations, marked.labels.sentences
    if duplicated_pairs(ann.item, ann.annotator).any():
        raise DataError("an annotator labelled a token twice; spans have room for one tag")
    sentence_n = sentences.sentence_of_token[ann.item]
    pair, counts = np.unique(sentence_n * ann.n_annotators + ann.annotator, return_counts=True)
    partly = counts < sentences.lengths[pair // max(ann.n_annotators, 1)]
    if partly.any():
        s, a = divmod(int(pair[np.argmax(partly)]), ann.n_annotators)
        raise DataError(
            f"document {sentences.names[s]}, annotator {ann.annotators[a]}: only some tokens are "
            "labelled, which spans cannot express; write a CoNLL file"
        )


def _labels(
    texts: TokenizedTexts,
    rows: list[MarkedSpan],
    alignment: Alignment,
    types: frozenset[str] | None,
    whole: bool,
) -> TokenLabels:
    """The BIO tags of the spans, for every document that an annotator labelled."""
    sentences = texts.sentences
    index = {name: s for s, name in enumerate(sentences.names.tolist())}
    spans: dict[tuple[int, str], list[Span]] = {}
    for row in rows:
        if row.annotator is None:
            continue
        mine = spans.setdefault((index[row.document], row.annotator), [])
        if row.span is None:
            continue
        if types is not None and row.span.type not in types:
            known = ", ".join(sorted(types))
            raise DataError(f"{row.where}: the label {row.span.type!r} is not among {known}")
        found = _in_tokens(texts, index[row.document], row, alignment, whole)
        if any(found.first < other.end and other.first < found.end for other in mine):
            raise DataError(
                f"{row.where}: this span of annotator {row.annotator!r} in document "
                f"{row.document!r} overlaps another span of the annotator; keep one of them"
            )
        mine.append(found)
    present = {span.type for mine in spans.values() for span in mine}
    scheme = TagScheme.of_types(present if types is None else types)
    who, annotators = encode([annotator for _, annotator in spans], "annotator")
    tokens = [sentences.tokens_of(s) for s, _ in spans]
    codes = [
        scheme.codes(spans_to_tags(mine, len(token)))
        for token, mine in zip(tokens, spans.values(), strict=True)
    ]
    none = np.zeros(0, dtype=np.int32)
    return TokenLabels.from_codes(
        sentences,
        np.concatenate([none, *tokens]),
        np.repeat(who, [len(token) for token in tokens]),
        np.concatenate([none, *codes]),
        annotators.names,
        scheme.names,
    )


def _in_tokens(
    texts: TokenizedTexts, s: int, row: MarkedSpan, alignment: Alignment, whole: bool
) -> Span:
    """The span in tokens of its document."""
    assert row.span is not None
    start, end, label = row.span
    token = texts.sentences.tokens_of(s)
    limit = len(token) if whole else len(str(texts.texts[s]))
    if not 0 <= start < end <= limit:
        what = "tokens" if whole else "characters"
        raise DataError(f"{row.where}: the span {start}..{end} is not within 0..{limit} {what}")
    if whole:
        return row.span
    start_t, end_t = texts.start[token], texts.end[token]
    first = int(np.searchsorted(end_t, start, side="right"))
    behind = int(np.searchsorted(start_t, end, side="left"))
    if first >= behind:
        raise DataError(f"{row.where}: the span {start}..{end} has no token, only white space")
    if alignment == "refuse" and (start_t[first] < start or end_t[behind - 1] > end):
        raise DataError(
            f"{row.where}: the span {start}..{end} cuts through a token; the tokens it touches are "
            f"{start_t[first]}..{end_t[behind - 1]}; choose ",
            SettingName("alignment", "widen"),
            " to take them whole",
        )
    return Span(first, behind, label)
