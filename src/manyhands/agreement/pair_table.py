"""All pairs of annotators with common items, and the kappa of every pair."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import special

from manyhands.agreement.estimate import UNDEFINED, Parts, without_points
from manyhands.agreement.pairwise import paired_items
from manyhands.annotations import Annotations
from manyhands.annotations.grouping import pair_order
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats, Offsets
from manyhands.core.kernels import kernel

_CELLS = 4_000_000  # pairs x classes whose shares are in memory at a time
_CELLS_PER_ROW = 8  # more are not worth it: only classes that a pair used are then counted


@dataclass(frozen=True, eq=False)
class PairTable:
    """All pairs of annotators with common items: a row per pair and common item."""

    first: Codes
    second: Codes
    pair_t: Offsets  # sorted
    item_t: Codes
    code_t: Codes  # of the first annotator of the pair
    other_t: Codes
    n_codes: int
    weight_kk: Floats | None
    pooled: bool
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        annotations: Annotations,
        code_n: AnyArray,
        weight_kk: Floats | None,
        *,
        pooled: bool = False,
        min_shared: int = 1,
    ) -> "PairTable":
        """The pairs of annotations with one label per item and annotator."""
        usable_i = paired_items(annotations)
        n_lost = int((annotations.labels_per_item >= 2).sum() - usable_i.sum())
        note = f"{n_lost} items are left out of the pairs: there would be too many pairs."
        one_t, two_t = _label_pairs(annotations.item_offsets, usable_i)
        who, n = annotations.annotator, annotations.n_annotators
        order = pair_order(who[one_t], who[two_t], n, n)
        if order is not None:
            one_t, two_t = one_t[order], two_t[order]
        first_t, second_t = who[one_t], who[two_t]
        is_new_t = np.append(True, (np.diff(first_t) != 0) | (np.diff(second_t) != 0))
        is_new_t = is_new_t[: len(one_t)]
        pair_t = np.cumsum(is_new_t) - 1
        first, second = first_t[is_new_t], second_t[is_new_t]
        kept = np.bincount(pair_t, minlength=len(first)) >= min_shared
        if not kept.all():
            rows = kept[pair_t]
            one_t, two_t = one_t[rows], two_t[rows]
            first, second, pair_t = first[kept], second[kept], (np.cumsum(kept) - 1)[pair_t[rows]]
        return cls(
            first, second, pair_t, annotations.item[one_t], code_n[one_t], code_n[two_t],
            annotations.n_classes, weight_kk, pooled, (note,) if n_lost else (),
        )  # fmt: skip

    @cached_property
    def once(self) -> Floats:
        """Every row counts once."""
        return np.ones(len(self.pair_t))

    @cached_property
    def usual(self) -> "PairKappas":
        """The coefficients of all pairs."""
        return self.kappas(self.once)

    @cached_property
    def agree_t(self) -> Floats:
        """How far the two labels of a row agree."""
        if self.weight_kk is None:
            return np.asarray(self.code_t == self.other_t, dtype=np.float64)
        return np.asarray(self.weight_kk[self.code_t, self.other_t])

    def kappas(self, times_t: Floats) -> "PairKappas":
        """The coefficient of every pair, if row t counts so many times."""
        n_pairs = len(self.first)
        shared_p = np.bincount(self.pair_t, weights=times_t, minlength=n_pairs).astype(float)
        scale_p = np.where(shared_p > 0, shared_p, np.nan)
        agreed_p = np.bincount(self.pair_t, weights=times_t * self.agree_t, minlength=n_pairs)
        if self._is_sparse:
            expected_p, slope_t = self._sparse_chance(times_t, scale_p)
        else:
            expected_p, slope_t = self._dense_chance(times_t, scale_p)
        with np.errstate(invalid="ignore"):
            value_p = (agreed_p / scale_p - expected_p) / (1.0 - expected_p)
        is_constant_p = np.isnan(value_p) | (expected_p > 1.0 - 1e-12)
        value_p[is_constant_p] = np.nan
        return PairKappas(value_p, agreed_p / scale_p, expected_p, shared_p, slope_t)

    @property
    def _is_sparse(self) -> bool:
        """Whether there are far more pairs x classes than rows, as with free texts as labels."""
        n_cells = len(self.first) * self.n_codes
        return self.weight_kk is None and n_cells > max(_CELLS, _CELLS_PER_ROW * len(self.pair_t))

    @cached_property
    def _used(self) -> tuple[Offsets, Offsets]:
        """The pair of every (pair, class) that is used, and the place of both labels of rows."""
        size = max(self.n_codes, 1)
        codes = np.concatenate([self.code_t, self.other_t])
        key, place = np.unique(np.tile(self.pair_t, 2) * size + codes, return_inverse=True)
        return key // size, place

    def _sparse_chance(self, times_t: Floats, scale_p: Floats) -> tuple[Floats, Floats]:
        """The expected agreement, and its derivatives by rows, from the classes that occur."""
        pair_u, place = self._used
        one_t, two_t = place[: len(times_t)], place[len(times_t) :]
        first_u = np.bincount(one_t, times_t, len(pair_u)) / scale_p[pair_u]
        second_u = np.bincount(two_t, times_t, len(pair_u)) / scale_p[pair_u]
        if self.pooled:
            first_u = second_u = (first_u + second_u) / 2.0
        expected_p = np.bincount(pair_u, first_u * second_u, len(self.first))
        slope_t = second_u[one_t] + first_u[two_t] - 2.0 * expected_p[self.pair_t]
        return np.asarray(expected_p, dtype=np.float64), slope_t

    def _dense_chance(self, times_t: Floats, scale_p: Floats) -> tuple[Floats, Floats]:
        """The same by tables of pairs x classes, some pairs at a time."""
        n_pairs = len(self.first)
        expected_p, slope_t = np.empty(n_pairs), np.empty(len(self.pair_t))
        step = max(_CELLS // max(self.n_codes, 1), 1)
        bounds = np.searchsorted(self.pair_t, np.arange(0, n_pairs + step, step))
        for begin, (low, high) in enumerate(pairwise(bounds)):
            pairs = slice(begin * step, min((begin + 1) * step, n_pairs))
            expected_p[pairs], slope_t[low:high] = self._chance(
                slice(low, high), pairs, times_t, scale_p
            )
        return expected_p, slope_t

    def _chance(
        self, rows: slice, pairs: slice, times_t: Floats, scale_p: Floats
    ) -> tuple[Floats, Floats]:
        """The expected agreement of some pairs, and its derivatives by their rows."""
        local_t = self.pair_t[rows] - pairs.start
        shape = (pairs.stop - pairs.start, self.n_codes)
        first_pk, second_pk = np.zeros(shape), np.zeros(shape)
        np.add.at(first_pk, (local_t, self.code_t[rows]), times_t[rows])
        np.add.at(second_pk, (local_t, self.other_t[rows]), times_t[rows])
        first_pk /= scale_p[pairs, None]
        second_pk /= scale_p[pairs, None]
        if self.pooled:
            first_pk = second_pk = (first_pk + second_pk) / 2.0
        weighted = (first_pk, second_pk)
        if self.weight_kk is not None:
            weighted = (first_pk @ self.weight_kk, second_pk @ self.weight_kk)
        expected_p = (weighted[0] * second_pk).sum(axis=1)
        slope_t = weighted[1][local_t, self.code_t[rows]] + weighted[0][local_t, self.other_t[rows]]
        return expected_p, slope_t - 2.0 * expected_p[local_t]

    def mean(self, times_t: Floats) -> Parts:
        """The mean over pairs, weighted by their common items."""
        if len(self.first) == 0:
            return UNDEFINED
        found = self.usual if times_t is self.once else self.kappas(times_t)
        weight_p = found.shared * ~np.isnan(found.value)
        total = weight_p.sum()
        if total == 0:
            return UNDEFINED
        chosen = weight_p > 0
        means = (
            float(weight_p[chosen] @ each[chosen] / total)
            for each in (found.value, found.observed, found.expected)
        )
        return Parts(*means)

    def influence(self) -> Floats:
        """The derivatives of the mean by items."""
        found = self.usual
        slope_t = found.slopes(self)
        counts_t = ~np.isnan(slope_t)
        deviation_t = slope_t + found.value[self.pair_t] - self.mean(self.once).value
        item_t, row = np.unique(self.item_t[counts_t], return_inverse=True)
        total_i = np.bincount(row, weights=deviation_t[counts_t], minlength=len(item_t))
        return np.asarray(total_i / counts_t.sum(), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class PairKappas:
    """The coefficients of pairs of annotators; NaN where both used one class only."""

    value: Floats
    observed: Floats
    expected: Floats
    shared: Floats
    chance_slope_t: Floats

    def slopes(self, table: PairTable) -> Floats:
        """The derivative of the coefficient of its pair by the weight of every row."""
        p = table.pair_t
        gained_t = table.agree_t - self.observed[p] - (1 - self.value[p]) * self.chance_slope_t
        return np.asarray(gained_t / (1.0 - self.expected[p]))

    def ends(self, table: PairTable, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """The analytic intervals of all pairs (Fleiss, Cohen and Everitt 1969).

        NaN where the formula finds no spread, as for two annotators who always agree.
        """
        squares_p = np.bincount(
            table.pair_t, weights=self.slopes(table) ** 2, minlength=len(self.value)
        )
        df_p = np.where(self.shared > 1, self.shared - 1, np.nan)
        half_p = special.stdtrit(df_p, (1 + confidence) / 2) * np.sqrt(squares_p) / self.shared
        low_p, high_p = without_points(self.value - half_p, self.value + half_p)
        return np.maximum(low_p, -1.0), np.minimum(high_p, 1.0)


@kernel
def _label_pairs(offsets: Offsets, usable_i: Bools) -> tuple[Codes, Codes]:
    """The positions of all pairs of labels of one item; annotators are sorted in an item."""
    size = 0
    for i in range(len(usable_i)):
        if usable_i[i]:
            n = offsets[i + 1] - offsets[i]
            size += n * (n - 1) // 2
    one, two = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    t = 0
    for i in range(len(usable_i)):
        if usable_i[i]:
            for n in range(offsets[i], offsets[i + 1]):
                for m in range(n + 1, offsets[i + 1]):
                    one[t], two[t] = n, m
                    t += 1
    return one, two
