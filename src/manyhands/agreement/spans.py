"""Agreement about spans of tokens: F1 between annotators, exact or by overlap.

For two annotators of a sentence, F1 is the share of all their spans that the other one marked too.
A span is compared with an annotator who labelled all of its tokens.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from manyhands.agreement.estimate import (
    UNDEFINED,
    Ends,
    IntervalKind,
    IntervalSettings,
    Parts,
    analytic_ends,
    bootstrap_ends,
    variance_of,
)
from manyhands.agreement.result import Agreement
from manyhands.agreement.runs import one_label_each
from manyhands.agreement.words import TITLES, Facts, make_result, per_cent, uncertainty
from manyhands.annotations import TagScheme, TokenLabels, find_spans
from manyhands.annotations.grouping import run_indices
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats, Offsets
from manyhands.core.settings import generator, require_choice

Match = Literal["exact", "overlap"]
MATCHES = ("exact", "overlap")


def span_f1(
    labels: TokenLabels,
    *,
    match: Match = "exact",
    interval: IntervalKind = "analytic",
    confidence: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """The mean F1 between the spans of two annotators, over all pairs and sentences.

    Parameters
    ----------
    labels : TokenLabels
        Sentences and BIO tags of their tokens.
    match : {"exact", "overlap"}
        Whether two spans of one type are the same: the same tokens, or a common token.
    interval : {"analytic", "items", "annotators", "none"}
        The delta method over sentences, or a bootstrap over sentences ("items") or annotators.
    confidence : float
        Probability that the interval is made for.
    n_resamples : int
        Number of bootstrap samples.
    seed : int
        Seed of the bootstrap.

    Examples
    --------
    >>> from manyhands.annotations import Sentences
    >>> sentences = Sentences.from_lists([["Anna", "Lee", "sang"]])
    >>> tags = ["O", "B-PER", "I-PER"]
    >>> said = TokenLabels.from_codes(
    ...     sentences, [0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1], [1, 2, 0, 1, 0, 0], "uv", tags
    ... )
    >>> span_f1(said).value, span_f1(said, match="overlap").value
    (0.0, 1.0)
    """
    require_choice("match", match, MATCHES)
    settings = IntervalSettings(interval, confidence, n_resamples, seed).checked()
    table = SpanPairs.of(labels)
    parts = table.mean(table.matched(match), np.ones(len(table.span_t)))
    ends = _ends(table, match, parts.value, settings)
    facts = _facts(labels, table)
    words = _words(match, parts.value, ends, facts)
    title = f"{TITLES['span-f1']} ({match})"
    return make_result("span-f1", title, parts, ends, settings, facts, words)


@dataclass(frozen=True, eq=False)
class SpanPairs:
    """A row for every span and every other annotator who labelled its tokens."""

    types: tuple[str, ...]
    sentence_s: Offsets
    annotator_s: Codes
    type_s: Codes
    first_s: Offsets  # token, and the one after the last
    end_s: Offsets
    span_t: Offsets
    other_t: Codes
    is_exact_t: Bools
    is_overlap_t: Bools

    @classmethod
    def of(cls, labels: TokenLabels) -> "SpanPairs":
        """The rows of labelled sentences."""
        ann = one_label_each(labels.annotations)
        order = ann.annotator_order
        token_n, who_n = ann.item[order].astype(np.int64), ann.annotator[order]
        sentence_n = labels.sentences.sentence_of_token[token_n]
        breaks = (np.diff(who_n) != 0) | (np.diff(sentence_n) != 0) | (np.diff(token_n) != 1)
        offsets = np.concatenate([[0], np.flatnonzero(breaks) + 1, [len(order)]])
        spans = find_spans(ann.label[order], offsets, TagScheme.of(ann.classes))
        first_s, end_s = token_n[spans.first], token_n[spans.end - 1] + 1
        who_s, sentence_s = who_n[spans.first], sentence_n[spans.first]
        span_t, other_t = _other_annotators(sentence_s, who_s, sentence_n, who_n, len(labels))
        # keys that sort by annotator and then by token
        size = labels.sentences.n_tokens + 1
        key_n = who_n * np.int64(size) + token_n
        base_t = other_t * np.int64(size)
        labelled_t = np.searchsorted(key_n, base_t + end_s[span_t])
        labelled_t -= np.searchsorted(key_n, base_t + first_s[span_t])
        kept = labelled_t == (end_s - first_s)[span_t]
        span_t, other_t = span_t[kept], other_t[kept]
        marked = _Marked.of(who_s, spans.type, first_s, end_s, size, len(spans.types))
        exact, overlap = marked.found(span_t, other_t)
        return cls(
            spans.types, sentence_s, who_s, spans.type, first_s, end_s, span_t, other_t, exact,
            overlap,
        )  # fmt: skip

    def matched(self, match: Match) -> Bools:
        """Which rows have a span of the other annotator that matches."""
        return self.is_exact_t if match == "exact" else self.is_overlap_t

    def mean(self, matched_t: Bools, weight_t: Floats) -> Parts:
        """The share of rows that match; UNDEFINED without rows."""
        total = weight_t.sum()
        if total == 0:
            return UNDEFINED
        value = float(weight_t @ matched_t / total)
        return Parts(value, value)


@dataclass(frozen=True, eq=False)
class _Marked:
    """Spans sorted by annotator, type and first token, to look them up."""

    who_s: Codes
    type_s: Codes
    first_s: Offsets
    end_s: Offsets
    size: int
    n_types: int
    order: Offsets

    @classmethod
    def of(
        cls, who_s: Codes, type_s: Codes, first_s: Offsets, end_s: Offsets, size: int, n_types: int
    ) -> "_Marked":
        order = np.lexsort((first_s, type_s, who_s))
        return cls(who_s, type_s, first_s, end_s, size, n_types, order)

    def _key(self, who: AnyArray, type_: AnyArray, token: AnyArray) -> AnyArray:
        return np.asarray((who * np.int64(max(self.n_types, 1)) + type_) * self.size + token)

    def found(self, span_t: Offsets, other_t: Codes) -> tuple[Bools, Bools]:
        """Whether the other annotator marked the same tokens, or one of them, with this type."""
        sorted_keys = self._key(self.who_s, self.type_s, self.first_s)[self.order]
        type_t, first_t, end_t = (each[span_t] for each in (self.type_s, self.first_s, self.end_s))
        # spans of one annotator do not overlap: the last that begins before the end decides
        place_t = np.searchsorted(sorted_keys, self._key(other_t, type_t, end_t)) - 1
        near_t = self.order[np.maximum(place_t, 0)] if len(self.order) else place_t
        same_t = (place_t >= 0) & (self.who_s[near_t] == other_t) & (self.type_s[near_t] == type_t)
        overlap_t = same_t & (self.end_s[near_t] > first_t)
        exact_t = overlap_t & (self.first_s[near_t] == first_t) & (self.end_s[near_t] == end_t)
        return exact_t, overlap_t


def _other_annotators(
    sentence_s: Offsets, who_s: Codes, sentence_n: Offsets, who_n: Codes, n_sentences: int
) -> tuple[Offsets, Codes]:
    """Rows of a span and another annotator of its sentence."""
    n_annotators = int(who_n.max(initial=0)) + 1
    present = np.unique(sentence_n * n_annotators + who_n)
    sentence_p, who_p = np.divmod(present, n_annotators)
    offsets = np.searchsorted(sentence_p, np.arange(n_sentences + 1))
    span_t = np.repeat(np.arange(len(sentence_s)), np.diff(offsets)[sentence_s])
    other_t = who_p[run_indices(offsets, sentence_s)]
    others = other_t != who_s[span_t]
    return span_t[others], other_t[others].astype(np.int32)


def _ends(table: SpanPairs, match: Match, value: float, settings: IntervalSettings) -> Ends:
    if settings.kind == "none" or np.isnan(value):
        return Ends()
    matched_t = table.matched(match)
    sentence_t = table.sentence_s[table.span_t]
    if settings.kind == "analytic":
        sentences, row_t = np.unique(sentence_t, return_inverse=True)
        deviation = np.bincount(row_t, weights=matched_t - value, minlength=len(sentences))
        variance = variance_of(np.asarray(deviation / len(sentence_t)))
        return analytic_ends(value, variance, len(sentences), settings, lowest=0.0)
    rng = generator(settings.seed, f"bootstrap over {settings.kind}")
    who_t = table.annotator_s[table.span_t]
    by_item = settings.kind == "items"
    drawn = np.unique(sentence_t if by_item else np.append(who_t, table.other_t))
    value_b = np.empty(settings.n_resamples)
    for b in range(settings.n_resamples):
        times = np.bincount(rng.choice(drawn, len(drawn)), minlength=int(drawn[-1]) + 1)
        weight_t = times[sentence_t] if by_item else times[who_t] * times[table.other_t]
        value_b[b] = table.mean(matched_t, weight_t.astype(np.float64)).value
    return bootstrap_ends(value_b, settings)


def _facts(labels: TokenLabels, table: SpanPairs) -> Facts:
    ann = one_label_each(labels.annotations)
    sentence_n = labels.sentences.sentence_of_token[ann.item]
    pairs = np.unique(sentence_n * np.int64(ann.n_annotators) + ann.annotator)
    n_s = np.bincount(pairs // max(ann.n_annotators, 1), minlength=len(labels))
    shared = n_s[sentence_n] >= 2
    return Facts(
        n_labelled=int((n_s > 0).sum()), n_items=int((n_s >= 2).sum()),
        n_annotators=len(np.unique(ann.annotator[shared])), n_labels=len(np.unique(table.span_t)),
        n_repeated=labels.annotations.n_annotations - ann.n_annotations,
    )  # fmt: skip


def _words(match: Match, value: float, ends: Ends, facts: Facts) -> Iterable[str]:
    if np.isnan(value):
        if facts.n_items == 0:
            yield "No sentence has labels of two annotators, so nothing can be compared."
        else:
            yield "No annotator marked a span in the sentences that two annotators labelled."
        return
    if match == "exact":
        yield f"{per_cent(value)} of the spans of one annotator are exactly those of another."
        yield "It is strict: a span that is one token longer counts as no agreement at all."
    else:
        share = per_cent(value)
        yield f"{share} of the spans of one annotator overlap one of another, with its type."
        yield "It is lenient: one common token is enough."
    yield "Nothing is taken off for chance, which is small for spans."
    yield from uncertainty(ends)
    yield from facts.caveats("sentence")
