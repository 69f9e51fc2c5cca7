"""Annotations, the common data type: which annotator gave which label to which item."""

from manyhands.annotations.annotations import Annotations
from manyhands.annotations.comparisons import Comparisons
from manyhands.annotations.convert import (
    Labels,
    as_annotations,
    form_of,
    is_frame,
    items_in_order,
    one_annotator,
)
from manyhands.annotations.decoding import decode_bio, decode_chain
from manyhands.annotations.items import Items
from manyhands.annotations.labels import Kind
from manyhands.annotations.recoding import recode_like, reindex_items
from manyhands.annotations.rows import Rows
from manyhands.annotations.sentences import Sentences, TokenizedTexts
from manyhands.annotations.tags import (
    Span,
    Spans,
    TagScheme,
    find_spans,
    is_valid_bio,
    spans_to_tags,
    tags_to_spans,
)
from manyhands.annotations.times import Times
from manyhands.annotations.token_labels import TaggedSentences, TokenLabels, align_to_tokens
from manyhands.annotations.truths import Truth, as_truths
from manyhands.annotations.vocabulary import Vocabulary

__all__ = [
    "Annotations",
    "Comparisons",
    "Items",
    "Kind",
    "Labels",
    "Rows",
    "Sentences",
    "Span",
    "Spans",
    "TagScheme",
    "TaggedSentences",
    "Times",
    "TokenLabels",
    "TokenizedTexts",
    "Truth",
    "Vocabulary",
    "align_to_tokens",
    "as_annotations",
    "as_truths",
    "decode_bio",
    "decode_chain",
    "find_spans",
    "form_of",
    "is_frame",
    "is_valid_bio",
    "items_in_order",
    "one_annotator",
    "recode_like",
    "reindex_items",
    "spans_to_tags",
    "tags_to_spans",
]
