"""What is known of an item's level: median, mean, and an interval."""

import numpy as np

from manyhands.annotations.levels import level_values
from manyhands.core.arrays import AnyArray, Codes, Floats

_BELOW = 0.05  # probability of a level below the interval, and of one above


def median_level(probabilities_ik: Floats) -> Codes:
    """The code of the median level of every item; of two, the lower.

    >>> median_level(np.array([[0.4, 0.3, 0.3], [0.5, 0.5, 0.0]])).tolist()
    [1, 0]
    """
    return _quantile(probabilities_ik, 0.5)


def expected_level(probabilities_ik: Floats, classes: AnyArray) -> Floats:
    """The mean level of every item: in the number that levels are, or 1, 2, 3 ... for words."""
    return np.asarray(probabilities_ik @ level_values(classes.tolist()))


def level_columns(probabilities_ik: Floats, classes: AnyArray) -> dict[str, AnyArray]:
    """The columns of a consensus table that ordinal labels have.

    `level_low` and `level_high` are the ends of a 90 % interval: a level below it, and one above
    it, each has a probability of 5 % at most.

    >>> level_columns(np.array([[0.02, 0.9, 0.08]]), np.array(["bad", "fair", "good"]))["level_low"]
    array(['fair'], dtype='<U4')
    """
    return {
        "median": classes[median_level(probabilities_ik)],
        "expected": expected_level(probabilities_ik, classes),
        "level_low": classes[_quantile(probabilities_ik, _BELOW)],
        "level_high": classes[_quantile(probabilities_ik, 1.0 - _BELOW)],
    }


def _quantile(probabilities_ik: Floats, share: float) -> Codes:
    """The lowest level that an item is at or below with a probability of `share` or more."""
    below_ik = np.cumsum(probabilities_ik, axis=1)[:, :-1]
    is_below_ik = below_ik < share - 1e-12  # sums are rounded
    return np.asarray(is_below_ik.sum(axis=1), dtype=np.int32)
