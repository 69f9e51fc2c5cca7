"""What the others said of an item: the consensus without the label that is being looked at."""

from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Annotations
from manyhands.annotations.grouping import group_offsets
from manyhands.core.arrays import AnyArray, Floats, Offsets


@dataclass(frozen=True)
class Cells:
    """The classes that were said of each item, only those that were, sorted by item.

    `cell_n` points from an annotation to its cell; the cells of item i stand at `offsets[i]` up
    to `offsets[i + 1]`. Their number never exceeds that of the labels.
    """

    key: Offsets
    label: Offsets
    count: Offsets
    offsets: Offsets
    cell_n: Offsets


def class_cells(annotations: Annotations) -> Cells:
    """Count the classes said of each item.

    >>> cells = class_cells(Annotations.from_dense([[0, 2, 2], [1, -1, -1]]))
    >>> cells.label.tolist(), cells.count.tolist(), cells.offsets.tolist()
    ([0, 2, 1], [1, 2, 1], [0, 2, 3])
    """
    n_classes = max(annotations.n_classes, 1)
    key_n = annotations.item.astype(np.int64) * n_classes + annotations.label
    key, cell_n, count = np.unique(key_n, return_inverse=True, return_counts=True)
    offsets = group_offsets((key // n_classes).astype(np.int32), annotations.n_items)
    return Cells(key, key % n_classes, count.astype(np.int64), offsets, cell_n)


def count_of(cells: Cells, annotations: Annotations, item: AnyArray, label: AnyArray) -> Offsets:
    """How often a class was said of an item, for any items and classes."""
    key = item.astype(np.int64) * max(annotations.n_classes, 1) + label
    at = np.minimum(np.searchsorted(cells.key, key), max(len(cells.key) - 1, 0))
    return np.where(cells.key[at] == key, cells.count[at], 0)


def majority_of_others(annotations: Annotations, cells: Cells) -> Offsets:
    """The class most others said of the item, for every annotation; -1 for a tie or nobody.

    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 0, -1]])
    >>> majority_of_others(ann, class_cells(ann)).tolist()
    [-1, -1, 0, 0, 1]
    """
    labelled = np.flatnonzero(np.diff(cells.offsets))
    if len(labelled) == 0:
        return np.zeros(0, dtype=np.int64)
    start = cells.offsets[labelled]
    size = np.diff(cells.offsets)[labelled]
    top = np.maximum.reduceat(cells.count, start)
    is_top = cells.count == np.repeat(top, size)
    n_top = np.add.reduceat(is_top.astype(np.int64), start)
    low = np.minimum.reduceat(np.where(is_top, cells.label, annotations.n_classes), start)
    high = np.maximum.reduceat(np.where(is_top, cells.label, -1), start)
    second = np.maximum.reduceat(np.where(is_top, 0, cells.count), start)
    rank = np.full(annotations.n_items, -1, dtype=np.int64)
    rank[labelled] = np.arange(len(labelled))
    i, own, count = rank[annotations.item], annotations.label, cells.count[cells.cell_n]
    on_top = count == top[i]
    # Taking one label off the top leaves it ahead, level, or leaves the other top class alone.
    alone = np.where(top[i] - 1 > second[i], own, -1)
    level = np.where(n_top[i] == 2, np.where(own == low[i], high[i], low[i]), -1)
    if_top = np.where(n_top[i] == 1, alone, level)
    return np.where(on_top, if_top, np.where(n_top[i] == 1, low[i], -1)).astype(np.int64)


def mid_ranks(label_n: AnyArray) -> Floats:
    """The share of labels below each label, half of the equal ones included.

    Comparisons of numbers use it, so that one wild number weighs no more than any other.

    >>> mid_ranks(np.array([5.0, 1.0, 5.0, 999.0])).tolist()
    [0.5, 0.125, 0.5, 0.875]
    """
    _, inverse, count = np.unique(label_n, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - count / 2.0
    return np.asarray(middle[inverse] / max(len(label_n), 1))


def mean_of_others(annotations: Annotations, value_n: Floats) -> Floats:
    """The mean of a value over the other labels of the item; NaN where there is none."""
    n_i = annotations.labels_per_item
    sum_i = np.bincount(annotations.item, weights=value_n, minlength=annotations.n_items)
    others_n = (n_i - 1)[annotations.item]
    left_n = sum_i[annotations.item] - value_n
    mean_n = np.full(len(value_n), np.nan)
    np.divide(left_n, others_n, out=mean_n, where=others_n > 0)
    return mean_n
