"""The E-step of models that ignore annotators: one row for all items with equal label counts."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from manyhands.aggregation.evidence import Evidence
from manyhands.core.arrays import AnyArray, Codes, Floats


@dataclass(frozen=True)
class PatternExpectation:
    """Posterior by pattern (r, k), its sum over items, label counts, the log-likelihood."""

    posterior_rk: Floats
    mass_k: Floats
    counts_lk: Floats
    log_likelihood: float


class LabelPatterns:
    """The E-step of a model in which all labels come from one confusion.

    ::

        log p(y_i) = log sum_k pi_k prod_l B[k,l]^(number of labels l of item i)

    Items with the same label counts, and the same known truth if any, share a pattern `r`: five
    labels of two classes have six patterns, however many items there are.
    """

    def __init__(self, evidence: Evidence) -> None:
        ann = evidence.annotations
        known_i = evidence.known if len(evidence.known) else np.full(ann.n_items, -1)
        table = np.column_stack([ann.label_counts().astype(np.int32), known_i])
        row_r, self._pattern_i, n_r = _distinct(table)
        self._counts_rl = row_r[:, :-1].astype(np.float64)
        self._n_r = n_r.astype(np.float64)
        self._known = np.flatnonzero(row_r[:, -1] >= 0)
        self._known_class = row_r[self._known, -1]

    def __call__(self, log_prior_k: Floats, log_confusion_lk: Floats) -> PatternExpectation:
        """Posterior, counts and log-likelihood under these parameters."""
        score_rk = log_prior_k + self._counts_rl @ log_confusion_lk
        log_sum_r = logsumexp(score_rk, axis=1)
        posterior_rk = np.exp(score_rk - log_sum_r[:, None])
        posterior_rk /= posterior_rk.sum(axis=1, keepdims=True)
        log_sum_r[self._known] = score_rk[self._known, self._known_class]
        posterior_rk[self._known] = 0.0
        posterior_rk[self._known, self._known_class] = 1.0
        weighted_rk = self._n_r[:, None] * posterior_rk
        return PatternExpectation(
            posterior_rk,
            weighted_rk.sum(axis=0),
            self._counts_rl.T @ weighted_rk,
            float(self._n_r @ log_sum_r),
        )

    def posterior_ik(self, expected: PatternExpectation) -> Floats:
        """The posterior of every item."""
        return expected.posterior_rk[self._pattern_i]


def _distinct(table: Codes) -> tuple[Codes, AnyArray, AnyArray]:
    """The distinct rows in sorted order, the index of each row among them, and their counts.

    `numpy.unique` by rows gives the same and is far slower.
    """
    order = np.lexsort(table.T)
    ranked = table[order]
    new = np.ones(len(table), dtype=bool)
    new[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    index = np.empty(len(table), dtype=np.int64)
    index[order] = np.cumsum(new) - 1
    return ranked[new], index, np.bincount(index, minlength=int(new.sum()))
