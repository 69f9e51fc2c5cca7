"""Forward and backward recursions in probabilities, brought back to sum 1 at every token.

A token takes K exponentials and one logarithm, where sums in logarithms take K x K. With
emission e[t, k] = exp(score[t, k] - greatest score of t) and factor f[j, k] = exp(link[j, k] -
greatest link)::

    alpha[t, k] = e[t, k] sum_j alpha[t-1, j] f[j, k] / c[t]       c[t] such that they sum to 1
    beta[t, j] = sum_k f[j, k] e[t+1, k] beta[t+1, k] / c[t+1]     p(tag k at t) = alpha beta

Why nothing is lost: what follows a token depends on its tag by one link, so that two betas of a
token differ by a factor of exp(WIDEST) at most when links do, and c[t] is not below
exp(-WIDEST). An alpha too small for a number, 1e-308, could therefore have made no probability that
exceeds 1e-100, and no beta can be too large for one.
"""

import numpy as np

from manyhands.core.arrays import Floats, Offsets
from manyhands.core.kernels import kernel

WIDEST = 200.0  # the greatest less the smallest link of a kind; exp(200) is 1e87


@kernel
def scaled_partition_block(
    first: int,
    last: int,
    offsets: Offsets,
    score: Floats,
    start: Floats,
    end: Floats,
    link: Floats,
    log_z: Floats,
) -> None:
    """The log-partitions of sentences `first` up to `last`."""
    longest = _longest(first, last, offsets)
    alpha, emission = np.empty((longest, len(start))), np.empty((longest, len(start)))
    scale, factor = np.empty(longest), np.exp(link - link.max())
    first_factor, last_factor = np.exp(start - start.max()), np.exp(end - end.max())
    for s in range(first, last):
        rows = score[offsets[s] : offsets[s + 1]]
        log_z[s] = _forward(rows, first_factor, last_factor, factor, alpha, emission, scale)
        log_z[s] += _log_tops(len(rows), start, end, link)


@kernel
def scaled_expect_block(
    first: int,
    last: int,
    offsets: Offsets,
    score: Floats,
    start: Floats,
    end: Floats,
    link: Floats,
    weight: Floats,
    log_z: Floats,
    marginal: Floats,
    pair: Floats,
) -> None:
    """Log-partitions and marginals of some sentences; their weighted pairs are added."""
    n_tags, longest = len(start), _longest(first, last, offsets)
    alpha, emission = np.empty((longest, n_tags)), np.empty((longest, n_tags))
    scale, beta, later = np.empty(longest), np.empty(n_tags), np.empty(n_tags)
    factor = np.exp(link - link.max())
    reverse = np.ascontiguousarray(factor.T)
    first_factor, last_factor = np.exp(start - start.max()), np.exp(end - end.max())
    outer = np.zeros((n_tags, n_tags))  # pairs, but for the factor that all of them have
    for s in range(first, last):
        rows, share = score[offsets[s] : offsets[s + 1]], marginal[offsets[s] : offsets[s + 1]]
        log_sum = _forward(rows, first_factor, last_factor, factor, alpha, emission, scale)
        log_z[s] = log_sum + _log_tops(len(rows), start, end, link)
        if len(rows) == 0 or log_sum == -np.inf:
            continue
        total = 0.0
        for k in range(n_tags):
            total += alpha[len(rows) - 1, k] * last_factor[k]
        for k in range(n_tags):
            beta[k] = last_factor[k] / total
        for t in range(len(rows) - 1, 0, -1):
            rest = 1.0 / scale[t]
            for k in range(n_tags):
                share[t, k] = alpha[t, k] * beta[k]
                later[k] = emission[t, k] * beta[k] * rest
            _step_back(alpha[t - 1], later, reverse, weight[s], beta, outer)
        for k in range(n_tags):
            share[0, k] = alpha[0, k] * beta[k]
    pair += outer * factor


@kernel
def _longest(first: int, last: int, offsets: Offsets) -> int:
    longest = 1
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
    return longest


@kernel
def _log_tops(n_tokens: int, start: Floats, end: Floats, link: Floats) -> float:
    """What was taken from the links of every sequence of a sentence."""
    if n_tokens == 0:
        return 0.0
    return float(start.max() + end.max() + (n_tokens - 1) * link.max())


@kernel
def _forward(
    score: Floats,
    first_factor: Floats,
    last_factor: Floats,
    factor: Floats,
    alpha: Floats,
    emission: Floats,
    scale: Floats,
) -> float:
    """Fill alpha, emission and scale of one sentence; its log-partition under the factors."""
    n_tokens, n_tags = score.shape
    log_sum = 0.0
    for t in range(n_tokens):
        here = alpha[t]
        if t == 0:
            here[:] = first_factor
        else:
            here[:] = 0.0
            for j in range(n_tags):
                before = alpha[t - 1, j]  # the compiler cannot know that `here` is elsewhere
                for k in range(n_tags):
                    here[k] += before * factor[j, k]
        top = score[t, 0]
        for k in range(1, n_tags):
            top = max(top, score[t, k])
        if top == -np.inf:
            return float(top)
        total = 0.0
        for k in range(n_tags):
            emission[t, k] = np.exp(score[t, k] - top)
            here[k] *= emission[t, k]
            total += here[k]
        rest = 1.0 / total
        for k in range(n_tags):
            here[k] *= rest
        scale[t] = total
        log_sum += top + np.log(total)
    if n_tokens == 0:
        return 0.0
    total = 0.0
    for k in range(n_tags):
        total += alpha[n_tokens - 1, k] * last_factor[k]
    return float(log_sum + np.log(total))


@kernel
def _step_back(
    alpha: Floats, later: Floats, reverse: Floats, weight: float, beta: Floats, outer: Floats
) -> None:
    """beta[j] = sum_k reverse[k, j] later[k], and weight alpha[j] later[k] added to outer."""
    n_tags = len(alpha)
    beta[:] = 0.0
    for k in range(n_tags):
        right = later[k]
        for j in range(n_tags):
            beta[j] += reverse[k, j] * right
    for j in range(n_tags):
        left = weight * alpha[j]
        for k in range(n_tags):
            outer[j, k] += left * later[k]
