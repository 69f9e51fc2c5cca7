"""Order, groups and repeats of (item, annotator) pairs, in linear time.

Repeats are labels of one item by one annotator, equal or not. The setting `duplicates` says which
of them count: all (`keep`, the default: no label is lost), the `first` or the `last` in row order,
or none (`refuse`: an error names the first repeated pair).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from manyhands.core.arrays import AnyArray, Bools, Codes, Floats, Offsets
from manyhands.core.errors import DataError, SettingName
from manyhands.core.kernels import even_blocks, kernel, run_blocks

Duplicates = Literal["keep", "first", "last", "refuse"]
DUPLICATES = ("keep", "first", "last", "refuse")

_BLOCKS = 16
_SMALL = 32  # runs of at most this length are sorted by insertion


class ItemArray(ABC):
    """What scikit-learn needs of an array of items or sentences; a subclass has `__len__`."""

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    def shape(self) -> tuple[int]:
        """(number of items,), or of sentences."""
        return (len(self),)

    @property
    def ndim(self) -> int:
        """1: an array of items, or of sentences."""
        return 1

    def positions(self, key: Any) -> Offsets:
        """The positions that a key selects: an index, a slice, indices, a mask, or (key, ...)."""
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # scikit-learn indexes arrays as array[rows, ...]
        return np.atleast_1d(np.arange(len(self))[key])


@kernel
def group_offsets(codes: Codes, n_groups: int) -> Offsets:
    """Where each group starts in the sorted codes, and where the last group ends.

    >>> group_offsets(np.array([0, 0, 2], dtype=np.int32), 3).tolist()
    [0, 2, 2, 3]
    """
    offsets = np.zeros(n_groups + 1, dtype=np.int64)
    for code in codes:
        offsets[code + 1] += 1
    for group in range(n_groups):
        offsets[group + 1] += offsets[group]
    return offsets


def stable_order(codes: Codes, n_groups: int) -> Codes:
    """Positions that sort the codes; equal codes keep their order (a counting sort).

    >>> stable_order(np.array([1, 0, 1, 0], dtype=np.int32), 2).tolist()
    [1, 3, 0, 2]
    """
    return _place(codes, group_offsets(codes, n_groups)[:-1].copy())


def pair_order(first: Codes, second: Codes, n_first: int, n_second: int) -> Codes | None:
    """Positions that sort pairs by the first code, then by the second; None if they are sorted.

    >>> first, second = np.array([[0, 0], [1, 0]], dtype=np.int32)
    >>> pair_order(first, second, 1, 2).tolist()
    [1, 0]
    """
    if _in_order(first, second):
        return None
    start = _run_starts(first, n_first)
    if len(start) < n_first:  # a group is not contiguous
        order = stable_order(second, n_second)
        return order[stable_order(first[order], n_first)]
    offsets = group_offsets(first, n_first)
    order = np.empty(len(second), dtype=np.int32)

    def work(block: tuple[int, int]) -> None:
        _sort_runs(*block, second, start, offsets, order)

    run_blocks(work, even_blocks(offsets, _BLOCKS))
    return order


@kernel
def count_pairs(first: Codes, second: Codes, n_first: int, n_second: int) -> Floats:
    """How often each pair of codes occurs, shape (n_first, n_second).

    >>> count_pairs(*np.array([[0, 0, 1], [1, 1, 0]], dtype=np.int32), 2, 2).tolist()
    [[0.0, 2.0], [1.0, 0.0]]
    """
    counts = np.zeros((n_first, n_second))
    for n in range(len(first)):
        counts[first[n], second[n]] += 1.0
    return counts


def offsets_from_lengths(lengths: Sequence[int] | AnyArray) -> Offsets:
    """Where runs of these lengths begin, and where the last run ends.

    >>> offsets_from_lengths([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def run_indices(offsets: AnyArray, runs: AnyArray) -> Offsets:
    """The positions of some runs, in the order given; run r is `offsets[r]:offsets[r + 1]`.

    >>> run_indices(np.array([0, 2, 5]), np.array([1, 0])).tolist()
    [2, 3, 4, 0, 1]
    """
    length = np.diff(offsets)[runs]
    shift = np.repeat(offsets[:-1][runs] - (np.cumsum(length) - length), length)
    return np.asarray(np.arange(len(shift)) + shift, dtype=np.int64)


def duplicated_pairs(item: Codes, annotator: Codes) -> Bools:
    """Which of the sorted pairs equal the pair before them."""
    duplicated = np.zeros(len(item), dtype=bool)
    duplicated[1:] = (item[1:] == item[:-1]) & (annotator[1:] == annotator[:-1])
    return duplicated


def mask_duplicates(
    item: Codes, annotator: Codes, duplicates: Duplicates, items: AnyArray, annotators: AnyArray
) -> Bools | None:
    """Which of the sorted annotations count; None if all of them do."""
    if duplicates == "keep":
        return None
    repeated = duplicated_pairs(item, annotator)
    if not repeated.any():
        return None
    if duplicates == "refuse":
        n = int(np.flatnonzero(repeated)[0])
        raise repeats_error(annotators[annotator[n]], items[item[n]], int(repeated.sum()))
    if duplicates == "first":
        return ~repeated
    return ~np.append(repeated[1:], False)


def repeats_error(annotator: object, item: object, n_repeats: int) -> DataError:
    """The error for repeats that are refused, with the first of them."""
    return DataError(
        f"annotator {annotator!r} labelled item {item!r} more than once ({n_repeats} such "
        "repeats); set ", SettingName("duplicates"), " to keep, first or last",
    )  # fmt: skip


@kernel
def _place(codes: Codes, cursor: Offsets) -> Codes:
    order = np.empty(len(codes), dtype=np.int32)
    for position in range(len(codes)):
        group = codes[position]
        order[cursor[group]] = position
        cursor[group] += 1
    return order


@kernel
def _in_order(first: Codes, second: Codes) -> bool:
    for n in range(1, len(first)):
        if first[n] < first[n - 1] or (first[n] == first[n - 1] and second[n] < second[n - 1]):
            return False
    return True


@kernel
def _run_starts(codes: Codes, n_groups: int) -> Offsets:
    """Where the run of each group starts; an empty array if a group has several runs."""
    start = np.full(n_groups, -1, dtype=np.int64)
    for n in range(len(codes)):
        if n == 0 or codes[n] != codes[n - 1]:
            if start[codes[n]] >= 0:
                return np.empty(0, dtype=np.int64)
            start[codes[n]] = n
    return start


@kernel
def _sort_runs(
    first: int, last: int, codes: Codes, start: Offsets, offsets: Offsets, order: Codes
) -> None:
    """Positions that put runs in group order and sort the codes of each run, stably."""
    keys = np.empty(_SMALL, dtype=np.int64)
    for run in range(first, last):
        begin, target = start[run], offsets[run]
        length = offsets[run + 1] - target
        if length > _SMALL:
            inner = np.argsort(codes[begin : begin + length], kind="mergesort")
            order[target : target + length] = begin + inner
            continue
        for j in range(length):
            key = (np.int64(codes[begin + j]) << 32) | (begin + j)  # unique: equal codes keep order
            spot = j
            while spot > 0 and keys[spot - 1] > key:
                keys[spot] = keys[spot - 1]
                spot -= 1
            keys[spot] = key
        for j in range(length):
            order[target + j] = keys[j] & 0xFFFFFFFF
