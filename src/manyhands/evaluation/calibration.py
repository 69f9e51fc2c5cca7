"""Whether 90 % confidence means right nine times out of ten."""

from dataclasses import dataclass

import numpy as np

from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import require


@dataclass(frozen=True)
class Reliability:
    """Confidence against accuracy in bins of confidence; empty bins are left out."""

    confidence: Floats
    accuracy: Floats
    count: AnyArray

    @property
    def calibration_error(self) -> float:
        """The mean gap between confidence and accuracy, weighted by how many items a bin holds."""
        gap = np.abs(self.confidence - self.accuracy)
        return float((gap * self.count).sum() / self.count.sum())


def reliability(confidence: Floats, right: AnyArray, *, n_bins: int = 10) -> Reliability:
    """Mean confidence and share of right labels in equal-width bins of confidence.

    >>> reliability(np.array([0.9, 0.9, 0.6]), np.array([1, 0, 1])).calibration_error.__round__(2)
    0.4
    """
    require(n_bins >= 1, "n_bins", ">= 1", n_bins)
    bin_i = np.minimum((np.asarray(confidence) * n_bins).astype(np.int64), n_bins - 1)
    count = np.bincount(bin_i, minlength=n_bins)
    filled = count > 0
    means = [
        np.bincount(bin_i, weights=values, minlength=n_bins)[filled] / count[filled]
        for values in (confidence, right)
    ]
    return Reliability(means[0], means[1], count[filled])
