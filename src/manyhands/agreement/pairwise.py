"""Agreement of every pair of annotators on the items that both labelled.

The work grows with the number of pairs of labels on one item, never with annotators x annotators.
Items with more than `MAX_LABELS` labels are left out, because their pairs would outnumber those of
all other items. If more than `MAX_PAIRS` pairs remain, only every second (third, ...) item is used.
So any table takes seconds, and the result is always the same.
"""

from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Annotations, Labels, as_annotations
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats, Offsets
from manyhands.core.kernels import kernel

MAX_LABELS = 50
MAX_PAIRS = 20_000_000


@dataclass(frozen=True)
class PairAgreement:
    """Pairs of annotators, their number of shared items, and on how many of these they agree."""

    first: Codes
    second: Codes
    shared: Codes
    agreed: Codes


@dataclass(frozen=True)
class PairMoments:
    """Pairs of annotators, their number of shared items, and the sums for their correlation."""

    first: Codes
    second: Codes
    shared: Codes
    product: Floats
    sum_first: Floats
    sum_second: Floats
    square_first: Floats
    square_second: Floats

    def correlation(self) -> Floats:
        """Pearson's correlation over the shared items; 0 if the labels of one do not vary."""
        n = self.shared
        covariance = self.product - self.sum_first * self.sum_second / n
        spread_first = np.maximum(self.square_first - self.sum_first**2 / n, 0.0)
        spread_second = np.maximum(self.square_second - self.sum_second**2 / n, 0.0)
        scale = np.sqrt(spread_first * spread_second)
        # A spread that is only a rounding error counts as none.
        varies = (spread_first > 1e-9 * self.square_first) & (
            spread_second > 1e-9 * self.square_second
        )
        ratio = np.divide(covariance, scale, out=np.zeros(len(scale)), where=varies)
        return np.asarray(np.clip(ratio, -1.0, 1.0))


def pair_agreement(
    annotations: Labels, *, min_shared: int = 1, involving: Bools | None = None
) -> PairAgreement:
    """Agreement of all pairs of annotators with at least `min_shared` shared items.

    `involving` is a mask of annotators: with it, only pairs that involve one of them are returned.

    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, -1]])
    >>> pairs = pair_agreement(ann, min_shared=2)
    >>> pairs.first.tolist(), pairs.second.tolist(), pairs.shared.tolist(), pairs.agreed.tolist()
    ([0], [1], [2], [2])
    """
    annotations = as_annotations(annotations)
    label = annotations.label.astype(np.float64)
    first, second, sums = _pairs(annotations, label, 2, min_shared, involving)
    shared, agreed = sums.astype(np.int32).T
    return PairAgreement(first, second, shared, agreed)


def pair_moments(
    annotations: Annotations,
    value_n: Floats,
    *,
    min_shared: int = 1,
    involving: Bools | None = None,
) -> PairMoments:
    """Sums over shared items of a value of every annotation, such as the label itself."""
    first, second, sums = _pairs(annotations, value_n, 6, min_shared, involving)
    return PairMoments(first, second, sums[:, 0].astype(np.int32), *sums[:, 1:].T)


def shared_labels(ann: Annotations, first: Codes, second: Codes) -> Offsets:
    """One row per pair and shared item: the pair, and the positions of both annotations.

    >>> ann = Annotations.from_dense([[0, 0], [1, -1], [1, 0]])
    >>> shared_labels(ann, np.array([0]), np.array([1])).tolist()
    [[0, 0, 1], [0, 3, 4]]
    """
    table = ann.annotator_order, ann.annotator_offsets, ann.item, first, second
    size = _match_items(*table, np.empty((0, 3), dtype=np.int64))
    rows = np.empty((size, 3), dtype=np.int64)
    _match_items(*table, rows)
    return rows


def paired_items(annotations: Annotations) -> Bools:
    """The items whose pairs are counted: two labels or more, and within the two limits."""
    n_i = annotations.labels_per_item
    usable: Bools = (n_i >= 2) & (n_i <= MAX_LABELS)
    total = int((n_i * (n_i - 1) // 2)[usable].sum())
    stride = -(-total // MAX_PAIRS)
    if stride > 1:
        chosen = np.flatnonzero(usable)[::stride]
        usable = np.zeros(len(n_i), dtype=bool)
        usable[chosen] = True
    return usable


def _pairs(
    annotations: Annotations, value_n: Floats, width: int, min_shared: int, involving: Bools | None
) -> tuple[Codes, Codes, Floats]:
    wanted = np.ones(annotations.n_annotators, dtype=bool) if involving is None else involving
    able = annotations.labels_per_annotator >= min_shared
    table = (
        annotations.annotator_order,
        annotations.annotator_offsets,
        annotations.item,
        annotations.item_offsets,
        annotations.annotator,
        value_n,
        paired_items(annotations),
        wanted,
        able,
        min_shared,
    )
    empty = np.empty(0, dtype=np.int32)
    size = _sum_pairs(*table, empty, empty, np.empty((0, width)))
    first, second = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    sums = np.empty((size, width))
    if size:
        _sum_pairs(*table, first, second, sums)
    return first, second, sums


@kernel
def _sum_pairs(
    order: Codes,
    offsets: Offsets,
    item: Codes,
    item_offsets: Offsets,
    annotator: Codes,
    value: Floats,
    usable: Bools,
    wanted: Bools,
    able: Bools,
    min_shared: int,
    first: Codes,
    second: Codes,
    sums: Floats,
) -> int:
    # One annotator at a time is paired with all others on their items, so that only one row of
    # sums is in memory. The first call (with empty arrays) counts pairs, the second writes them.
    n_annotators, width = len(wanted), sums.shape[1]
    partners = np.empty(n_annotators, dtype=np.int32)
    row = np.zeros((n_annotators, width))
    size = 0
    for a in range(n_annotators):
        if not (wanted[a] and able[a]):
            continue
        n_partners = 0
        for position in range(offsets[a], offsets[a + 1]):
            n = order[position]
            if not usable[item[n]]:
                continue
            for m in range(item_offsets[item[n]], item_offsets[item[n] + 1]):
                b = annotator[m]
                if b == a or not able[b] or (b < a and wanted[b]):
                    continue
                if row[b, 0] == 0.0:
                    partners[n_partners] = b
                    n_partners += 1
                _add(row[b], value[n], value[m])
        for index in range(n_partners):
            b = partners[index]
            if row[b, 0] >= min_shared:
                if size < len(first):
                    first[size], second[size] = a, b
                    sums[size] = row[b]
                size += 1
            row[b] = 0.0
    return size


@kernel
def _add(row: AnyArray, own: float, other: float) -> None:
    row[0] += 1.0
    if len(row) == 2:
        row[1] += 1.0 if own == other else 0.0
    else:
        row[1] += own * other
        row[2] += own
        row[3] += other
        row[4] += own * own
        row[5] += other * other


@kernel
def _match_items(
    order: Codes, offsets: Offsets, item: Codes, first: Codes, second: Codes, rows: Offsets
) -> int:
    # Both annotators' items are sorted. The first call only counts shared items.
    size = 0
    for pair in range(len(first)):
        n, n_end = offsets[first[pair]], offsets[first[pair] + 1]
        m, m_end = offsets[second[pair]], offsets[second[pair] + 1]
        while n < n_end and m < m_end:
            one, two = item[order[n]], item[order[m]]
            if one == two:
                if size < len(rows):
                    rows[size, 0], rows[size, 1], rows[size, 2] = pair, order[n], order[m]
                size += 1
            if one <= two:
                n += 1
            if two <= one:
                m += 1
    return size
