"""Fitting a linear-chain CRF to tags, or to expected tags, by exact gradients."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from manyhands.core.arrays import Floats, Offsets
from manyhands.core.settings import require
from manyhands.methods.crf.inference import expect
from manyhands.methods.crf.kernels import Transitions
from manyhands.methods.crf.weights import CrfWeights


@dataclass(frozen=True)
class CrfFit:
    """The weights, their penalised log-likelihood, and whether the maximum was reached."""

    weights: CrfWeights
    objective: float
    converged: bool


@dataclass(frozen=True)
class CrfTargets:
    """Target tags of every token and target pairs of neighbours, times the sentence's weight.

    They are counts of given tags, or expectations of tags that are known in part.
    """

    weight_s: Floats
    tag_tk: Floats
    pair_kk: Floats


class CrfObjective:
    """The penalised log-likelihood of targets, and its maximisation.

    ::

        L(w) = sum_s weight_s sum_y q_s(y) log p(y | x_s) - l2/2 |w|^2

    It is concave, and depends on q_s only through the expected tags and pairs in `CrfTargets`.
    """

    def __init__(
        self, features_tj: "csr_matrix[np.float64]", offsets: Offsets, n_tags: int, *, l2: float
    ) -> None:
        require(0 < l2 < np.inf, "l2", "above 0", l2)
        self.features_tj, self.offsets, self.l2 = features_tj, offsets, l2
        self.zeros = CrfWeights.zeros(features_tj.shape[1], n_tags)
        self._features_jt = features_tj.T.tocsr()
        not_empty = np.flatnonzero(np.diff(offsets) > 0)
        self._first, self._last = offsets[not_empty], offsets[not_empty + 1] - 1

    def log_prior(self, weights: CrfWeights) -> float:
        """-l2/2 |w|^2."""
        return float(-0.5 * self.l2 * np.square(weights.flat()).sum())

    def counts(self, tag_tk: Floats, pair_kk: Floats) -> CrfWeights:
        """How often each weight is used by these tags and pairs, in the form of weights."""
        start_k, end_k = (tag_tk[token].sum(axis=0) for token in (self._first, self._last))
        feature_jk = np.asarray(self._features_jt @ tag_tk)
        return CrfWeights(feature_jk, Transitions(pair_kk, start_k, end_k))

    def value_and_gradient(
        self, vector: Floats, target_counts: Floats, weight_s: Floats
    ) -> tuple[float, Floats]:
        """L(w) and its gradient: target counts - expected counts - l2 w."""
        weights = self.zeros.like(vector)
        score_tk = weights.token_scores(self.features_tj)
        expected = expect(score_tk, self.offsets, weights.transitions, weight_s)
        expected.marginal_tk[:] *= np.repeat(weight_s, np.diff(self.offsets))[:, None]
        expected_counts = self.counts(expected.marginal_tk, expected.pair_kk).flat()
        gradient = target_counts - expected_counts - self.l2 * vector
        value = target_counts @ vector - weight_s @ expected.log_partition_s
        return float(value - 0.5 * self.l2 * (vector @ vector)), gradient

    def ascend(
        self, start: CrfWeights, targets: CrfTargets, *, max_steps: int, tol: float
    ) -> CrfFit:
        """Maximise from `start` on by L-BFGS; the result is never worse than the start.

        It ends after `max_steps`, or when a step gains less than `tol`, relative to the objective.
        """
        target_counts = self.counts(targets.tag_tk, targets.pair_kk).flat()
        losses: list[float] = []

        def loss(vector: Floats) -> tuple[float, Floats]:
            value, gradient = self.value_and_gradient(vector, target_counts, targets.weight_s)
            losses.append(-value)
            return -value, -gradient

        result = minimize(
            loss,
            start.flat(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_steps, "ftol": tol, "gtol": 1e-10},
        )
        if result.fun > losses[0]:  # the line search failed
            return CrfFit(start, -losses[0], False)
        return CrfFit(self.zeros.like(result.x), -float(result.fun), bool(result.success))
