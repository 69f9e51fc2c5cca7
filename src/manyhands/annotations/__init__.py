"""The currency: who said what about which item."""

from manyhands.annotations.annotations import Annotations
from manyhands.annotations.decoding import decode_valid
from manyhands.annotations.duplicates import DUPLICATES, Duplicates
from manyhands.annotations.labels import KINDS, Kind
from manyhands.annotations.recoding import in_codes_of, of_items
from manyhands.annotations.rows import Rows
from manyhands.annotations.sentences import Sentences
from manyhands.annotations.spans import Span, Spans, find_spans, spans_of_tags, tags_of_spans
from manyhands.annotations.tags import (
    ORPHAN_TAGS,
    OrphanTags,
    TagScheme,
    allowed_starts,
    allowed_transitions,
    is_tag,
    is_valid_bio,
    repair_bio,
)
from manyhands.annotations.token_labels import TaggedSentences, TokenLabels, labels_of_tokens
from manyhands.annotations.tokenising import TokenisedTexts, Tokeniser, token_places
from manyhands.annotations.vocabulary import Vocabulary

__all__ = [
    "DUPLICATES",
    "KINDS",
    "ORPHAN_TAGS",
    "Annotations",
    "Duplicates",
    "Kind",
    "OrphanTags",
    "Rows",
    "Sentences",
    "Span",
    "Spans",
    "TagScheme",
    "TaggedSentences",
    "TokenLabels",
    "TokenisedTexts",
    "Tokeniser",
    "Vocabulary",
    "allowed_starts",
    "allowed_transitions",
    "decode_valid",
    "find_spans",
    "in_codes_of",
    "is_tag",
    "is_valid_bio",
    "labels_of_tokens",
    "of_items",
    "repair_bio",
    "spans_of_tags",
    "tags_of_spans",
    "token_places",
]
