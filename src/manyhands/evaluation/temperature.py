"""One number that makes probabilities less sure of themselves."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from manyhands.core.arrays import Codes, Floats
from manyhands.evaluation.scores import log_loss

_COLDEST, _HOTTEST = 0.1, 100.0


def tempered(probabilities_ik: Floats, temperature: float) -> Floats:
    """p^(1 / temperature), summing to 1 again: above 1 less sure, below 1 surer.

    >>> tempered(np.array([[0.9, 0.1]]), 2.0).round(2).tolist()
    [[0.75, 0.25]]
    """
    tiny = np.finfo(np.float64).tiny
    log_ik = np.log(np.maximum(probabilities_ik, tiny)) / temperature
    return np.asarray(softmax(np.where(probabilities_ik > 0, log_ik, -np.inf), axis=1))


def fit_temperature(truth_code: Codes, probabilities_ik: Floats) -> float:
    """The temperature under which the truth is most probable."""
    found = minimize_scalar(
        lambda log_t: log_loss(truth_code, tempered(probabilities_ik, float(np.exp(log_t)))),
        bounds=(np.log(_COLDEST), np.log(_HOTTEST)),
        method="bounded",
    )
    return float(np.exp(found.x))
