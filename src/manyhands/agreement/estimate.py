"""From a statistic of a count table to a coefficient with its interval.

An analytic interval is value -+ t standard errors over items, with the derivatives of the statistic
by the weight of every item (the delta method). For complete tables these are the variances of Gwet
(2008, 2014); he counts items with one label differently. A bootstrap draws items, or annotators,
with replacement and takes percentiles.
"""

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

import numpy as np
from scipy import special

from manyhands.agreement.runs import LabelRuns, Sample
from manyhands.core.arrays import Floats
from manyhands.core.settings import generator, require, require_choice

IntervalKind = Literal["analytic", "items", "annotators", "none"]
INTERVALS = ("analytic", "items", "annotators", "none")
_POINT = 1e-9  # an interval that is shorter has no length but rounding errors


class Parts(NamedTuple):
    """A value, and the observed and expected (dis)agreement that it is made of."""

    value: float
    observed: float = float("nan")
    expected: float = float("nan")


UNDEFINED = Parts(float("nan"))


class Statistic(ABC):
    """A coefficient as a function of how often items and annotators count."""

    runs: LabelRuns

    @property
    def lowest(self) -> float:
        """The value cannot be lower."""
        return -1.0

    @abstractmethod
    def parts(self, sample: Sample) -> Parts:
        """The value for a sample."""

    @abstractmethod
    def influence(self) -> Floats:
        """The derivative of the value by the weight of every item, divided by their number."""


class IntervalSettings(NamedTuple):
    """How to compute an interval."""

    kind: IntervalKind = "analytic"
    confidence: float = 0.95
    n_resamples: int = 1000
    seed: int = 0

    def checked(self) -> "IntervalSettings":
        """The settings, or an error that names the wrong one."""
        require_choice("interval", self.kind, INTERVALS)
        require(0.0 < self.confidence < 1.0, "confidence", "between 0 and 1", self.confidence)
        require(self.n_resamples >= 10, "n_resamples", ">= 10", self.n_resamples)
        return self


class Ends(NamedTuple):
    """An interval, how it was made, and what a reader should know about it."""

    low: float = float("nan")
    high: float = float("nan")
    how: str = ""
    note: str = ""


def t_interval(value: float, variance: float, n: int, confidence: float) -> tuple[float, float]:
    """The value -+ t standard errors with n - 1 degrees of freedom."""
    if n < 2:
        return float("nan"), float("nan")
    half = float(special.stdtrit(n - 1, (1 + confidence) / 2)) * float(np.sqrt(variance))
    return value - half, value + half


def analytic_ends(
    value: float, variance: float, n: int, settings: IntervalSettings, lowest: float = -1.0
) -> Ends:
    """The interval from a variance over n items."""
    low, high = t_interval(value, variance, n, settings.confidence)
    if np.isnan(low):
        return Ends(note="There is no interval: it needs two items with two labels or more.")
    if high - low < _POINT:
        return Ends(note="There is no interval: all items have the same share in the value.")
    return Ends(max(low, lowest), min(high, 1.0), "analytic, over items")


def without_points(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The ends of intervals; NaN where they meet, since labels that never vary tell no spread.

    >>> without_points(np.array([0.2, 1.0]), np.array([0.9, 1.0]))
    (array([0.2, nan]), array([0.9, nan]))
    """
    is_point = ~(high - low >= _POINT)
    return np.where(is_point, np.nan, low), np.where(is_point, np.nan, high)


def variance_of(influence_i: Floats) -> float:
    """The variance of a value from its derivatives by items; their mean is 0."""
    n = len(influence_i)
    centred_i = influence_i - influence_i.mean() if n else influence_i
    return float(centred_i @ centred_i) * n / max(n - 1, 1)


def find_ends(statistic: Statistic, value: float, settings: IntervalSettings) -> Ends:
    """The interval of a value."""
    if settings.kind == "none" or np.isnan(value):
        return Ends()
    if settings.kind == "analytic":
        influence_i = statistic.influence()
        n = len(influence_i)
        return analytic_ends(value, variance_of(influence_i), n, settings, statistic.lowest)
    return bootstrap_ends(_resampled(statistic, settings), settings)


def _resampled(statistic: Statistic, settings: IntervalSettings) -> Floats:
    """The values of samples that are drawn with replacement."""
    runs, kind = statistic.runs, settings.kind
    rng = generator(settings.seed, f"bootstrap over {kind}")
    counts = runs.whole.labels_i if kind == "items" else runs.annotations.labels_per_annotator
    drawn = np.flatnonzero(counts > 0)
    value_b = np.empty(settings.n_resamples)
    for b in range(settings.n_resamples):
        times = np.bincount(rng.choice(drawn, len(drawn)), minlength=len(counts)).astype(float)
        sample = runs.sample(**{"times_i" if kind == "items" else "times_a": times})
        value_b[b] = statistic.parts(sample).value
    return value_b


def bootstrap_ends(value_b: Floats, settings: IntervalSettings) -> Ends:
    """The percentiles of the values of many samples; those that are undefined are left out."""
    defined = value_b[~np.isnan(value_b)]
    n_lost = len(value_b) - len(defined)
    if n_lost > len(value_b) / 2:
        return Ends(note="There is no interval: most bootstrap samples have no defined value.")
    tail = (1.0 - settings.confidence) / 2.0
    low, high = np.quantile(defined, [tail, 1.0 - tail])
    if high - low < _POINT:
        return Ends(note="There is no interval: all bootstrap samples have the same value.")
    note = ""
    if n_lost:
        note = f"In {n_lost} of {len(value_b)} bootstrap samples the value is undefined."
    how = f"bootstrap over {settings.kind}, {len(value_b)} samples"
    return Ends(float(low), float(high), how, note)


def wilson(share: Floats, n: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Wilson's interval, also for means of shares: those vary less than yes and no."""
    z = float(special.ndtri((1.0 + confidence) / 2.0))
    scale = np.where(n > 0, n, np.nan)
    centre = share + z * z / (2 * scale)
    half = z * np.sqrt(share * (1 - share) / scale + z * z / (4 * scale**2))
    low, high = (centre - half) / (1 + z * z / scale), (centre + half) / (1 + z * z / scale)
    return np.maximum(low, 0.0), np.minimum(high, 1.0)  # rounding may go beyond
