"""Tables of spans, one row per entity that an annotator marked in a text, <-> labels of tokens.

Columns: document, text (or tokens), annotator, start, end, label. A row with blank start, end and
label means that the annotator found no entity in the document; if the annotator is blank too,
nobody labelled the document. At least one row of a document has its text.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from manyhands.annotations import TokenizedTexts, TokenLabels
from manyhands.annotations.grouping import duplicated_pairs
from manyhands.annotations.labels import is_blank
from manyhands.annotations.sentences import Tokenizer, token_offsets
from manyhands.annotations.tags import Span, TagScheme, find_spans, spans_to_tags
from manyhands.annotations.vocabulary import encode, name_to_text
from manyhands.core.arrays import object_array
from manyhands.core.errors import DataError, SettingName
from manyhands.core.settings import nearest_names, require_choice
from manyhands.io.joined import open_table
from manyhands.io.json_text import parse_cell
from manyhands.io.opening import Paths
from manyhands.io.tables import Table, write_table

Alignment = Literal["refuse", "widen"]
ALIGNMENTS = ("refuse", "widen")
SPAN_COLUMNS = {
    "item": ("document", "doc", "sentence", "item", "id"),
    "text": ("text",),
    "tokens": ("tokens", "words"),
    "annotator": ("annotator", "worker", "user"),
    "start": ("start", "begin", "start_offset"),
    "end": ("end", "stop", "end_offset"),
    "label": ("label", "type", "class", "tag"),
}


@dataclass(frozen=True, eq=False)
class TextLabels:
    """Labels of tokens, and the texts with the places of the tokens.

    `texts` is None if the file has tokens and no texts. `n_orphan_tags` counts the I-X that
    followed no B-X or I-X in the file.
    """

    texts: TokenizedTexts | None
    labels: TokenLabels
    n_orphan_tags: int = 0


class MarkedRow(NamedTuple):
    """One row of the table; `span` is None if the annotator found no entity."""

    where: str
    document: str
    annotator: str | None
    span: Span | None


def read_spans(
    path: Paths,
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
    """Read spans that annotators marked, from CSV, TSV, Parquet, JSON lines or Excel.

    `item` (the document), `text`, `tokens`, `annotator`, `start`, `end` and `label` name columns
    whose names differ from those above. `start` and `end` count characters of the text, `end` not
    included; with a column of tokens (a JSON list) in place of the text they count tokens. A span
    that begins or ends within a token is an error, or is widened to whole tokens with
    `alignment="widen"`. Spans of one annotator must not overlap. `types` lists the labels that are
    allowed; they are classes even if no span has them.
    """
    require_choice("alignment", alignment, ALIGNMENTS)
    table = open_table(path, format, encoding)
    cells, in_tokens = _cells(
        table,
        {"item": item, "text": text, "tokens": tokens, "annotator": annotator, "start": start,
         "end": end, "label": label},
    )  # fmt: skip
    wheres = [table.place(row) for row in range(len(cells["item"]))]
    contents = _document_texts(cells, wheres)
    names = list(contents)
    if in_tokens:
        where = f"{table.path}, document"
        lists = [_listed_words(text, f"{where} {name!r}") for name, text in contents.items()]
        texts = TokenizedTexts.of_words(lists, names)
    else:
        texts = TokenizedTexts.of(list(contents.values()), names, tokenizer)
    rows = [_marked_span(cells, row, where) for row, where in enumerate(wheres)]
    known = frozenset(types) if types is not None else None
    labels = labels_of_spans(texts, rows, alignment, known, whole=in_tokens)
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


def labels_of_spans(
    texts: TokenizedTexts,
    rows: list[MarkedRow],
    alignment: Alignment,
    types: frozenset[str] | None,
    *,
    whole: bool = False,
) -> TokenLabels:
    """The BIO tags of the spans, for every document that an annotator labelled.

    With `whole` spans count tokens, otherwise characters.
    """
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
                f"{row.where}: the span {row.span.first}..{row.span.end} of annotator "
                f"{row.annotator!r} in document {row.document!r} overlaps another span of the "
                "annotator; keep one of them"
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
    texts: TokenizedTexts, s: int, row: MarkedRow, alignment: Alignment, whole: bool
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
            f"{start_t[first]}..{end_t[behind - 1]}; choose ", SettingName("alignment", "widen"),
            " to take them whole",
        )  # fmt: skip
    return Span(first, behind, label)


def _cells(table: Table, given: dict[str, str | None]) -> tuple[dict[str, list[Any]], bool]:
    """The columns by role, and whether texts are given as tokens."""
    found = {role: _column(table, role, given.get(role)) for role in SPAN_COLUMNS}
    if found["text"] is not None:
        found["tokens"] = None
    in_tokens = found["tokens"] is not None
    lacking = [r for r in found if found[r] is None and r not in {"text", "tokens"}]
    if lacking or (found["text"] is None and not in_tokens):
        role = lacking[0] if lacking else "text"
        raise DataError(
            f"{table.path}: no column looks like the {role}; name it with ", SettingName(role, ...),
            f"; columns: {', '.join(table.columns)}",
        )  # fmt: skip
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
    return given or next((by_lower[name] for name in SPAN_COLUMNS[role] if name in by_lower), None)


def _document_texts(cells: dict[str, list[Any]], wheres: list[str]) -> dict[str, str]:
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


def _listed_words(text: str, where: str) -> list[str]:
    """The words of a text that is a JSON list."""
    words = parse_cell(text)
    if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
        raise DataError(f'{where}: tokens must be a JSON list like ["Anna", "sang"]')
    return words


def _marked_span(cells: dict[str, list[Any]], row: int, where: str) -> MarkedRow:
    """One row of the table."""
    start, end, label = (cells[role][row] for role in ("start", "end", "label"))
    annotator = cells["annotator"][row]
    who = None if is_blank(annotator) else name_to_text(annotator)
    document = name_to_text(cells["item"][row])
    blank = [is_blank(value) for value in (start, end, label)]
    if all(blank):
        return MarkedRow(where, document, who, None)
    if any(blank) or who is None:
        raise DataError(f"{where}: a span needs an annotator, a start, an end and a label")
    span = Span(_whole(start, where), _whole(end, where), str(label).strip())
    return MarkedRow(where, document, who, span)


def _whole(value: Any, where: str) -> int:
    text = name_to_text(value).strip().removesuffix(".0")  # pandas writes columns with blanks so
    if not text.isdecimal():
        raise DataError(f"{where}: {text!r} is not a whole number >= 0; offsets count from 0")
    return int(text)
