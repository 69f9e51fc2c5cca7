"""Confidence that accounts for mistakes which annotators share."""

import numpy as np

from manyhands.core.arrays import AnyArray, Floats

_SHARED_BY_ALL = 0.01  # share of items that everyone may be wrong about, whatever their number


def discount_correlation(posterior_ik: Floats, n_i: AnyArray, correlation: float) -> Floats:
    """A posterior made under independence, as if an item's n labels were correlated.

    q_ik to the power 1 / (1 + (n - 1) correlation): n labels with that correlation tell as much as
    n / (1 + (n - 1) correlation) independent ones (the design effect of survey statistics). One
    percent is spread over all classes, because there are mistakes that everyone makes. The most
    probable class stays the same. Nothing changes for items without labels, or with a correlation
    of 0.

    >>> discount_correlation(np.array([[0.999, 0.001]]), np.array([5]), 0.2).round(3).tolist()
    [[0.974, 0.026]]
    """
    if correlation == 0:
        return posterior_ik
    power_i = 1.0 / (1.0 + (np.maximum(n_i, 1) - 1.0) * correlation)
    top_i1 = posterior_ik.max(axis=1, keepdims=True)
    doubted_ik = (posterior_ik / top_i1) ** power_i[:, None]
    doubted_ik /= doubted_ik.sum(axis=1, keepdims=True)
    wrong_i1 = np.where(n_i > 0, _SHARED_BY_ALL, 0.0)[:, None]
    return np.asarray((1.0 - wrong_i1) * doubted_ik + wrong_i1 / doubted_ik.shape[1])
