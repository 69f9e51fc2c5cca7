"""Whether the quality of an annotator changes over time: the last half of labels and the first.

Items that come late may be harder for all. So a label is compared with the other labels of the same
item: with s the probability that a label is right by the consensus,

    r = s - mean of s over the other labels of the item,

and the change of an annotator is the mean of r over the last half of the labels minus that over
the first half. (For numbers, s is minus the distance from the consensus.) If nothing changes, every
order of the labels is as likely as any other, so the change has the variance v (1/n + 1/m) with v
the variance of r. Which changes are reported follows Benjamini and Hochberg (1995) at 5 %: of
twenty annotators who are reported about one is so by chance, and of twenty crowds in which nobody
changes about one is reported on. `tests/report/test_times.py` measures it.

One who gets worse makes the others of the same items look better. So whoever was found to change no
longer counts among the others, the surest first, until nobody new is found.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from manyhands.aggregation import Consensus
from manyhands.annotations import Annotations
from manyhands.annotations.grouping import group_offsets
from manyhands.core.arrays import AnyArray, Bools, Floats
from manyhands.report.cells import probability_of_labels

LEVEL = 0.05  # of the changes that are reported, or of crowds without any, by chance
MIN_LABELS = 20  # of an annotator, with known times and others to compare with
MAX_ROUNDS = 20
_WIDTH = 1.96


@dataclass(frozen=True)
class Trend:
    """The change of every annotator; NaN where there are too few labels with known times.

    `change_a` is above 0 if labels got better, with the 95 % interval `low_a` to `high_a`.
    """

    n_a: AnyArray
    change_a: Floats
    low_a: Floats
    high_a: Floats
    p_value_a: Floats
    is_significant_a: Bools
    kind: str

    def text(self, annotator: int) -> str:
        """The change of an annotator in words; empty if it may be chance."""
        if not self.is_significant_a[annotator]:
            return ""
        change = float(self.change_a[annotator])
        low, high = sorted([abs(self.low_a[annotator]), abs(self.high_a[annotator])])
        if self.kind != "numbers":
            size = f"right {100 * abs(change):.0f} points {'more' if change > 0 else 'less'} often"
            interval = f"{100 * low:.0f} to {100 * high:.0f}"
        else:
            size = f"{'closer' if change > 0 else 'further off'} by {abs(change):.2g}"
            interval = f"{low:.2g} to {high:.2g}"
        return f"{size} in the last half of the labels than in the first ({interval})"


def annotator_trend(consensus: Consensus) -> Trend | None:
    """The change of every annotator over time; None if it is not known when labels were given."""
    ann = consensus.annotations
    at = None if ann.times is None else ann.times.at
    if at is None:
        return None
    score_n = _scores(consensus, ann)
    changes = np.zeros(ann.n_annotators, dtype=bool)
    for _ in range(MAX_ROUNDS):
        found = _compared_with(~changes, ann, at, score_n)
        new = np.flatnonzero(found.is_significant_a & ~changes)
        if len(new) == 0:
            break
        surest = new[np.argsort(found.p_value_a[new], kind="stable")]
        changes[surest[: 1 + len(new) // 4]] = True
    return found


def _compared_with(reference: Bools, ann: Annotations, at: AnyArray, score_n: Floats) -> Trend:
    """The change of every annotator, compared with other labels of annotators of reference."""
    relative_n = score_n - _mean_of_others(reference, ann, score_n)
    known = np.flatnonzero(~np.isnat(at) & np.isfinite(relative_n))
    order = known[np.lexsort((at[known], ann.annotator[known]))]
    owner, value, moment = ann.annotator[order], relative_n[order], at[order]
    offsets = group_offsets(owner, ann.n_annotators)
    n_a = np.diff(offsets)
    middle = offsets[:-1] + n_a // 2
    is_last = np.arange(len(order)) >= middle[owner]
    tested = n_a >= MIN_LABELS
    # Labels that were stored at one moment have no order.
    tested[tested] = moment[middle[tested] - 1] < moment[middle[tested]]
    tested &= _variance(value, owner, ann.n_annotators) > 1e-12
    return _compared(value, owner, is_last, tested, ann.kind)


def _mean_of_others(reference: Bools, ann: Annotations, score_n: Floats) -> Floats:
    """The mean over the other labels of the item by annotators of reference; NaN without any."""
    counts_n = reference[ann.annotator].astype(np.float64)
    n_i = np.bincount(ann.item, counts_n, ann.n_items)
    sum_i = np.bincount(ann.item, counts_n * score_n, ann.n_items)
    others_n = n_i[ann.item] - counts_n
    left_n = sum_i[ann.item] - counts_n * score_n
    mean_n = np.full(len(score_n), np.nan)
    np.divide(left_n, others_n, out=mean_n, where=others_n > 0.5)
    return mean_n


def _scores(consensus: Consensus, ann: Annotations) -> Floats:
    if consensus.probabilities is None:
        return np.asarray(-np.abs(ann.label - consensus.labels[ann.item]), dtype=np.float64)
    return probability_of_labels(consensus)


def _compared(value: Floats, owner: AnyArray, is_last: Bools, tested: Bools, kind: str) -> Trend:
    n = len(tested)
    first, last = ~is_last, is_last
    n_first = np.maximum(np.bincount(owner[first], minlength=n), 1)
    n_last = np.maximum(np.bincount(owner[last], minlength=n), 1)
    mean_first = np.bincount(owner[first], value[first], n) / n_first
    mean_last = np.bincount(owner[last], value[last], n) / n_last
    own = (
        _variance(value[first], owner[first], n) / n_first
        + _variance(value[last], owner[last], n) / n_last
    )
    change = np.where(tested, mean_last - mean_first, np.nan)
    half_width = _WIDTH * np.sqrt(own)
    spread = np.sqrt(_variance(value, owner, n) * (1.0 / n_first + 1.0 / n_last))
    p_value = np.full(n, np.nan)
    p_value[tested] = 2.0 * special.ndtr(-np.abs(change[tested]) / spread[tested])
    is_significant = np.zeros(n, dtype=bool)
    is_significant[tested] = _reported(p_value[tested])
    counts = np.bincount(owner, minlength=n)
    low, high = change - half_width, change + half_width
    return Trend(counts, change, low, high, p_value, is_significant, kind)


def _reported(p_value: Floats) -> Bools:
    """The tests that Benjamini and Hochberg's rule rejects: the largest k with p_(k) <= k/n level.

    >>> _reported(np.array([0.03, 0.02, 0.9])).tolist()
    [True, True, False]
    """
    order = np.argsort(p_value, kind="stable")
    passed = p_value[order] <= LEVEL * np.arange(1, len(p_value) + 1) / max(len(p_value), 1)
    n_rejected = int(np.flatnonzero(passed).max(initial=-1)) + 1
    rejected = np.zeros(len(p_value), dtype=bool)
    rejected[order[:n_rejected]] = True
    return rejected


def _variance(value: Floats, owner: AnyArray, n: int) -> Floats:
    """The variance of the values of every annotator; 0 with fewer than two."""
    count = np.bincount(owner, minlength=n)
    mean = np.bincount(owner, value, n) / np.maximum(count, 1)
    squares = np.bincount(owner, (value - mean[owner]) ** 2, n)
    return np.asarray(squares / np.maximum(count - 1, 1), dtype=np.float64)
