"""Files of texts that annotation tools import: the spans of a consensus, and texts to relabel."""

from pathlib import Path
from typing import Any, Protocol

import numpy as np

from manyhands.annotations import Annotations, Sentences, TokenizedTexts
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.io.exports.span_suggestions import (
    MarkedText,
    SuggestedSpan,
    require_span_tool,
    span_suggestion,
)
from manyhands.io.exports.suggestions import TOOL_IMPORTS, ToolItems, bare_entry
from manyhands.io.tool_imports import (
    RELABEL_BELOW,
    ItemConsensus,
    kept_items,
    require_suffix,
    version_of,
    write_entries,
)


class SpanConsensus(Protocol):
    """What is asked of a consensus of tokens here."""

    @property
    def sentences(self) -> Sentences: ...  # noqa: D102
    @property
    def tokens(self) -> ItemConsensus: ...  # noqa: D102
    def span_columns(self, texts: TokenizedTexts | None = None) -> dict[str, AnyArray]: ...  # noqa: D102


def write_span_suggestions(
    consensus: SpanConsensus,
    path: str | Path,
    *,
    annotations: Annotations | None = None,
    model_version: str | None = None,
) -> int:
    """Write the entities of a consensus of tokens as suggestions; return the number of texts.

    The labels are spans that were read from an export of Label Studio, Prodigy, Argilla or doccano.
    The score of a span is its confidence, and that of a text the confidence of its least confident
    token. The settings are those of `write_suggestions`.
    """
    export = annotations or consensus.tokens.annotations
    require_span_target(export, path)
    items = kept_items(export)
    version = model_version or version_of(consensus.tokens)
    found = [span_suggestion(each, items, version) for each in _marked(consensus, items)]
    write_entries(found, Path(path), TOOL_IMPORTS[items.tool].suffix)
    return len(found)


def write_span_relabel(
    consensus: SpanConsensus,
    path: str | Path,
    *,
    below: float = RELABEL_BELOW,
    annotations: Annotations | None = None,
) -> int:
    """Write texts with a token of low confidence, the least confident first; return their number.

    The texts are written without spans, as the tool imports them. The settings are those of
    `write_relabel`.
    """
    require(0 <= below <= 1, "below", "between 0 and 1", below)
    export = annotations or consensus.tokens.annotations
    require_span_target(export, path)
    items = kept_items(export)
    unsure = [each for each in _marked(consensus, items) if not each.score >= below]
    unsure.sort(key=lambda each: each.score)
    found = [bare_entry(each.item, items) for each in unsure]
    write_entries(found, Path(path), TOOL_IMPORTS[items.tool].suffix)
    return len(found)


def require_span_target(annotations: Annotations, path: str | Path) -> None:
    """Raise a `DataError` if the tool of these spans does not import such a file."""
    source = annotations.source
    tool = None if source is None else TOOL_IMPORTS.get(source.layout)
    if tool is None or tool.suggestion is None:
        where = "" if source is None else f"{source.path}: "
        raise DataError(
            f"{where}these tagged tokens are not the spans of an annotation tool; write the "
            "consensus as tokens (write_bio, --out consensus.conll) or entities (--spans FILE)"
        )
    assert source is not None, "a tool was found"
    require_span_tool(source.layout)
    require_suffix(tool, path)


def _marked(consensus: SpanConsensus, items: ToolItems) -> list[MarkedText]:
    """The documents of a consensus, in the order of their sentences."""
    texts = items.texts
    assert texts is not None, "spans were read with their texts"
    columns = consensus.span_columns(texts)
    spans: dict[Any, list[SuggestedSpan]] = {}
    rows = zip(*(columns[name].tolist() for name in _COLUMNS), strict=True)
    for document, start, end, label, confidence, words in rows:
        span = SuggestedSpan(start, end, label, round(confidence, 6), words)
        spans.setdefault(document, []).append(span)
    scores = _lowest(consensus.tokens.confidence, consensus.sentences.offsets)
    names = consensus.sentences.names.tolist()
    return [
        MarkedText(items.name_of(name), str(text), spans.get(name, []), score)
        for name, text, score in zip(names, texts.texts.tolist(), scores, strict=True)
    ]


_COLUMNS = ("document", "start", "end", "label", "confidence", "words")


def _lowest(confidence: Floats, offsets: AnyArray) -> list[float]:
    """The lowest confidence among the tokens of every text; 1 for a text without tokens."""
    pairs = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    return [
        round(float(np.min(confidence[first:end], initial=1.0)), 6) for first, end in pairs
    ]  # fmt: skip
