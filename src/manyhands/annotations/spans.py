"""Spans of entities: the first token, the token after the last, and the type."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from manyhands.annotations.tags import OUTSIDE, TagScheme, previous_types, tag_types
from manyhands.core.arrays import AnyArray, Codes, Offsets
from manyhands.core.errors import DataError


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

    def of_sentences(self, offsets: Offsets) -> list[list[Span]]:
        """A list of spans per sentence, with tokens counted from 0 in each sentence."""
        by_sentence: list[list[Span]] = [[] for _ in range(len(offsets) - 1)]
        names = self.type_names
        for each, s in enumerate(self.sentence.tolist()):
            first, end = int(self.first[each] - offsets[s]), int(self.end[each] - offsets[s])
            by_sentence[s].append(Span(first, end, str(names[each])))
        return by_sentence


def find_spans(code_t: Codes, offsets: Offsets, scheme: TagScheme) -> Spans:
    """The spans of tag codes; -1 is a token without a tag.

    A span begins at B-X, and at an I-X that follows no tag of type X (the CoNLL convention). It
    ends before the next span, before a tag of another type or O, and at the end of the sentence.
    """
    type_t = tag_types(code_t, scheme)
    begins_t = np.append(scheme.is_begin_k, False)[code_t]
    first_t = (type_t >= 0) & (begins_t | (previous_types(type_t, offsets) != type_t))
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
    offsets = np.array([0, len(tags)])
    return find_spans(scheme.codes(tags), offsets, scheme).of_sentences(offsets)[0]


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
