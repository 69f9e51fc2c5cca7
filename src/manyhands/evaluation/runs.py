"""Several runs of one method, and the difference of two models on the same labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError
from manyhands.evaluation.scores import LEVEL

CLEAR = 2.0  # standard errors above which a difference is clear


@dataclass(frozen=True)
class RunSummary:
    """Mean and standard deviation of runs, and Student's t interval of the mean."""

    mean: float
    deviation: float
    low: float
    high: float


def summarize_runs(scores: Sequence[float]) -> RunSummary:
    """Mean, standard deviation and 95 % interval; the deviation of a single run is NaN.

    >>> round(summarize_runs([0.8, 0.9]).deviation, 4)
    0.0707
    """
    values = np.asarray(scores, dtype=np.float64)
    if len(values) == 0:
        raise DataError("there are no runs to summarize")
    mean = float(values.mean())
    if len(values) == 1:
        return RunSummary(mean, float("nan"), float("nan"), float("nan"))
    deviation = float(values.std(ddof=1))
    quantile = float(special.stdtrit(len(values) - 1, (1 + LEVEL) / 2))
    half_width = quantile * deviation / len(values) ** 0.5
    return RunSummary(mean, deviation, mean - half_width, mean + half_width)


@dataclass(frozen=True)
class Difference:
    """The mean of a paired difference, and its standard error."""

    mean: float
    error: float

    @property
    def is_clear(self) -> bool:
        """Whether the first is better by more than two standard errors."""
        return self.mean > CLEAR * self.error

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the normal distribution with this mean and standard error."""
        half_width = float(special.ndtri((1 + LEVEL) / 2)) * self.error
        return self.mean - half_width, self.mean + half_width

    def __str__(self) -> str:
        return f"{self.mean:+.3f} (standard error {self.error:.3f})"


def paired_difference(first_n: Floats, second_n: Floats, group_n: AnyArray) -> Difference:
    """The mean of first - second, with a standard error that is robust to groups.

    ::

        d_n = first_n - second_n,   se^2 = G / (G - 1) sum_g (sum_{n of g} (d_n - mean d))^2 / N^2

    The errors of labels of one item are correlated, so the groups are items. With a single group
    the standard error is infinite.

    >>> same = paired_difference(np.array([1.0, 1.0, 0.0]), np.zeros(3), np.array([4, 4, 7]))
    >>> round(same.mean, 3), round(same.error, 3)
    (0.667, 0.444)
    """
    difference_n = np.asarray(first_n, dtype=np.float64) - second_n
    mean = float(difference_n.mean())
    _, group_n = np.unique(group_n, return_inverse=True)
    off_g = np.bincount(group_n, weights=difference_n - mean)
    n_groups = len(off_g)
    if n_groups < 2:
        return Difference(mean, float("inf"))
    spread = n_groups / (n_groups - 1) * float((off_g**2).sum())
    return Difference(mean, spread**0.5 / len(difference_n))


def crossed_difference(first_ri: Floats, second_ri: Floats) -> Difference:
    """The mean of first - second over runs and items, for new runs and new items.

    Run r of the first and run r of the second share what is random, and both are scored on the same
    items. The variances of the mean over runs and of the mean over items are added::

        d_ri = first_ri - second_ri,   se^2 = var_r(mean_i d_ri) / R + var_i(mean_r d_ri) / I

    With a single run only the items count.

    >>> found = crossed_difference(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), np.zeros((2, 3)))
    >>> round(found.mean, 3), round(found.error, 3)
    (0.5, 0.333)
    """
    difference_ri = np.asarray(first_ri, dtype=np.float64) - second_ri
    variance = 0.0
    for axis in (0, 1):
        means = difference_ri.mean(axis=axis)
        if axis == 1 and len(means) == 1:
            continue
        if len(means) < 2:
            return Difference(float(difference_ri.mean()), float("inf"))
        variance += float(means.var(ddof=1)) / len(means)
    return Difference(float(difference_ri.mean()), variance**0.5)
