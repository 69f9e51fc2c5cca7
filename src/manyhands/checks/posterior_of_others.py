"""What the other annotators of an item say about its class, without one label or without two.

An annotator with knowledge g sees the class of an item with probability g, and otherwise draws a
label in the shares q of all labels that the annotator gave (see `knowledge`). So a label l weighs

    w = log P(l | class l) - log P(l | another class) = log(1 + g / ((1 - g) q(l))),
    P(class k | others) ~ prior_k exp(sum of the weights of others who said k).

A rare label weighs more than one that the annotator gives to almost all items. Time and memory grow
with the number of labels.
"""

from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Annotations
from manyhands.annotations.grouping import group_offsets
from manyhands.checks.agreement_with_others import ItemClassCounts, count_item_classes
from manyhands.core.arrays import AnyArray, Codes, Floats, Offsets
from manyhands.core.kernels import kernel

MAX_WEIGHT = 5.0
_MOST = 0.99  # knowledge is never perfect


@dataclass(frozen=True, eq=False)
class LabelShares:
    """The shares q of the labels of each annotator, with one label in the shares of the crowd.

    Only the pairs of annotator and class that occur are kept, sorted: those of annotator a are
    `offsets[a]:offsets[a + 1]`. Annotators x classes would be too many in a table of free texts.
    """

    prior_k: Floats
    label: Codes
    count: Floats
    offsets: Offsets
    key: Offsets
    n_a: Floats

    @classmethod
    def of(cls, ann: Annotations, prior_k: Floats) -> "LabelShares":
        """The shares of annotations."""
        key_n = ann.annotator.astype(np.int64) * max(ann.n_classes, 1) + ann.label
        key, count = np.unique(key_n, return_counts=True)
        owner, label = np.divmod(key, max(ann.n_classes, 1))
        offsets = group_offsets(owner.astype(np.int32), ann.n_annotators)
        n_a = ann.labels_per_annotator.astype(np.float64)
        return cls(prior_k, label.astype(np.int32), count.astype(np.float64), offsets, key, n_a)

    def __call__(self, annotator: AnyArray, label: AnyArray) -> Floats:
        """The shares of some labels among those of some annotators."""
        key = annotator.astype(np.int64) * max(len(self.prior_k), 1) + label
        place = np.minimum(np.searchsorted(self.key, key), max(len(self.key) - 1, 0))
        count = np.where(self.key[place] == key, self.count[place], 0.0)
        return np.asarray((count + self.prior_k[label]) / (self.n_a[annotator] + 1.0))

    def prior_mass(self) -> Floats:
        """The prior probability of what each annotator says: sum over k of q(k) prior_k."""
        owner = np.repeat(np.arange(len(self.n_a)), np.diff(self.offsets))
        said_a = np.bincount(owner, self.count * self.prior_k[self.label], len(self.n_a))
        return np.asarray((said_a + (self.prior_k**2).sum()) / (self.n_a + 1.0))


@dataclass(frozen=True, eq=False)
class OthersPosterior:
    """Annotations, the weight of each label, and the sums of weights of each item and class."""

    annotations: Annotations
    counts: ItemClassCounts
    prior_k: Floats
    shares: LabelShares
    knowledge_a: Floats
    weight_n: Floats
    weight_cell: Floats

    @classmethod
    def weighted(cls, annotations: Annotations, knowledge_a: Floats) -> "OthersPosterior":
        """The posterior in which annotators have this knowledge."""
        ann, counts = annotations, count_item_classes(annotations)
        prior_k = np.bincount(ann.label, minlength=ann.n_classes) + 1.0
        prior_k = prior_k / prior_k.sum()
        shares = LabelShares.of(ann, prior_k)
        knowledge_a = np.clip(knowledge_a, 0.0, _MOST)
        g_n, q_n = knowledge_a[ann.annotator], shares(ann.annotator, ann.label)
        weight_n = np.minimum(np.log1p(g_n / ((1.0 - g_n) * q_n)), MAX_WEIGHT)
        weight_cell = np.bincount(counts.cell_n, weight_n, len(counts.label)).astype(np.float64)
        return cls(ann, counts, prior_k, shares, knowledge_a, weight_n, weight_cell)

    def without_own(self) -> tuple[Floats, Floats, Floats]:
        """P(the class of the item is the label), for every label, by the others of the item.

        Also its mean over the labels that the annotator could have given, in the annotator's own
        shares, and the probability of the most probable class that was said.
        """
        ann, shares = self.annotations, self.shares
        return _leave_own_out(
            self.counts.offsets, self.counts.label, self.weight_cell, self.prior_k,
            ann.item, ann.annotator, ann.label, self.weight_n,
            shares.offsets, shares.label, shares.count, shares.n_a, shares.prior_mass(),
        )  # fmt: skip

    def without_pair(self, one: AnyArray, two: AnyArray) -> tuple[Floats, Floats]:
        """P(the class is the one's label) and P(it is the other's), by the others of the item.

        `one` and `two` are positions of two annotations of the same item.
        """
        ann, weight_n = self.annotations, self.weight_n
        return _leave_pair_out(
            self.counts.offsets, self.counts.label, self.weight_cell, self.prior_k,
            ann.item[one], ann.label[one], ann.label[two],
            weight_n[one], weight_n[two],
        )  # fmt: skip


@kernel
def _count_of(labels: Codes, count: Floats, begin: int, end: int, label: int) -> float:
    """The count of a label among sorted ones; 0 if it is not there."""
    while begin < end:
        middle = (begin + end) // 2
        if labels[middle] == label:
            return float(count[middle])
        if labels[middle] < label:
            begin = middle + 1
        else:
            end = middle
    return 0.0


@kernel
def _leave_own_out(
    offsets: Offsets,
    label: Offsets,
    weight: Floats,
    prior: Floats,
    item: Codes,
    annotator: Codes,
    own: Codes,
    weight_n: Floats,
    said_offsets: Offsets,
    said: Codes,
    said_count: Floats,
    n_a: Floats,
    prior_mass: Floats,
) -> tuple[Floats, Floats, Floats]:
    p_own, p_any, p_top = np.empty(len(item)), np.empty(len(item)), np.empty(len(item))
    for n in range(len(item)):
        begin, end, a = offsets[item[n]], offsets[item[n] + 1], annotator[n]
        top = 0.0
        for cell in range(begin, end):
            top = max(top, weight[cell])
        unsaid = np.exp(-top)  # of a class that nobody said
        total, in_own, in_any = unsaid, prior[own[n]] * unsaid, prior_mass[a] * unsaid
        best = 0.0
        for cell in range(begin, end):
            left = weight[cell] - (weight_n[n] if label[cell] == own[n] else 0.0)
            more = prior[label[cell]] * (np.exp(left - top) - unsaid)
            total += more
            times = _count_of(said, said_count, said_offsets[a], said_offsets[a + 1], label[cell])
            in_any += (times + prior[label[cell]]) / (n_a[a] + 1.0) * more
            in_own += more if label[cell] == own[n] else 0.0
            best = max(best, more + prior[label[cell]] * unsaid)
        p_own[n], p_any[n], p_top[n] = in_own / total, in_any / total, best / total
    return p_own, p_any, p_top


@kernel
def _leave_pair_out(
    offsets: Offsets,
    label: Offsets,
    weight: Floats,
    prior: Floats,
    item: Codes,
    one: Codes,
    two: Codes,
    weight_one: Floats,
    weight_two: Floats,
) -> tuple[Floats, Floats]:
    p_one, p_two = np.empty(len(item)), np.empty(len(item))
    for n in range(len(item)):
        begin, end = offsets[item[n]], offsets[item[n] + 1]
        top = 0.0
        for cell in range(begin, end):
            top = max(top, weight[cell])
        unsaid = np.exp(-top)  # of a class that nobody said
        total, in_one, in_two = unsaid, prior[one[n]] * unsaid, prior[two[n]] * unsaid
        for cell in range(begin, end):
            left = weight[cell]
            left -= weight_one[n] if label[cell] == one[n] else 0.0
            left -= weight_two[n] if label[cell] == two[n] else 0.0
            more = prior[label[cell]] * (np.exp(left - top) - unsaid)
            total += more
            in_one += more if label[cell] == one[n] else 0.0
            in_two += more if label[cell] == two[n] else 0.0
        p_one[n], p_two[n] = in_one / total, in_two / total
    return p_one, p_two
