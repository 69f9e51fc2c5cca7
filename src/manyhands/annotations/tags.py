"""BIO tags: schemes, allowed transitions, orphan tags, and the spans of entities.

O is a token outside of entities, B-X the first token of an entity of type X, I-X a further token.
An I-X that follows neither B-X nor I-X is an *orphan*; the CoNLL evaluation reads it as B-X. The
setting `orphan_tags` says what readers do with orphans: `keep` them, `repair` them (I-X becomes
B-X), or `refuse` them with an error.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from manyhands.core.arrays import AnyArray, Bools, Codes, Offsets
from manyhands.core.errors import DataError

OUTSIDE = "O"
OrphanTags = Literal["keep", "repair", "refuse"]
ORPHAN_TAGS = ("keep", "repair", "refuse")


@dataclass(frozen=True)
class TagScheme:
    """The tags of codes 0, 1, 2 ...; a name that is not a BIO tag counts as O.

    >>> TagScheme.of_types(["PER", "LOC"]).names
    ('O', 'B-LOC', 'I-LOC', 'B-PER', 'I-PER')
    """

    names: tuple[str, ...]

    @classmethod
    def of(cls, names: Iterable[Any]) -> "TagScheme":
        """The scheme of these tags, in this order."""
        return cls(tuple(str(name) for name in names))

    @classmethod
    def of_types(cls, types: Iterable[str]) -> "TagScheme":
        """O, then B- and I- of every type; types are sorted."""
        return cls((OUTSIDE, *(f"{mark}-{each}" for each in sorted(set(types)) for mark in "BI")))

    @classmethod
    def covering(cls, tags: Iterable[Any]) -> "TagScheme":
        """The scheme of the types of these tags; a tag that is not BIO raises a `DataError`."""
        distinct = {str(tag) for tag in tags}
        wrong = sorted(tag for tag in distinct if not is_bio_tag(tag))
        if wrong:
            raise DataError(f"the tag {wrong[0]!r} is not O, B-TYPE or I-TYPE")
        return cls.of_types(entity_type(tag) for tag in distinct if tag != OUTSIDE)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The sorted types of entities."""
        return tuple(sorted({entity_type(name) for name in self.names if _is_entity(name)}))

    @cached_property
    def type_k(self) -> Codes:
        """The type of every tag as an index into `types`; -1 for O."""
        code_of = {name: code for code, name in enumerate(self.types)}
        type_k = [code_of[entity_type(name)] if _is_entity(name) else -1 for name in self.names]
        return np.array(type_k, dtype=np.int32)

    @cached_property
    def is_inside_k(self) -> Bools:
        """Which tags are I-X; every other tag can begin a sentence."""
        inside_k = np.array([name.startswith("I-") for name in self.names], dtype=bool)
        return inside_k & (self.type_k >= 0)

    @cached_property
    def is_begin_k(self) -> Bools:
        """Which tags are B-X."""
        return (self.type_k >= 0) & ~self.is_inside_k

    @cached_property
    def moves_kk(self) -> Bools:
        """Which tag (column) can follow which tag (row): I-X only B-X and I-X.

        >>> TagScheme(("O", "B-PER", "I-PER")).moves_kk.astype(int).tolist()
        [[1, 1, 0], [1, 1, 1], [1, 1, 1]]
        """
        same_kk = self.type_k[:, None] == self.type_k[None, :]
        return np.asarray(~self.is_inside_k[None, :] | same_kk)

    def begin_codes(self) -> Codes:
        """The code of B-X for every tag B-X or I-X; a `DataError` if some I-X has no B-X."""
        code_of = {name: code for code, name in enumerate(self.names)}
        begins = [code_of.get(f"B-{entity_type(name)}", -1) for name in self.names]
        begin_k = np.array(begins, dtype=np.int32)
        lacking = np.flatnonzero(self.is_inside_k & (begin_k < 0))
        if len(lacking):
            name = self.names[lacking[0]]
            raise DataError(f"the tags contain {name} but not B-{entity_type(name)}; list both")
        return begin_k

    def codes(self, tags: Iterable[Any]) -> Codes:
        """The code of every tag; an unknown tag raises a `DataError` with its position."""
        code_of = {name: code for code, name in enumerate(self.names)}
        names = [str(tag) for tag in tags]
        codes = np.array([code_of.get(tag, -1) for tag in names], dtype=np.int32)
        if np.any(codes < 0):
            token = int(np.argmin(codes))
            raise DataError(
                f"token {token}: the tag {names[token]!r} is not among {', '.join(self.names)}"
            )
        return codes

    def names_of(self, code_t: Codes) -> AnyArray:
        """The names of tag codes."""
        return np.array([*self.names, None], dtype=object)[code_t]


def _is_entity(name: str) -> bool:
    return name[:2] in {"B-", "I-"} and len(name) > 2


def is_bio_tag(name: str) -> bool:
    """Whether this is O, B-TYPE or I-TYPE.

    >>> [is_bio_tag(name) for name in ("O", "B-PER", "I-", "B_PER")]
    [True, True, False, False]
    """
    return name == OUTSIDE or _is_entity(name)


def entity_type(tag: str) -> str:
    """The type of a tag B-X or I-X: the text after the first dash."""
    return tag[2:]


def find_orphan_tags(code_t: Codes, offsets: Offsets, scheme: TagScheme) -> Bools:
    """Which tokens have a tag I-X that follows neither B-X nor I-X in their sentence.

    The code -1 is a token without a tag; an I-X after it is an orphan too.
    """
    type_t, before_t = _types(code_t, offsets, scheme)
    return np.asarray(np.append(scheme.is_inside_k, False)[code_t] & (before_t != type_t))


def _types(code_t: Codes, offsets: Offsets, scheme: TagScheme) -> tuple[Codes, Codes]:
    """The entity type of every token, and of the token before it in its sentence; -1 for none."""
    type_t = np.append(scheme.type_k, -1).astype(np.int32)[code_t]
    before_t = np.concatenate([[-1], type_t])[:-1].astype(np.int32)
    starts = offsets[:-1]
    before_t[starts[starts < len(type_t)]] = -1
    return type_t, before_t


def is_valid_bio(tags: Sequence[str]) -> bool:
    """Whether every I-X of one sentence follows a B-X or an I-X.

    >>> is_valid_bio(["B-PER", "I-PER", "O"]), is_valid_bio(["B-PER", "I-LOC"])
    (True, False)
    """
    scheme = TagScheme.covering(tags)
    return not find_orphan_tags(scheme.codes(tags), np.array([0, len(tags)]), scheme).any()


class Span(NamedTuple):
    """The tokens `first:end` are an entity of a type."""

    first: int
    end: int
    type: str


@dataclass(frozen=True, eq=False)
class Spans:
    """Spans of many sentences as parallel arrays, in the order of their tokens.

    `first` and `end` count the tokens of all sentences; `type` is an index into `types`.
    """

    sentence: Offsets
    first: Offsets
    end: Offsets
    type: Codes
    types: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.first)

    @property
    def type_names(self) -> AnyArray:
        """The name of the type of every span."""
        return np.array([*self.types, None], dtype=object)[self.type]


def find_spans(code_t: Codes, offsets: Offsets, scheme: TagScheme) -> Spans:
    """The spans of tag codes; -1 is a token without a tag.

    A span begins at B-X, and at an I-X that follows no tag of type X (the CoNLL convention). It
    ends before the next span, before a tag of another type or O, and at the end of the sentence.
    """
    type_t, before_t = _types(code_t, offsets, scheme)
    begins_t = np.append(scheme.is_begin_k, False)[code_t]
    first_t = (type_t >= 0) & (begins_t | (before_t != type_t))
    breaks_t = first_t | (type_t < 0)
    starts = offsets[:-1]
    breaks_t[starts[starts < len(code_t)]] = True
    first = np.flatnonzero(first_t)
    breaks = np.append(np.flatnonzero(breaks_t), len(code_t))
    end = breaks[np.searchsorted(breaks, first, side="right")]
    sentence = np.searchsorted(offsets, first, side="right") - 1
    return Spans(sentence, first, end, type_t[first], scheme.types)


def tags_to_spans(tags: Sequence[str]) -> list[Span]:
    """The spans of one sentence's tags.

    >>> tags_to_spans(["B-PER", "I-PER", "O", "I-LOC"])
    [Span(first=0, end=2, type='PER'), Span(first=3, end=4, type='LOC')]
    """
    scheme = TagScheme.covering(tags)
    spans = find_spans(scheme.codes(tags), np.array([0, len(tags)]), scheme)
    found = zip(spans.first.tolist(), spans.end.tolist(), spans.type_names, strict=True)
    return [Span(*each) for each in found]


def spans_to_tags(spans: Iterable[Span], n_tokens: int) -> list[str]:
    """The tags of one sentence from its spans; spans must not overlap.

    >>> spans_to_tags([Span(1, 3, "PER")], 4)
    ['O', 'B-PER', 'I-PER', 'O']
    """
    tags = [OUTSIDE] * n_tokens
    reached = 0
    for first, end, name in sorted(spans):
        if not 0 <= first < end <= n_tokens:
            raise DataError(f"the span {first}..{end} is outside a sentence of {n_tokens} tokens")
        if first < reached:
            raise DataError(
                f"the span {first}..{end} overlaps the span that ends at token {reached}"
            )
        tags[first:end] = [f"B-{name}", *[f"I-{name}"] * (end - first - 1)]
        reached = end
    return tags
