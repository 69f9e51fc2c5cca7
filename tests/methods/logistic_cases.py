"""Logistic regression on soft targets, fitted to convergence."""

from typing import NamedTuple

import numpy as np

from manyhands.methods.linear.base import LinearWeights, as_features
from manyhands.methods.linear.logistic import SoftmaxRegression


class Fitted(NamedTuple):
    """The weights, their penalised log-likelihood, and whether the maximum was reached."""

    weights: LinearWeights
    objective: float
    converged: bool


def fit_logistic(x, target_ik, *, weight_i=1.0, l2=1.0, start=None, max_iter=100):
    """Until at most 1e-12 per unit of weight can still be gained."""
    weighted_ik = target_ik * np.broadcast_to(weight_i, len(target_ik))[:, None]
    regression = SoftmaxRegression(as_features(x), target_ik.shape[1], l2=l2, intercept_l2=0.0)
    point, converged = regression.ascend(
        regression.at(start), weighted_ik, max_steps=max_iter, tol=1e-12 * float(weighted_ik.sum())
    )
    return Fitted(regression.weights(point), regression.value(point, weighted_ik), converged)
