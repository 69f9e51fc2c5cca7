"""What every two annotators said of the items they share, from the pairs that occur.

The work grows with the pairs of labels on one item, never with annotators x annotators. An item
with more than `MOST_LABELS` labels is left out, for its pairs would outnumber those of all the
others together, and when more than `MOST_PAIRS` pairs remain, every second, third ... item is
taken, so that any table is walked in seconds and always in the same way.
"""

from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats, Offsets
from manyhands.core.kernels import kernel

MOST_LABELS = 50
MOST_PAIRS = 20_000_000


@dataclass(frozen=True)
class PairAgreement:
    """Pairs of annotators, the items they share, and on how many of those they said the same."""

    first: Codes
    second: Codes
    shared: Codes
    agreed: Codes


@dataclass(frozen=True)
class PairMoments:
    """Pairs of annotators, the items they share, and the sums that their correlation needs."""

    first: Codes
    second: Codes
    shared: Codes
    product: Floats
    sum_first: Floats
    sum_second: Floats
    square_first: Floats
    square_second: Floats

    def correlation(self) -> Floats:
        """Pearson's correlation over the shared items; 0 where one of the two never varies."""
        n = self.shared
        covariance = self.product - self.sum_first * self.sum_second / n
        spread_first = np.maximum(self.square_first - self.sum_first**2 / n, 0.0)
        spread_second = np.maximum(self.square_second - self.sum_second**2 / n, 0.0)
        scale = np.sqrt(spread_first * spread_second)
        # What rounding leaves of a spread of nothing must not pass for a spread.
        varies = (spread_first > 1e-9 * self.square_first) & (
            spread_second > 1e-9 * self.square_second
        )
        ratio = np.divide(covariance, scale, out=np.zeros(len(scale)), where=varies)
        return np.asarray(np.clip(ratio, -1.0, 1.0))


def pair_agreement(
    annotations: Annotations, *, least_shared: int = 1, touching: Bools | None = None
) -> PairAgreement:
    """Agreement of all pairs that share `least_shared` items; `touching` picks annotators.

    With `touching`, only pairs with at least one annotator of that mask are made.

    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, -1]])
    >>> pairs = pair_agreement(ann, least_shared=2)
    >>> pairs.first.tolist(), pairs.second.tolist(), pairs.shared.tolist(), pairs.agreed.tolist()
    ([0], [1], [2], [2])
    """
    label = annotations.label.astype(np.float64)
    first, second, sums = _pairs(annotations, label, 2, least_shared, touching)
    shared, agreed = sums.astype(np.int32).T
    return PairAgreement(first, second, shared, agreed)


def pair_moments(
    annotations: Annotations,
    value_n: Floats,
    *,
    least_shared: int = 1,
    touching: Bools | None = None,
) -> PairMoments:
    """Sums over shared items of a value that every annotation has, such as the label itself."""
    first, second, sums = _pairs(annotations, value_n, 6, least_shared, touching)
    return PairMoments(first, second, sums[:, 0].astype(np.int32), *sums[:, 1:].T)


def shared_labels(ann: Annotations, first: Codes, second: Codes) -> Offsets:
    """One line per pair and shared item: which pair, and the annotations of the two.

    >>> ann = Annotations.from_dense([[0, 0], [1, -1], [1, 0]])
    >>> shared_labels(ann, np.array([0]), np.array([1])).tolist()
    [[0, 0, 1], [0, 3, 4]]
    """
    table = ann.annotator_order, ann.annotator_offsets, ann.item, first, second
    size = _meet(*table, np.empty((0, 3), dtype=np.int64))
    lines = np.empty((size, 3), dtype=np.int64)
    _meet(*table, lines)
    return lines


def paired_items(annotations: Annotations) -> Bools:
    """The items whose pairs are walked: two labels or more, not too many, not too many items."""
    n_i = annotations.labels_per_item
    usable: Bools = (n_i >= 2) & (n_i <= MOST_LABELS)
    total = int((n_i * (n_i - 1) // 2)[usable].sum())
    stride = -(-total // MOST_PAIRS)
    if stride > 1:
        chosen = np.flatnonzero(usable)[::stride]
        usable = np.zeros(len(n_i), dtype=bool)
        usable[chosen] = True
    return usable


def _pairs(
    annotations: Annotations,
    value_n: Floats,
    width: int,
    least_shared: int,
    touching: Bools | None,
) -> tuple[Codes, Codes, Floats]:
    wanted = np.ones(annotations.n_annotators, dtype=bool) if touching is None else touching
    able = annotations.labels_per_annotator >= least_shared
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
        least_shared,
    )
    nobody = np.empty(0, dtype=np.int32)
    size = _walk(*table, nobody, nobody, np.empty((0, width)))
    first, second = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    sums = np.empty((size, width))
    if size:
        _walk(*table, first, second, sums)
    return first, second, sums


@kernel
def _walk(
    order: Codes,
    offsets: Offsets,
    item: Codes,
    item_offsets: Offsets,
    annotator: Codes,
    value: Floats,
    usable: Bools,
    wanted: Bools,
    able: Bools,
    least_shared: int,
    first: Codes,
    second: Codes,
    sums: Floats,
) -> int:
    # One annotator at a time meets everybody on their items; only a row of sums is held. The
    # first call counts the pairs (its arrays are empty), the second writes them down.
    n_annotators, width = len(wanted), sums.shape[1]
    met = np.empty(n_annotators, dtype=np.int32)
    row = np.zeros((n_annotators, width))
    size = 0
    for a in range(n_annotators):
        if not (wanted[a] and able[a]):
            continue
        n_met = 0
        for position in range(offsets[a], offsets[a + 1]):
            n = order[position]
            if not usable[item[n]]:
                continue
            for m in range(item_offsets[item[n]], item_offsets[item[n] + 1]):
                b = annotator[m]
                if b == a or not able[b] or (b < a and wanted[b]):
                    continue
                if row[b, 0] == 0.0:
                    met[n_met] = b
                    n_met += 1
                _add(row[b], value[n], value[m])
        for index in range(n_met):
            b = met[index]
            if row[b, 0] >= least_shared:
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
def _meet(
    order: Codes, offsets: Offsets, item: Codes, first: Codes, second: Codes, lines: Offsets
) -> int:
    # Both annotators' items are sorted; the first call only counts what they share.
    size = 0
    for pair in range(len(first)):
        n, n_end = offsets[first[pair]], offsets[first[pair] + 1]
        m, m_end = offsets[second[pair]], offsets[second[pair] + 1]
        while n < n_end and m < m_end:
            one, two = item[order[n]], item[order[m]]
            if one == two:
                if size < len(lines):
                    lines[size, 0], lines[size, 1], lines[size, 2] = pair, order[n], order[m]
                size += 1
            if one <= two:
                n += 1
            if two <= one:
                m += 1
    return size
