"""The weights of a linear-chain CRF, fitted to tags or to expected tags by exact gradients."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from manyhands.aggregation.kernels.linear_chain import Transitions, expect
from manyhands.core.arrays import Floats, Offsets
from manyhands.core.errors import DataError
from manyhands.core.settings import require


@dataclass(frozen=True)
class CrfWeights:
    """A linear-chain CRF, by the scores of tag sequences y of the tokens x.

    ::

        score(y) = start[y_1] + sum_t x_t . feature[:, y_t] + sum_t transition[y_t, y_t+1]
                   + end[y_T]
        log p(y | x) = score(y) - log sum_y' exp score(y')
    """

    feature_jk: Floats
    transitions: Transitions

    @classmethod
    def zeros(cls, n_features: int, n_tags: int) -> "CrfWeights":
        """Weights under which all sequences are equally probable."""
        return cls(np.zeros((n_features, n_tags)), Transitions.zeros(n_tags))

    def token_scores(self, features: Any) -> Floats:
        """The scores of every tag by the features of every token, shape (t, k)."""
        features_tj = as_token_features(features)
        if features_tj.shape[1] != len(self.feature_jk):
            raise DataError(
                f"{features_tj.shape[1]} features per token where the weights are of "
                f"{len(self.feature_jk)}"
            )
        return np.ascontiguousarray(features_tj @ self.feature_jk)

    def flat(self) -> Floats:
        """All weights in one vector."""
        return np.concatenate([each.ravel() for each in (self.feature_jk, *self.transitions)])

    def like(self, vector: Floats) -> "CrfWeights":
        """Weights of this shape from one vector."""
        n_tags = self.transitions.n_tags
        ends = np.cumsum([self.feature_jk.size, n_tags * n_tags, n_tags])
        feature, transition, start, end = np.split(vector, ends)
        transitions = Transitions(transition.reshape(n_tags, n_tags), start, end)
        return CrfWeights(feature.reshape(self.feature_jk.shape), transitions)


def as_token_features(features: Any) -> "csr_matrix[np.float64]":
    """Features as a sparse matrix of finite numbers, one row per token."""
    try:
        features_tj = csr_matrix(features, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("features must be numbers, a row of equal length per token") from None
    if not np.isfinite(features_tj.data).all():
        raise DataError("features must be finite numbers; fill or drop those that are not")
    return features_tj


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
    ) -> CrfWeights:
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
        is_worse = result.fun > losses[0]  # the line search failed
        return start if is_worse else self.zeros.like(result.x)
