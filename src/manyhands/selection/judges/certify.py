"""How many labels of people certify a panel: exact binomial bounds."""

import math
from dataclasses import dataclass
from typing import Any

from scipy import special

from manyhands.core.settings import require

_MOST_ERRORS = 10_000
_MOST_LABELS = 10_000_000


@dataclass(frozen=True)
class Certificate:
    """A test of a panel on items drawn at random, whose true labels people give.

    With at most `max_errors` errors among `n_labels` items, the panel is right about a share of
    `target` or more, with this `confidence`. `power` is the probability that a panel with
    `accuracy` passes. `n_labels` is 0 if no number of labels is enough.
    """

    target: float
    confidence: float
    accuracy: float
    n_labels: int
    max_errors: int
    power: float

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values."""
        return dict(vars(self))


def accuracy_bound(n_right: int, n_items: int, confidence: float = 0.95) -> float:
    """The exact lower bound of an accuracy (Clopper and Pearson, one-sided).

    >>> round(accuracy_bound(59, 59), 4)
    0.9505
    """
    require(0 <= n_right <= n_items, "n_right", f"in 0..{n_items}", n_right)
    require(0 < confidence < 1, "confidence", "between 0 and 1", confidence)
    if n_right == 0:
        return 0.0
    return float(special.betaincinv(n_right, n_items - n_right + 1, 1.0 - confidence))


def labels_to_certify(
    target: float, *, accuracy: float = 1.0, confidence: float = 0.95, power: float = 0.8
) -> Certificate:
    """The fewest labels by which a panel of this accuracy is certified to reach the target.

    The test allows c errors among n items, the fewest n for which::

        P(errors <= c | accuracy = target) <= 1 - confidence,
        P(errors <= c | accuracy) >= power

    Both are exact binomial probabilities.

    >>> labels_to_certify(0.95).n_labels  # without errors
    59
    >>> made = labels_to_certify(0.8, accuracy=0.9)
    >>> made.n_labels, made.max_errors
    (82, 10)
    """
    for name, value in (("target", target), ("confidence", confidence), ("power", power)):
        require(0 < value < 1, name, "between 0 and 1", value)
    require(0 <= accuracy <= 1, "accuracy", "in 0..1", accuracy)
    none = Certificate(target, confidence, accuracy, 0, 0, 0.0)
    if accuracy <= target:
        return none
    for n_errors in range(_MOST_ERRORS):
        n_labels = _fewest(n_errors, 1.0 - target, 1.0 - confidence)
        if n_labels > _MOST_LABELS:
            return none
        passes = _at_most(n_errors, n_labels, 1.0 - accuracy)
        if passes >= power:
            return Certificate(target, confidence, accuracy, n_labels, n_errors, passes)
    return none


def _fewest(n_errors: int, rate: float, alpha: float) -> int:
    """The fewest items of which at most so many are wrong with a probability up to alpha."""
    low, high = n_errors, 2 * (n_errors + 1)
    while _at_most(n_errors, high, rate) > alpha and high <= _MOST_LABELS:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _at_most(n_errors, middle, rate) > alpha else (low, middle)
    return high


def _at_most(n_errors: int, n_items: int, rate: float) -> float:
    """P(errors <= n_errors) of n_items with this error rate."""
    if rate == 0.0 or n_errors >= n_items:
        return 1.0
    found = float(special.bdtr(n_errors, n_items, rate))
    return 0.0 if math.isnan(found) else found
