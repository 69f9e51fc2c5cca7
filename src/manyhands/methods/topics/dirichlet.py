"""Dirichlet beliefs: expected logarithms, and what a belief costs against its prior."""

import math

import numpy as np
from scipy.special import gammaln, psi

from manyhands.core.arrays import Floats
from manyhands.core.kernels import kernel

_ASYMPTOTIC = 10.0  # from here the series below is exact to the last digit


def expected_log(belief: Floats, axis: int) -> Floats:
    """E log p_j = psi(b_j) - psi(sum_j b_j) for p ~ Dirichlet(b) along an axis.

    >>> expected_log(np.array([1.0, 1.0]), axis=0).round(6).tolist()
    [-1.0, -1.0]
    """
    return np.asarray(psi(belief) - psi(belief.sum(axis=axis, keepdims=True)))


def prior_gain(belief: Floats, prior: float, axis: int) -> float:
    """E log p(x) - E log q(x) over all x ~ q = Dirichlet(belief), p = Dirichlet(prior, prior, ...).

    It is minus a divergence: 0 where the belief is the prior, below 0 elsewhere.

    >>> prior_gain(np.array([[2.0, 2.0]]), 2.0, axis=1)
    0.0
    """
    width = belief.shape[axis]
    n_beliefs = belief.size // max(width, 1)
    gain = n_beliefs * (gammaln(width * prior) - width * gammaln(prior))
    gain -= gammaln(belief.sum(axis=axis)).sum() - gammaln(belief).sum()
    gain += ((prior - belief) * expected_log(belief, axis)).sum()
    return float(gain)


@kernel
def digamma(x: float) -> float:
    """The derivative of log Gamma, for x > 0."""
    shift = 0.0
    while x < _ASYMPTOTIC:
        shift -= 1.0 / x
        x += 1.0
    s = 1.0 / (x * x)
    series = s * (
        1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132 - s * 691 / 32760))))
    )
    return float(shift + math.log(x) - 0.5 / x - series)


@kernel
def expect_log_shares(belief: Floats, log_share: Floats) -> None:
    """E log p of one Dirichlet belief, into `log_share`."""
    total = 0.0
    for t in range(len(belief)):
        total += belief[t]
    shift = digamma(total)
    for t in range(len(belief)):
        log_share[t] = digamma(belief[t]) - shift


@kernel
def log_beta(belief: Floats) -> float:
    """The logarithm of B(b) = prod_j Gamma(b_j) / Gamma(sum_j b_j)."""
    total = log_product = 0.0
    for t in range(len(belief)):
        total += belief[t]
        log_product += math.lgamma(belief[t])
    return float(log_product - math.lgamma(total))
