"""Scores of predictions against the truth, with the names and arguments of scikit-learn.

Calibration tells whether 90 % confidence means 90 % accuracy; a temperature corrects it.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special
from scipy.optimize import minimize_scalar

from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.errors import DataError
from manyhands.core.settings import require, require_choice

LEVEL = 0.95  # confidence level of every interval
_MIN_TEMPERATURE, _MAX_TEMPERATURE = 0.1, 100.0


def accuracy_score(truth: AnyArray, predicted: AnyArray) -> float:
    """The share of predictions that equal the truth.

    >>> accuracy_score(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))
    0.75
    """
    return float(np.mean(np.asarray(truth) == np.asarray(predicted)))


def accuracy_interval(n_correct: int, n_items: int) -> tuple[float, float]:
    """The Wilson 95 % interval of an accuracy.

    >>> [round(end, 3) for end in accuracy_interval(9, 10)]
    [0.596, 0.982]
    """
    z = float(special.ndtri((1 + LEVEL) / 2))
    share = n_correct / n_items
    centre = share + z * z / (2 * n_items)
    half_width = z * np.sqrt(share * (1 - share) / n_items + z * z / (4 * n_items**2))
    scale = 1 + z * z / n_items
    low, high = (centre - half_width) / scale, (centre + half_width) / scale
    return max(float(low), 0.0), min(float(high), 1.0)  # rounding may go beyond


def log_loss(truth_code: Codes, probabilities_ik: Floats) -> float:
    """The mean of -log p(truth); a probability of 0 counts as the smallest positive float."""
    tiny = np.finfo(np.float64).tiny
    p_i = probabilities_ik[np.arange(len(truth_code)), truth_code]
    return float(-np.log(np.maximum(p_i, tiny)).mean())


def brier_score(truth_code: Codes, probabilities_ik: Floats) -> float:
    """The mean squared distance between the probabilities and the one-hot truth.

    >>> brier_score(np.array([0]), np.array([[0.5, 0.5]]))
    0.5
    """
    one_hot_ik = np.zeros_like(probabilities_ik)
    one_hot_ik[np.arange(len(truth_code)), truth_code] = 1.0
    return float(((probabilities_ik - one_hot_ik) ** 2).sum(axis=1).mean())


def ranked_probability_score(truth_code: Codes, probabilities_ik: Floats) -> float:
    """The mean squared distance between cumulative probabilities of levels and the truth.

    ::

        mean_i sum_k (P(level of i <= k) - [truth_i <= k])^2

    Lower is better. A level far from the truth costs more than one nearby. If a single level is
    certain, the score is the number of levels that it is off.

    >>> certain = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> ranked_probability_score(np.array([1, 0]), certain)
    1.0
    """
    below_ik = np.cumsum(probabilities_ik, axis=1)[:, :-1]
    true_ik = np.asarray(truth_code)[:, None] <= np.arange(below_ik.shape[1])
    return float(((below_ik - true_ik) ** 2).sum(axis=1).mean())


def f1_score(truth: AnyArray, predicted: AnyArray, *, average: str = "macro") -> float:
    """F1 over the classes that occur: `macro` weights classes equally, `micro` items.

    >>> round(f1_score(np.array([0, 0, 1]), np.array([0, 1, 1])), 4)
    0.6667
    """
    require_choice("average", average, ("macro", "micro"))
    truth, predicted = np.asarray(truth), np.asarray(predicted)
    if truth.dtype.kind not in "biuf" or predicted.dtype.kind not in "biuf":
        truth, predicted = truth.astype(str), predicted.astype(str)
    names = np.unique(np.concatenate([truth, predicted]))
    is_true, is_predicted = truth[:, None] == names, predicted[:, None] == names
    correct_k = (is_true & is_predicted).sum(axis=0)
    total_k = is_true.sum(axis=0) + is_predicted.sum(axis=0)
    if average == "micro":
        return float(2 * correct_k.sum() / total_k.sum())
    return float((2 * correct_k / total_k).mean())


def regression_scores(truth: Floats, predicted: Floats) -> dict[str, float]:
    """The scores of numbers by name: mae, rmse, r2, correlation.

    ::

        r2 = 1 - sum (truth - predicted)^2 / sum (truth - mean truth)^2

    The correlation is Pearson's. r2 is NaN if all truths are equal, the correlation if all truths
    or all predictions are equal.

    >>> regression_scores(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0]))["r2"]
    0.5
    """
    truth, predicted = (np.asarray(each, dtype=np.float64) for each in (truth, predicted))
    if truth.shape != predicted.shape or truth.ndim != 1 or not len(truth):
        raise DataError(
            "expected two arrays of one dimension and equal length; "
            f"got shapes {truth.shape} and {predicted.shape}"
        )
    if not (np.isfinite(truth).all() and np.isfinite(predicted).all()):
        raise DataError("numbers that are not finite cannot be scored; leave those items out")
    square = (truth - predicted) ** 2
    off_truth, off_predicted = truth - truth.mean(), predicted - predicted.mean()
    total = float((off_truth**2).sum())
    scale = float(np.sqrt((off_truth**2).sum() * (off_predicted**2).sum()))
    return {
        "mae": float(np.abs(truth - predicted).mean()),
        "rmse": float(np.sqrt(square.mean())),
        "r2": 1.0 - float(square.sum()) / total if total > 0 else np.nan,
        "correlation": float((off_truth * off_predicted).sum()) / scale if scale > 0 else np.nan,
    }


@dataclass(frozen=True)
class CalibrationCurve:
    """Mean confidence and accuracy in bins of confidence; empty bins are left out."""

    confidence: Floats
    accuracy: Floats
    count: AnyArray

    @property
    def calibration_error(self) -> float:
        """Expected calibration error: mean `abs(confidence - accuracy)`, weighted by `count`."""
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
    return np.asarray(special.softmax(np.where(probabilities_ik > 0, log_ik, -np.inf), axis=1))


def fit_temperature(truth_code: Codes, probabilities_ik: Floats) -> float:
    """The temperature that minimises the log loss."""

    def loss(log_temperature: float) -> float:
        tempered_ik = apply_temperature(probabilities_ik, float(np.exp(log_temperature)))
        return log_loss(truth_code, tempered_ik)

    bounds = np.log(_MIN_TEMPERATURE), np.log(_MAX_TEMPERATURE)
    result = minimize_scalar(loss, bounds=bounds, method="bounded")
    return float(np.exp(result.x))
