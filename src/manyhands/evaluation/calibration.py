"""Calibration: whether 90 % confidence means 90 % accuracy, and a temperature that corrects it."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.settings import require
from manyhands.evaluation.scores import log_loss

_MIN_TEMPERATURE, _MAX_TEMPERATURE = 0.1, 100.0


@dataclass(frozen=True)
class CalibrationCurve:
    """Mean confidence and accuracy in bins of confidence; empty bins are left out."""

    confidence: Floats
    accuracy: Floats
    count: AnyArray

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: mean |confidence - accuracy|, weighted by `count`."""
        gap = np.abs(self.confidence - self.accuracy)
        return float((gap * self.count).sum() / self.count.sum())


def calibration_curve(
    confidence: Floats, correct: AnyArray, *, n_bins: int = 10
) -> CalibrationCurve:
    """Mean confidence and share of correct labels in equal-width bins of confidence.

    >>> curve = calibration_curve(np.array([0.9, 0.9, 0.6]), np.array([1, 0, 1]))
    >>> round(curve.calibration_error, 2)
    0.4
    """
    require(n_bins >= 1, "n_bins", ">= 1", n_bins)
    bin_i = np.minimum((np.asarray(confidence) * n_bins).astype(np.int64), n_bins - 1)
    count = np.bincount(bin_i, minlength=n_bins)
    filled = count > 0
    means = [
        np.bincount(bin_i, weights=values, minlength=n_bins)[filled] / count[filled]
        for values in (confidence, correct)
    ]
    return CalibrationCurve(means[0], means[1], count[filled])


def apply_temperature(probabilities_ik: Floats, temperature: float) -> Floats:
    """p^(1 / temperature), normalized; a temperature above 1 lowers the confidence.

    >>> apply_temperature(np.array([[0.9, 0.1]]), 2.0).round(2).tolist()
    [[0.75, 0.25]]
    """
    tiny = np.finfo(np.float64).tiny
    log_ik = np.log(np.maximum(probabilities_ik, tiny)) / temperature
    return np.asarray(softmax(np.where(probabilities_ik > 0, log_ik, -np.inf), axis=1))


def fit_temperature(truth_code: Codes, probabilities_ik: Floats) -> float:
    """The temperature that minimises the log loss."""

    def loss(log_temperature: float) -> float:
        return log_loss(
            truth_code, apply_temperature(probabilities_ik, float(np.exp(log_temperature)))
        )

    bounds = np.log(_MIN_TEMPERATURE), np.log(_MAX_TEMPERATURE)
    result = minimize_scalar(loss, bounds=bounds, method="bounded")
    return float(np.exp(result.x))
