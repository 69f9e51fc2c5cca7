"""How far numbers are from the truth."""

import numpy as np

from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.evaluation.scores import mean_absolute_error, root_mean_squared_error


def r2(truth: Floats, said: Floats) -> float:
    """1 - sum (truth - said)^2 / sum (truth - mean truth)^2; NaN when all truths are equal.

    >>> r2(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0]))
    0.5
    """
    truth, said = _pair(truth, said)
    total = float(((truth - truth.mean()) ** 2).sum())
    return 1.0 - float(((truth - said) ** 2).sum()) / total if total > 0 else float("nan")


def correlation(truth: Floats, said: Floats) -> float:
    """Pearson's correlation; NaN when either side is the same everywhere.

    >>> round(correlation(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0])), 6)
    1.0
    """
    truth, said = _pair(truth, said)
    from_mean, said_from_mean = truth - truth.mean(), said - said.mean()
    scale = float(np.sqrt((from_mean**2).sum() * (said_from_mean**2).sum()))
    return float((from_mean * said_from_mean).sum()) / scale if scale > 0 else float("nan")


def regression_scores(truth: Floats, said: Floats) -> dict[str, float]:
    """All scores of numbers by name: mae, rmse, r2, correlation."""
    truth, said = _pair(truth, said)
    return {
        "mae": mean_absolute_error(truth, said),
        "rmse": root_mean_squared_error(truth, said),
        "r2": r2(truth, said),
        "correlation": correlation(truth, said),
    }


def _pair(truth: Floats, said: Floats) -> tuple[Floats, Floats]:
    truth = np.asarray(truth, dtype=np.float64)
    said = np.asarray(said, dtype=np.float64)
    if truth.shape != said.shape or truth.ndim != 1 or not len(truth):
        raise DataError(f"expected two equally long rows; got shapes {truth.shape}, {said.shape}")
    if not (np.isfinite(truth).all() and np.isfinite(said).all()):
        raise DataError("numbers that are not finite cannot be scored; leave those items out")
    return truth, said
