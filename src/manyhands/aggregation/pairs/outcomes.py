"""How probable the outcomes of a comparison are, and how that changes with the parameters.

With d the difference of the scores (left minus right), delta the advantage of the left side and
tau the log-weight of ties (Davidson), the outcome of an annotator who follows the scores has::

    P(left) = e^(x/2) / Z,  P(right) = e^(-x/2) / Z,  P(tie) = e^tau / Z,  x = d + delta

Without ties this is the model of Bradley and Terry, P(left) = 1 / (1 + e^-x). An annotator who goes
against the scores has the same with -d in place of d. Crowd-BT is the mixture of both.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtr

from manyhands.core.arrays import AnyArray, Floats

NO_TIES = -np.inf  # tau of a model without ties
_SIGN = np.array([0.5, -0.5, 0.0])  # by outcome: left, right, tie


class Terms(NamedTuple):
    """Log-probability, gradient and Hessian of outcomes; `g_t`, `h_xt`, `h_tt` are those of tau."""

    log_p: Floats
    g_x: Floats
    g_t: Floats
    h_xx: Floats
    h_xt: Floats
    h_tt: Floats


def outcome_terms(x: Floats, tau: float, outcome: AnyArray) -> Terms:
    """The terms of one outcome per entry of `x`.

    A tie in a model without ties (`NO_TIES`) counts as half a win of either side.

    >>> terms = outcome_terms(np.zeros(3), 0.0, np.array([0, 1, 2]))
    >>> np.exp(terms.log_p).round(3).tolist()
    [0.333, 0.333, 0.333]
    """
    log_z = log_weights(x, tau)
    p_left, p_right, p_tie = np.exp(x / 2.0 - log_z), np.exp(-x / 2.0 - log_z), np.exp(tau - log_z)
    lean = (p_left - p_right) / 2.0
    is_tie = outcome == 2
    return Terms(
        log_p=log_outcome(x, tau, outcome),
        g_x=_SIGN[outcome] - lean,
        g_t=is_tie * float(tau != NO_TIES) - p_tie,
        h_xx=-((p_left + p_right) / 4.0 - lean**2),
        h_xt=p_tie * lean,
        h_tt=-p_tie * (1.0 - p_tie),
    )


def log_outcomes(x: Floats, tau: float) -> Floats:
    """The log-probabilities of left, right and tie, shape (n, 3).

    >>> np.exp(log_outcomes(np.array([0.0]), NO_TIES)).tolist()
    [[0.5, 0.5, 0.0]]
    """
    log_z = log_weights(x, tau)
    return np.stack([x / 2.0 - log_z, -x / 2.0 - log_z, tau - log_z], axis=1)


def log_outcome(x: Floats, tau: float, outcome: AnyArray) -> Floats:
    """The log-probability of one outcome per entry of `x`; see `outcome_terms`."""
    weight = _SIGN[outcome] * x
    if tau != NO_TIES:
        weight += np.where(outcome == 2, tau, 0.0)
    return np.asarray(weight - log_weights(x, tau))


def log_weights(x: Floats, tau: float) -> Floats:
    """The logarithm of Z, the sum of the weights of the outcomes."""
    size = np.abs(x)
    decided = size / 2.0 + np.log1p(np.exp(-size))
    return decided if tau == NO_TIES else np.asarray(np.logaddexp(decided, tau))


def outcome_probabilities(d: Floats, delta: Floats, tau: float, follows: Floats) -> Floats:
    """The probabilities of left, right and tie where an annotator follows the scores so often.

    >>> d, delta, follows = np.array([[9.0], [0.0], [0.9]])
    >>> outcome_probabilities(d, delta, NO_TIES, follows).round(2).tolist()
    [[0.9, 0.1, 0.0]]
    """
    with_them = np.exp(log_outcomes(delta + d, tau))
    against = np.exp(log_outcomes(delta - d, tau))
    return np.asarray(follows[:, None] * with_them + (1.0 - follows[:, None]) * against)


def chance_above(difference: Floats, deviation: Floats) -> Floats:
    """The chance that a normal variable of this mean and standard deviation is above 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(deviation > 0, difference / deviation, np.sign(difference) * np.inf)
    return np.asarray(ndtr(np.where(np.isnan(z), 0.0, z)))


def log_odds_of_left(delta: Floats) -> Floats:
    """How often the left one of two equal items wins if there is no tie."""
    return np.asarray(expit(delta))
