"""Differences between two labels, by level of measurement (Krippendorff 2004, chapter 11).

A level answers two questions about a count table, without a loop over pairs where there is a
closed form: the sum of differences between the labels of every item, and the sum of differences
between a label and all labels.

    nominal   d = 1 if the labels differ
    interval  d = (a - b)^2
    ordinal   d = (rank(a) - rank(b))^2, with the mean ranks of tied labels
    ratio     d = ((a - b) / (a + b))^2
    sets      d = 1 - MASI (Passonneau 2006)
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.agreement.ratio_sums import ratio_between, ratio_within
from manyhands.agreement.runs import LabelRuns
from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.kernels import kernel


class Level(ABC):
    """A level of measurement."""

    name: str

    @abstractmethod
    def within(self, runs: LabelRuns, mass_r: Floats, margin_k: Floats) -> Floats:
        """The sum of differences over ordered pairs of labels of every item."""

    @abstractmethod
    def between(self, margin_k: Floats) -> Floats:
        """The sum of differences of every code to all labels, whose counts are the margin."""

    def drift(self, runs: LabelRuns, scale_i: Floats, margin_k: Floats) -> tuple[Any, Any]:
        """How one more label of a code changes the differences between the other labels.

        The two sums are those within items, each with a scale, and that of all pairs. Both are 0
        unless differences depend on how often labels are used.
        """
        return 0.0, 0.0


class Nominal(Level):
    """Labels are equal or not."""

    name = "nominal"

    def within(self, runs: LabelRuns, mass_r: Floats, margin_k: Floats) -> Floats:  # noqa: D102
        return np.asarray(runs.sums(mass_r) ** 2 - runs.sums(mass_r**2))

    def between(self, margin_k: Floats) -> Floats:  # noqa: D102
        return np.asarray(margin_k.sum() - margin_k)


@dataclass(frozen=True)
class Interval(Level):
    """Differences of numbers; `value_k` are the numbers of the codes."""

    value_k: Floats
    name = "interval"

    def within(self, runs: LabelRuns, mass_r: Floats, margin_k: Floats) -> Floats:  # noqa: D102
        return _spread_within(runs, mass_r, self.value_k)

    def between(self, margin_k: Floats) -> Floats:  # noqa: D102
        return _spread_between(margin_k, self.value_k)


class Ordinal(Level):
    """Differences of ranks; codes are in the order of the labels."""

    name = "ordinal"

    def within(self, runs: LabelRuns, mass_r: Floats, margin_k: Floats) -> Floats:  # noqa: D102
        return _spread_within(runs, mass_r, _mean_ranks(margin_k))

    def between(self, margin_k: Floats) -> Floats:  # noqa: D102
        return _spread_between(margin_k, _mean_ranks(margin_k))

    def drift(self, runs: LabelRuns, scale_i: Floats, margin_k: Floats) -> tuple[Any, Any]:
        """A label of code k moves the ranks of all higher labels by 1, and of its own by 1/2."""
        rank_k, mass_r = _mean_ranks(margin_k), np.diff(runs.starts).astype(np.float64)
        labels_i = runs.sums(mass_r)
        mean_i = runs.sums(mass_r * rank_k[runs.code_r]) / np.maximum(labels_i, 1.0)
        slope_r = (scale_i * labels_i)[runs.item_r] * mass_r
        slope_r = 4.0 * slope_r * (rank_k[runs.code_r] - mean_i[runs.item_r])
        slope_k = np.zeros(runs.n_codes)
        np.add.at(slope_k, runs.code_r, slope_r)
        n = margin_k.sum()
        all_k = 4.0 * n * margin_k * (rank_k - margin_k @ rank_k / n)
        return _moved(slope_k), _moved(all_k)


@dataclass(frozen=True)
class Ratio(Level):
    """Differences of numbers of 0 or more, relative to their sum."""

    value_k: Floats
    name = "ratio"

    def within(self, runs: LabelRuns, mass_r: Floats, margin_k: Floats) -> Floats:  # noqa: D102
        return ratio_within(runs.item_offsets, self.value_k[runs.code_r], mass_r)

    def between(self, margin_k: Floats) -> Floats:  # noqa: D102
        return ratio_between(self.value_k, margin_k)


@dataclass(frozen=True)
class Matrix(Level):
    """Differences that are listed for every pair of codes."""

    distance_kk: Floats
    name: str = "sets"

    def within(self, runs: LabelRuns, mass_r: Floats, margin_k: Floats) -> Floats:  # noqa: D102
        return matrix_within(runs.item_offsets, runs.code_r, mass_r, self.distance_kk)

    def between(self, margin_k: Floats) -> Floats:  # noqa: D102
        return np.asarray(self.distance_kk @ margin_k)


def _spread_within(runs: LabelRuns, mass_r: Floats, value_k: Floats) -> Floats:
    # sum over ordered pairs of (x - y)^2 = 2 m sum (x - mean)^2: nothing large is subtracted
    value_r = value_k[runs.code_r]
    labels_i = runs.sums(mass_r)
    mean_i = runs.sums(mass_r * value_r) / np.where(labels_i > 0, labels_i, 1.0)
    return np.asarray(2.0 * labels_i * runs.sums(mass_r * (value_r - mean_i[runs.item_r]) ** 2))


def _spread_between(margin_k: Floats, value_k: Floats) -> Floats:
    n = margin_k.sum()
    if n == 0:
        return np.zeros(len(margin_k))
    centred_k = value_k - margin_k @ value_k / n
    return np.asarray(n * centred_k**2 + margin_k @ centred_k**2)


def _mean_ranks(margin_k: Floats) -> Floats:
    return np.asarray(np.cumsum(margin_k) - margin_k / 2.0)


def _moved(slope_k: Floats) -> Floats:
    """The sum of the slopes of all higher codes and half of the own one."""
    return np.asarray(slope_k.sum() - np.cumsum(slope_k) + slope_k / 2.0)


@kernel
def matrix_within(offsets: Offsets, code_r: Codes, mass_r: Floats, matrix_kk: Floats) -> Floats:
    """The sum of an entry of a matrix over all ordered pairs of labels of every item."""
    total_i = np.zeros(len(offsets) - 1)
    for i in range(len(offsets) - 1):
        for r in range(offsets[i], offsets[i + 1]):
            for s in range(offsets[i], offsets[i + 1]):
                total_i[i] += mass_r[r] * mass_r[s] * matrix_kk[code_r[r], code_r[s]]
    return total_i
