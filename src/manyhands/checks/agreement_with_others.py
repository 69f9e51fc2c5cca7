"""The agreement of every annotator with the others, compared with chance.

Each label is compared with the consensus of the other labels of its item: their majority for
classes, their mean rank for numbers. The null hypothesis assigns the annotator's labels to the
annotator's items at random. Mean and variance of the agreement are then known whatever the class
frequencies of the annotator, so an annotator who prefers a class is not reported for that alone.

A table has hundreds of annotators and thousands of pairs to test, so p-values are corrected for the
number of tests. At `LEVEL`, a check reports one clean table in a thousand.
"""

from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Annotations
from manyhands.annotations.grouping import group_offsets
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats, Offsets
from manyhands.core.kernels import kernel

LEVEL = 0.001


@dataclass(frozen=True)
class AgreementWithOthers:
    """Agreement of each annotator with the others, minus the agreement expected by chance.

    n_compared_a   number of labels that could be compared
    excess_a       sum of agreements (or of products) minus its expectation under the null
    variance_a     variance of the excess under the null
    max_excess_a   excess of an annotator who always agrees with the others
    is_varied_a    whether labels and items vary enough for the normal approximation
    """

    n_compared_a: Floats
    excess_a: Floats
    variance_a: Floats
    max_excess_a: Floats
    is_varied_a: Bools

    @property
    def z_a(self) -> Floats:
        """The excess in standard deviations; 0 if the labels do not vary."""
        varies = self.variance_a > 1e-9
        scale = np.sqrt(np.where(varies, self.variance_a, 1.0))
        return np.asarray(np.where(varies, self.excess_a / scale, 0.0))

    @property
    def skill(self) -> float:
        """The chance-corrected agreement of the whole crowd: 0 is chance, 1 is perfect."""
        maximum = float(self.max_excess_a.sum())
        return float(self.excess_a.sum()) / maximum if maximum > 0 else 0.0


def agreement_of_classes(
    annotations: Annotations, counts: "ItemClassCounts"
) -> AgreementWithOthers:
    """Agreement with the majority label of the others.

    With n_k labels of class k among N, and m_k items whose majority of the others is k:
    expectation = sum_k n_k m_k / N, maximum excess = N - sum_k m_k^2 / N, and
    variance = (sum n m - sum n m^2 / N - sum n^2 m / N + (sum n m)^2 / N^2) / (N - 1).
    """
    others = majority_of_others(annotations, counts)
    known = others >= 0
    owner, own, others = annotations.annotator[known], annotations.label[known], others[known]
    n_annotators, n_classes = annotations.n_annotators, max(annotations.n_classes, 1)
    base = owner.astype(np.int64) * n_classes
    key, inverse = np.unique(np.concatenate([base + own, base + others]), return_inverse=True)
    n_own = np.bincount(inverse[: len(owner)], minlength=len(key)).astype(np.float64)
    n_others = np.bincount(inverse[len(owner) :], minlength=len(key)).astype(np.float64)

    def total(weight: AnyArray) -> Floats:
        sums = np.bincount(key // n_classes, weights=weight, minlength=n_annotators)
        return np.asarray(sums, dtype=np.float64)

    n_compared = np.bincount(owner, minlength=n_annotators).astype(np.float64)
    agreed = np.bincount(owner, weights=own == others, minlength=n_annotators)
    n = np.maximum(n_compared, 1.0)
    both = total(n_own * n_others)
    off = total(n_own * n_others**2) / n + total(n_own**2 * n_others) / n
    variance = (both - off + (both / n) ** 2) / np.maximum(n - 1.0, 1.0)
    maximum = n_compared - total(n_others**2) / n
    return AgreementWithOthers(
        n_compared, agreed - both / n, np.maximum(variance, 0.0), maximum, variance >= 2.0
    )


def agreement_of_ranks(annotations: Annotations, rank_n: Floats) -> AgreementWithOthers:
    """Covariance of the annotator's ranks with the mean rank of the others."""
    others_n = mean_of_others(annotations, rank_n)
    known = ~np.isnan(others_n)
    owner, own, others = annotations.annotator[known], rank_n[known], others_n[known]

    def total(weight: AnyArray) -> Floats:
        return np.asarray(np.bincount(owner, weight, annotations.n_annotators), dtype=np.float64)

    n_compared = total(np.ones(len(owner)))
    n = np.maximum(n_compared, 1.0)
    own_off = own - (total(own) / n)[owner]
    others_off = others - (total(others) / n)[owner]
    maximum = total(others_off**2)
    variance = total(own_off**2) * maximum / np.maximum(n - 1.0, 1.0)
    varied = variance > 1e-4 * maximum  # ranks are in 0..1: a standard deviation of 0.01
    return AgreementWithOthers(n_compared, total(own_off * others_off), variance, maximum, varied)


@dataclass(frozen=True)
class ItemClassCounts:
    """Number of labels of each class that each item has; only pairs that occur, sorted by item.

    `cell_n` is the cell (item, class) of each annotation. The cells of item i are
    `offsets[i]:offsets[i + 1]`. There are never more cells than labels.
    """

    key: Offsets
    label: Offsets
    count: Offsets
    offsets: Offsets
    cell_n: Offsets

    def count_of(self, annotations: Annotations, item: AnyArray, label: AnyArray) -> Offsets:
        """Number of labels of a class that an item has, for any items and classes."""
        key = item.astype(np.int64) * max(annotations.n_classes, 1) + label
        position = np.minimum(np.searchsorted(self.key, key), max(len(self.key) - 1, 0))
        return np.where(self.key[position] == key, self.count[position], 0)


def count_item_classes(annotations: Annotations) -> ItemClassCounts:
    """Count the labels of each class that each item has.

    >>> counts = count_item_classes(Annotations.from_dense([[0, 2, 2], [1, -1, -1]]))
    >>> counts.label.tolist(), counts.count.tolist(), counts.offsets.tolist()
    ([0, 2, 1], [1, 2, 1], [0, 2, 3])
    """
    n_classes = max(annotations.n_classes, 1)
    key_n = annotations.item.astype(np.int64) * n_classes + annotations.label
    key, cell_n, count = np.unique(key_n, return_inverse=True, return_counts=True)
    offsets = group_offsets((key // n_classes).astype(np.int32), annotations.n_items)
    return ItemClassCounts(key, key % n_classes, count.astype(np.int64), offsets, cell_n)


def majority_of_others(annotations: Annotations, counts: ItemClassCounts) -> Offsets:
    """The majority label of the others, for every annotation; -1 for a tie or no others.

    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 0, -1]])
    >>> majority_of_others(ann, count_item_classes(ann)).tolist()
    [-1, -1, 0, 0, 1]
    """
    nothing = np.full(annotations.n_annotations, -1, dtype=np.int32)
    return majority_without(
        counts.offsets, counts.label, counts.count, annotations.item, annotations.label, nothing
    )


@kernel
def majority_without(
    offsets: Offsets, label: Offsets, count: Offsets, item: Codes, one: Codes, two: Codes
) -> Offsets:
    """The majority label of each item without two of its labels; -1 for a tie or no others."""
    most = np.empty(len(item), dtype=np.int64)
    for line in range(len(item)):
        best, winner = 0, -1
        for cell in range(offsets[item[line]], offsets[item[line] + 1]):
            left = count[cell]
            left -= 1 if label[cell] == one[line] else 0
            left -= 1 if label[cell] == two[line] else 0
            if left > best:
                best, winner = left, label[cell]
            elif left == best:
                winner = -1
        most[line] = winner
    return most


def mid_ranks(label_n: AnyArray) -> Floats:
    """The share of labels below each label, plus half of the share of equal labels.

    Ranks limit the influence of outliers.

    >>> mid_ranks(np.array([5.0, 1.0, 5.0, 999.0])).tolist()
    [0.5, 0.125, 0.5, 0.875]
    """
    _, inverse, count = np.unique(label_n, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - count / 2.0
    return np.asarray(middle[inverse] / max(len(label_n), 1))


def mean_of_others(annotations: Annotations, value_n: Floats) -> Floats:
    """The mean value of the other labels of the item; NaN if there are no others."""
    n_i = annotations.labels_per_item
    sum_i = np.bincount(annotations.item, weights=value_n, minlength=annotations.n_items)
    others_n = (n_i - 1)[annotations.item]
    left_n = sum_i[annotations.item] - value_n
    mean_n = np.full(len(value_n), np.nan)
    np.divide(left_n, others_n, out=mean_n, where=others_n > 0)
    return mean_n


def significant(p_value: Floats) -> Bools:
    """Which tests are significant at `LEVEL` after Holm's correction for their number.

    >>> significant(np.array([1e-5, 4e-4, 0.9])).tolist()
    [True, True, False]
    >>> significant(np.array([6e-4, 0.9])).tolist()
    [False, False]
    """
    order = np.argsort(p_value, kind="stable")
    corrected = p_value[order] * (len(p_value) - np.arange(len(p_value)))
    is_significant = np.zeros(len(p_value), dtype=bool)
    is_significant[order] = np.maximum.accumulate(corrected) < LEVEL
    return is_significant


def sort_by_p_value(codes: AnyArray, p_value: Floats, chosen: Bools) -> AnyArray:
    """The chosen codes sorted by their p-value, the smallest first."""
    return codes[chosen][np.argsort(p_value[chosen], kind="stable")]
