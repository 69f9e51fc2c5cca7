"""Sums of relative differences ((a - b) / (a + b))^2 over all pairs, in linear time.

The difference is 1 - 4 c with the closeness c = a b / (a + b)^2, and closeness is an integral in
which a and b are apart:

    c = integral of f(u + log a) f(u + log b) du,   f(z) = exp(z - exp(z))

So a sum over pairs is a sum over the nodes u of products of sums over labels. The trapezoid rule
with step h has an error of about exp(-pi^2 / h), because f is smooth: 1e-17 for h = 1/4. f is less
than 1e-16 below z = -37 and above z = 4, so every label concerns 164 nodes.
"""

import numpy as np

from manyhands.core.arrays import Floats, Offsets
from manyhands.core.kernels import kernel

_STEP = 0.25
_BELOW, _ABOVE = -37.0, 4.0
_HIGHEST = np.exp(_ABOVE)
_FEW = 100  # labels of an item whose pairs are summed one by one


def ratio_between(value_k: Floats, margin_k: Floats) -> Floats:
    """For every number the sum of differences to all labels; two zeros do not differ."""
    positive_k = value_k > 0
    log_k = np.log(value_k[positive_k])
    n = margin_k.sum()
    sum_k = np.where(positive_k, n, n - margin_k[~positive_k].sum())
    if len(log_k):
        sum_k[positive_k] -= 4.0 * _closeness(log_k, margin_k[positive_k])
    return np.asarray(np.maximum(sum_k, 0.0))


@kernel
def ratio_within(offsets: Offsets, value_r: Floats, mass_r: Floats) -> Floats:
    """The sum of differences over ordered pairs of labels of every item."""
    total_i = np.zeros(len(offsets) - 1)
    for i in range(len(offsets) - 1):
        first, end = offsets[i], offsets[i + 1]
        if end - first > _FEW:
            total_i[i] = _many_within(value_r[first:end], mass_r[first:end])
            continue
        for r in range(first, end):
            for s in range(first, r):
                share = (value_r[r] - value_r[s]) / (value_r[r] + value_r[s])
                total_i[i] += 2.0 * mass_r[r] * mass_r[s] * share * share
    return total_i


@kernel
def _many_within(value_r: Floats, mass_r: Floats) -> float:
    # the values of one item are sorted and distinct: only the first can be 0
    zeros = mass_r[0] if value_r[0] == 0.0 else 0.0
    skip = 1 if value_r[0] == 0.0 else 0
    log_r, rest_r = np.log(value_r[skip:]), mass_r[skip:]
    n = rest_r.sum()
    alike = (rest_r * _closeness(log_r, rest_r)).sum()
    return float(max(2.0 * zeros * n + n * n - 4.0 * alike, 0.0))


@kernel
def _closeness(log_k: Floats, mass_k: Floats) -> Floats:
    """For every label the sum of its closeness to all labels."""
    lowest = log_k.min()
    n_nodes = int((log_k.max() - lowest + _ABOVE - _BELOW) / _STEP) + 2
    origin = _BELOW - log_k.max()  # node j is at origin + j * step
    sums, close_k = np.zeros(n_nodes), np.zeros(len(log_k))
    ratio = np.exp(_STEP)
    for adding in (True, False):
        for k in range(len(log_k)):
            j = int((_BELOW - log_k[k] - origin) / _STEP)
            power = np.exp(origin + j * _STEP + log_k[k])  # exp(z)
            total = 0.0
            while power < _HIGHEST and j < n_nodes:
                if adding:
                    sums[j] += mass_k[k] * power * np.exp(-power)
                else:
                    total += sums[j] * power * np.exp(-power)
                j += 1
                power *= ratio
            close_k[k] = _STEP * total
    return close_k
