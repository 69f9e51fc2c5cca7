"""Posteriors of many Dirichlet distributions: expected logarithms, and how far from the prior."""

import numpy as np
from scipy.special import gammaln, psi

from manyhands.aggregation.kernels.type_pass import digamma_and_log_gamma
from manyhands.core.arrays import Floats
from manyhands.core.kernels import even_ranges, kernel, run_blocks

_MAX_BLOCKS = 16


def expect_logs(counts_alk: Floats, prior_lk: Floats) -> tuple[Floats, float]:
    """E log C[a, l, k] for columns C[a, :, k] ~ Dirichlet(prior[:, k] + counts[a, :, k]).

    Also the sum of the divergences of these distributions from their priors::

        KL = sum_l counts_l E log C_l - log B(prior + counts) + log B(prior),  B the Beta function
    """
    log_alk = np.empty_like(counts_alk)
    total_k = prior_lk.sum(axis=0)
    cells, totals = (prior_lk, psi(prior_lk), gammaln(prior_lk)), (psi(total_k), gammaln(total_k))

    def work(chunk: tuple[int, int]) -> float:
        return _expect_rows(*chunk, counts_alk, *cells, *totals, log_alk)

    chunks = even_ranges(len(counts_alk), _MAX_BLOCKS)
    return log_alk, sum(run_blocks(work, chunks))


@kernel
def _expect_rows(
    first: int,
    last: int,
    counts: Floats,
    prior: Floats,
    prior_digamma: Floats,
    prior_gamma: Floats,
    total_digamma: Floats,
    total_gamma: Floats,
    log_alk: Floats,
) -> float:
    n_rows, n_columns = prior.shape
    mass, total = np.empty(n_columns), np.empty(n_columns)
    divergence = 0.0
    for a in range(first, last):
        mass[:] = 0.0
        total[:] = 0.0
        for row in range(n_rows):
            for k in range(n_columns):
                mass[k] += counts[a, row, k]
                total[k] += counts[a, row, k] + prior[row, k]
        for k in range(n_columns):
            if mass[k] == 0.0:
                total[k] = total_digamma[k]
                continue
            digamma, log_gamma = digamma_and_log_gamma(total[k])
            total[k] = digamma
            divergence += log_gamma - total_gamma[k]
        for row in range(n_rows):
            for k in range(n_columns):
                count = counts[a, row, k]
                if count == 0.0:  # most cells of an annotator with few labels
                    log_alk[a, row, k] = prior_digamma[row, k] - total[k]
                    continue
                digamma, log_gamma = digamma_and_log_gamma(prior[row, k] + count)
                log_alk[a, row, k] = digamma - total[k]
                divergence += count * (digamma - total[k]) - (log_gamma - prior_gamma[row, k])
    return divergence
