"""Forward and backward recursions in logarithms: right for any scores and links, infinite or not.

log_alpha[t, k] is the log of the sum over all beginnings that end in tag k at token t, log_beta[k]
of the sum over all endings after a tag k, and ::

    p(tag j at t, tag k at t+1) = exp(log_alpha[t, j] + link[j, k] + score[t+1, k] + log_beta[k]
                                      - log_z)
"""

import numpy as np

from manyhands.core.arrays import Floats, Offsets
from manyhands.core.kernels import kernel


@kernel
def log_partition_block(
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
    for s in range(first, last):
        rows = score[offsets[s] : offsets[s + 1]]
        log_z[s] = _forward(rows, start, end, link, np.empty(rows.shape))


@kernel
def log_expect_block(
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
    n_tags = len(start)
    later, log_beta = np.empty(n_tags), np.empty(n_tags)
    for s in range(first, last):
        rows, share = score[offsets[s] : offsets[s + 1]], marginal[offsets[s] : offsets[s + 1]]
        log_alpha = np.empty(rows.shape)
        log_z[s] = _forward(rows, start, end, link, log_alpha)
        if len(rows) == 0 or log_z[s] == -np.inf:
            continue
        log_beta[:] = end
        for t in range(len(rows) - 1, -1, -1):
            for k in range(n_tags):
                share[t, k] = np.exp(log_alpha[t, k] + log_beta[k] - log_z[s])
            if t == 0:
                break
            later[:] = rows[t] + log_beta
            for j in range(n_tags):
                log_beta[j] = _log_sum(link[j], later)
                for k in range(n_tags):
                    log_pair = log_alpha[t - 1, j] + link[j, k] + later[k] - log_z[s]
                    pair[j, k] += weight[s] * np.exp(log_pair)


@kernel
def _forward(score: Floats, start: Floats, end: Floats, link: Floats, log_alpha: Floats) -> float:
    """Fill log_alpha of one sentence; its log-partition."""
    n_tokens, n_tags = score.shape
    if n_tokens == 0:
        return 0.0
    log_alpha[0] = start + score[0]
    for t in range(1, n_tokens):
        for k in range(n_tags):
            log_alpha[t, k] = _log_sum(log_alpha[t - 1], link[:, k]) + score[t, k]
    return _log_sum(log_alpha[n_tokens - 1], end)


@kernel
def _log_sum(log_one: Floats, log_other: Floats) -> float:
    """Log sum_j exp(log_one[j] + log_other[j])."""
    top = -np.inf
    for j in range(len(log_one)):
        top = max(top, log_one[j] + log_other[j])
    if top == -np.inf:
        return top
    total = 0.0
    for j in range(len(log_one)):
        total += np.exp(log_one[j] + log_other[j] - top)
    return float(top + np.log(total))
