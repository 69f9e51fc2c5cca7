"""How far annotators agree about which of two items is better.

A pair of items is what two annotators can agree about, in whichever order it was shown. Which of
the two is called the first must not count: for the agreement by chance every pair is taken in both
orders, so that both sides are equally frequent, and only ties have a frequency of their own.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from manyhands.agreement.alpha import alpha
from manyhands.agreement.chance import percent
from manyhands.agreement.estimate import wilson
from manyhands.agreement.result import Agreement
from manyhands.agreement.summary import AgreementSummary
from manyhands.agreement.tables import Columns
from manyhands.annotations import Annotations, Comparisons
from manyhands.annotations.comparisons import LEFT, TIE
from manyhands.core.arrays import AnyArray, Codes, Floats

_FIRST, _SECOND, _TIE = 0, 1, 2
_CLASSES = ["first", "second", "tie"]
_BIASED = 3.0  # standard errors from one half


class PairLabels(NamedTuple):
    """Comparisons as labels of unordered pairs: which of the two items won.

    `first` and `second` are the items of every pair, by code.
    """

    pair: Codes
    annotator: Codes
    label: Codes
    first: Codes
    second: Codes

    @classmethod
    def of(cls, comparisons: Comparisons) -> "PairLabels":
        """The labels; if an annotator judged a pair more than once, whoever won more often."""
        turned = comparisons.left > comparisons.right
        first = np.where(turned, comparisons.right, comparisons.left)
        second = np.where(turned, comparisons.left, comparisons.right)
        won_first = (comparisons.outcome == LEFT) != turned
        lead = np.where(comparisons.outcome == TIE, 0, np.where(won_first, 1, -1))
        pairs, code = np.unique(
            first.astype(np.int64) * comparisons.n_items + second, return_inverse=True
        )
        key = code * max(comparisons.n_annotators, 1) + comparisons.annotator
        _, one, group = np.unique(key, return_index=True, return_inverse=True)
        lead = np.bincount(group, weights=lead)
        label = np.where(lead == 0, _TIE, np.where(lead > 0, _FIRST, _SECOND))
        return cls(
            code[one].astype(np.int32),
            comparisons.annotator[one],
            label.astype(np.int32),
            (pairs // comparisons.n_items).astype(np.int32),
            (pairs % comparisons.n_items).astype(np.int32),
        )

    def annotations(self, n_annotators: int, *, both_orders: bool = False) -> Annotations:
        """The labels as annotations, whose items are the pairs; or every pair in both orders."""
        item, who, label = self.pair, self.annotator, self.label
        n = len(self.first)
        if both_orders:
            mirrored = np.array([_SECOND, _FIRST, _TIE])[label]
            item, who = np.concatenate([item, item + n]), np.concatenate([who, who])
            label = np.concatenate([label, mirrored])
        return Annotations.from_arrays(
            item, who, np.array(_CLASSES)[label], items=range(n * (1 + both_orders)),
            annotators=range(n_annotators), classes=_CLASSES,
        )  # fmt: skip


def summarize_pairs(comparisons: Comparisons, **interval: Any) -> AgreementSummary:
    """All that agreement tells about comparisons: what the command `agree` prints of them.

    `interval`, `confidence`, `n_resamples` and `seed` are as those of `alpha`.

    >>> pairs = Comparisons.from_arrays(list("xxy"), list("yyz"), list("uvu"), list("xxy"))
    >>> summarize_pairs(pairs, interval="none").coefficients[1].value
    1.0
    """
    labels = PairLabels.of(comparisons)
    n = comparisons.n_annotators
    found = (
        _alpha(labels, n, interval),
        percent(labels.annotations(n), **interval),
    )
    annotators = _annotator_columns(comparisons, labels)
    return AgreementSummary(
        "pairs",
        found,
        (*found[0].words, *_side_words(comparisons)),
        annotators=annotators,
        items=_pair_columns(comparisons, labels),
    )


def _alpha(labels: PairLabels, n_annotators: int, interval: dict[str, Any]) -> Agreement:
    """Alpha of pairs in both orders; its interval is that of as many pairs as there are."""
    found = alpha(labels.annotations(n_annotators, both_orders=True), **interval)
    wider = np.sqrt(2.0)  # the second order of a pair tells nothing new
    return replace(
        found,
        title="Krippendorff's alpha (pairs)",
        low=float(np.maximum(found.value - wider * (found.value - found.low), -1.0)),
        high=float(np.minimum(found.value + wider * (found.high - found.value), 1.0)),
        n_items=found.n_items // 2,
        n_labels=found.n_labels // 2,
    )


def _annotator_columns(comparisons: Comparisons, labels: PairLabels) -> Columns:
    """How often every annotator agrees with another one about a pair that both judged."""
    shared, agreed = agreement_with_others(labels, comparisons.n_annotators)
    with np.errstate(invalid="ignore"):
        share = agreed / shared
    low, high = wilson(share, shared)
    left, decided = sides(comparisons)
    with np.errstate(invalid="ignore"):
        p_left = left / decided
    return {
        "annotator": comparisons.annotators,
        "n_comparisons": comparisons.labels_per_annotator,
        "n_shared": shared.astype(np.int64),
        "agreement": share,
        "agreement_low": low,
        "agreement_high": high,
        "left": p_left,
        "ties": 1.0 - decided / np.maximum(comparisons.labels_per_annotator, 1),
    }


def agreement_with_others(labels: PairLabels, n_annotators: int) -> tuple[Floats, Floats]:
    """Per annotator: pairs that others judged too, and expected agreements with one of these."""
    n_pairs = len(labels.first)
    counts = np.zeros((n_pairs, 3))
    np.add.at(counts, (labels.pair, labels.label), 1.0)
    others = counts.sum(axis=1)[labels.pair] - 1.0
    same = counts[labels.pair, labels.label] - 1.0
    share = np.divide(same, others, out=np.zeros(len(same)), where=others > 0)
    shared, agreed = (
        np.bincount(labels.annotator, weights=each, minlength=n_annotators)
        for each in ((others > 0).astype(float), share)
    )
    return np.asarray(shared), np.asarray(agreed)


def sides(comparisons: Comparisons) -> tuple[AnyArray, AnyArray]:
    """How often every annotator chose the left item, and how often one of the two."""
    decided = comparisons.outcome != TIE
    left = comparisons.outcome == LEFT
    n = comparisons.n_annotators
    return (
        np.bincount(comparisons.annotator[left], minlength=n),
        np.bincount(comparisons.annotator[decided], minlength=n),
    )


def side_excess(comparisons: Comparisons) -> float:
    """By how many standard errors the left side won more often than every second time."""
    left, decided = (float(each.sum()) for each in sides(comparisons))
    return float((left - decided / 2.0) / np.sqrt(max(decided, 1.0) / 4.0))


def _side_words(comparisons: Comparisons) -> list[str]:
    left, decided = (int(each.sum()) for each in sides(comparisons))
    if not comparisons.has_sides or decided == 0 or abs(side_excess(comparisons)) < _BIASED:
        return []
    return [
        f"The left item won {100 * left / decided:.0f} % of the {decided} comparisons that are no "
        "tie, which is more or less than chance explains: estimate the advantage of the side "
        "(position_bias)."
    ]


def _pair_columns(comparisons: Comparisons, labels: PairLabels) -> Columns:
    """How often every pair was judged, and what was said of it."""
    n_pairs = len(labels.first)
    counts = np.zeros((n_pairs, 3), dtype=np.int64)
    np.add.at(counts, (labels.pair, labels.label), 1)
    total = counts.sum(axis=1)
    same = (counts * (counts - 1)).sum(axis=1)
    agreement = np.divide(
        same, total * (total - 1), out=np.full(n_pairs, np.nan), where=total > 1
    )  # fmt: skip
    return {
        "first": comparisons.items[labels.first],
        "second": comparisons.items[labels.second],
        "n_annotations": total,
        "agreement": agreement,
        **{f"n_{name}": counts[:, code] for code, name in enumerate(_CLASSES)},
    }
