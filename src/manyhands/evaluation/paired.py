"""Whether one model is really better than another, or only by chance."""

from dataclasses import dataclass

import numpy as np

from manyhands.core.arrays import AnyArray, Floats

CLEAR = 2.0  # standard errors by which a difference is no accident


@dataclass(frozen=True)
class Difference:
    """The mean of a paired difference, and its standard error."""

    mean: float
    error: float

    @property
    def is_clear(self) -> bool:
        """Whether the first is better by more than two standard errors."""
        return self.mean > CLEAR * self.error

    def __str__(self) -> str:
        return f"{self.mean:+.3f} (standard error {self.error:.3f})"


def paired_difference(first_n: Floats, second_n: Floats, group_n: AnyArray) -> Difference:
    """The mean of first - second, with a standard error that lets a group vary as one.

    ::

        d_n = first_n - second_n,   se^2 = G / (G - 1) sum_g (sum_{n of g} (d_n - mean d))^2 / N^2

    Labels of the same item are wrong together, so the groups are items. Of one group nothing is
    known: its error is infinite.

    >>> same = paired_difference(np.array([1.0, 1.0, 0.0]), np.zeros(3), np.array([4, 4, 7]))
    >>> round(same.mean, 3), round(same.error, 3)
    (0.667, 0.444)
    """
    difference_n = np.asarray(first_n, dtype=np.float64) - second_n
    mean = float(difference_n.mean())
    _, place_n = np.unique(group_n, return_inverse=True)
    off_g = np.bincount(place_n, weights=difference_n - mean)
    n_groups = len(off_g)
    if n_groups < 2:
        return Difference(mean, float("inf"))
    spread = n_groups / (n_groups - 1) * float((off_g**2).sum())
    return Difference(mean, spread**0.5 / len(difference_n))
