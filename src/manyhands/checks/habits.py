"""What two annotators' own habits say about how often they agree."""

from dataclasses import dataclass

import numpy as np

from manyhands.agreement.pairwise import shared_labels
from manyhands.annotations import Annotations
from manyhands.checks.others import Cells
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats, Offsets
from manyhands.core.kernels import kernel

STANDS_OUT = 3.0  # deviations above what habits foretell


@dataclass(frozen=True)
class Shares:
    """Rows of label shares, each kept only where it is not zero; `key` names the rows, sorted."""

    key: Offsets
    offsets: Offsets
    label: Offsets
    share: Floats

    def agreement(self, key_one: AnyArray, key_two: AnyArray) -> Floats:
        """sum_l p_l q_l of two rows; 1 where one of them is not known, which accuses nobody."""
        one, two = (
            np.minimum(np.searchsorted(self.key, key), max(len(self.key) - 1, 0))
            for key in (key_one, key_two)
        )
        known = (self.key[one] == key_one) & (self.key[two] == key_two)
        return np.where(known, _dots(self.offsets, self.label, self.share, one, two), 1.0)


def label_shares(row_n: AnyArray, label_n: AnyArray, n_classes: int) -> Shares:
    """The label shares of every row that occurs."""
    cell, count = np.unique(row_n.astype(np.int64) * n_classes + label_n, return_counts=True)
    row = cell // n_classes
    key, start, place = np.unique(row, return_index=True, return_inverse=True)
    total = np.bincount(place, weights=count)
    return Shares(key, np.append(start, len(cell)), cell % n_classes, count / total[place])


def chance_agreement(ann: Annotations, first: Codes, second: Codes) -> Floats:
    """How often two would agree if both labelled blindly, each with their own class shares.

    >>> ann = Annotations.from_dense([[0, 0], [1, 0]])
    >>> chance_agreement(ann, np.array([0]), np.array([1])).tolist()
    [0.5]
    """
    return label_shares(ann.annotator, ann.label, max(ann.n_classes, 1)).agreement(first, second)


def stands_against_habits(ann: Annotations, cells: Cells, first: Codes, second: Codes) -> Bools:
    """Which pairs agree more than their habits foretell, given what the others said.

    Let y be what most of the others, without the two, said of an item; that there are none, or a
    tie, is a y of its own. Were the two independent given y, they would agree on it with
    probability sum_l p(a says l | y) p(b says l | y). Both habits are taken from the shared items
    alone, so that somebody who changed their ways is judged by how they were then; a y seen once
    foretells whatever happened, which spares the pair.
    """
    given = max(ann.n_classes, 1) + 1
    pair, one, two = shared_labels(ann, first, second).T
    label_one, label_two = ann.label[one], ann.label[two]
    others = _majority_without(
        cells.offsets, cells.label, cells.count, ann.item[one], label_one, label_two
    )
    row_one = pair * given + others + 1
    row_two = row_one + len(first) * given
    rows, labels = np.concatenate([row_one, row_two]), np.concatenate([label_one, label_two])
    expected = label_shares(rows, labels, given).agreement(row_one, row_two)
    same = label_one == label_two
    excess = np.bincount(pair, weights=same - expected, minlength=len(first)) - 0.5
    variance = np.bincount(pair, weights=expected * (1.0 - expected), minlength=len(first))
    return np.asarray(excess > STANDS_OUT * np.sqrt(np.maximum(variance, 0.0)))


@kernel
def _majority_without(
    offsets: Offsets, label: Offsets, count: Offsets, item: Codes, one: Codes, two: Codes
) -> Offsets:
    # The class said most often of the item once two labels are taken off; -1 for a tie or none.
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


@kernel
def _dots(
    offsets: Offsets, column: Offsets, value: Floats, first: Offsets, second: Offsets
) -> Floats:
    # Inner products of sparse rows whose columns are sorted.
    dots = np.zeros(len(first))
    for pair in range(len(first)):
        n, n_end = offsets[first[pair]], offsets[first[pair] + 1]
        m, m_end = offsets[second[pair]], offsets[second[pair] + 1]
        while n < n_end and m < m_end:
            if column[n] == column[m]:
                dots[pair] += value[n] * value[m]
                n += 1
                m += 1
            elif column[n] < column[m]:
                n += 1
            else:
                m += 1
    return dots
