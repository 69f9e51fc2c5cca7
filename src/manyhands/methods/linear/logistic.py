"""Logistic regression by itself: on the truth, on a consensus, or on any soft targets."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.methods.linear.regression import SoftmaxRegression
from manyhands.methods.linear.weights import LinearWeights, as_features


@dataclass(frozen=True)
class LogisticFit:
    """The weights found, their penalised log-likelihood, and whether it is the greatest."""

    weights: LinearWeights
    objective: float
    converged: bool


def fit_logistic(
    features: Any,
    target_ik: Any,
    *,
    weight_i: Any = None,
    l2: float = 1.0,
    intercept_l2: float = 0.0,
    start: LinearWeights | None = None,
    max_iter: int = 100,
    tol: float = 1e-12,
) -> LogisticFit:
    """Multinomial logistic regression on soft targets, to convergence.

    ::

        max_W,b  sum_i weight_i sum_k target_ik log f_k(x_i) - l2/2 |W|^2 - intercept_l2/2 |b|^2

    It ends when at most `tol` per unit of weight is still to be gained.

    >>> fit = fit_logistic([[-1.0], [1.0]], [[1.0, 0.0], [0.0, 1.0]])
    >>> fit.weights.log_class([[-1.0]]).argmax(axis=1).tolist()
    [0]
    """
    require(max_iter >= 1, "max_iter", ">= 1", max_iter)
    require(tol >= 0, "tol", ">= 0", tol)
    features_ij = as_features(features)
    weighed_ik = _weighed(target_ik, weight_i, len(features_ij))
    regression = SoftmaxRegression(
        features_ij, weighed_ik.shape[1], l2=l2, intercept_l2=intercept_l2
    )
    point, converged = regression.ascend(
        regression.at(start), weighed_ik, max_steps=max_iter, enough=tol * float(weighed_ik.sum())
    )
    return LogisticFit(regression.weights(point), regression.value(point, weighed_ik), converged)


def _weighed(target_ik: Any, weight_i: Any, n_items: int) -> Floats:
    weighed_ik = np.array(target_ik, dtype=np.float64)
    if weighed_ik.ndim != 2 or len(weighed_ik) != n_items:
        raise DataError(f"targets of shape {weighed_ik.shape} for {n_items} rows of features")
    if weight_i is not None:
        weighed_ik *= np.asarray(weight_i, dtype=np.float64)[:, None]
    if not (np.isfinite(weighed_ik).all() and (weighed_ik >= 0).all()):
        raise DataError("targets and weights must be 0 or more, and finite")
    return weighed_ik
