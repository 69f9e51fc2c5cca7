"""Training a linear chain on tags, or on expected tags, by exact slopes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from manyhands.core.arrays import Floats, Offsets
from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.methods.crf.forward_backward import expect
from manyhands.methods.crf.weights import ChainWeights, Links, as_offsets, as_token_features


@dataclass(frozen=True)
class ChainFit:
    """The weights found, their penalised log-likelihood, and whether it is the greatest."""

    weights: ChainWeights
    objective: float
    converged: bool


@dataclass(frozen=True)
class ChainTargets:
    """Wanted tags of every token and wanted pairs of neighbours, both times the sentence's weight.

    They are counts of given tags, or what is expected of tags that are known in part.
    """

    weight_s: Floats
    tag_tk: Floats
    pair_kk: Floats


class ChainObjective:
    """The penalised log-likelihood of targets, and steps that climb it.

    ::

        L(w) = sum_s weight_s sum_y q_s(y) log p(y | x_s) - l2/2 |w|^2

    It is concave, and depends on q_s by the expected tags and pairs in `ChainTargets` alone.
    """

    def __init__(
        self,
        features_tj: "csr_matrix[np.float64]",
        offsets: Offsets,
        n_tags: int,
        *,
        l2: float,
    ) -> None:
        require(0 < l2 < np.inf, "l2", "above 0", l2)
        self.features_tj = features_tj
        self.offsets = offsets
        self.l2 = l2
        self.nothing = ChainWeights.zeros(features_tj.shape[1], n_tags)
        self._features_jt = features_tj.T.tocsr()
        filled = np.flatnonzero(np.diff(offsets) > 0)
        self._first, self._last = offsets[filled], offsets[filled + 1] - 1

    def log_prior(self, weights: ChainWeights) -> float:
        """-l2/2 |w|^2."""
        return float(-0.5 * self.l2 * np.square(weights.flat()).sum())

    def counts(self, tag_tk: Floats, pair_kk: Floats) -> ChainWeights:
        """How often each weight is used by these tags and pairs, in the shape of the weights."""
        links = Links(pair_kk, tag_tk[self._first].sum(axis=0), tag_tk[self._last].sum(axis=0))
        return ChainWeights(np.asarray(self._features_jt @ tag_tk), links)

    def value_and_slope(
        self, vector: Floats, wanted: Floats, weight_s: Floats
    ) -> tuple[float, Floats]:
        """L(w) and its gradient: wanted counts - expected counts - l2 w."""
        weights = self.nothing.like(vector)
        score_tk = weights.token_scores(self.features_tj)
        found = expect(score_tk, self.offsets, weights.links, weight_s)
        found.marginal_tk[:] *= np.repeat(weight_s, np.diff(self.offsets))[:, None]
        slope = wanted - self.counts(found.marginal_tk, found.pair_kk).flat() - self.l2 * vector
        value = wanted @ vector - weight_s @ found.log_partition_s
        return float(value - 0.5 * self.l2 * (vector @ vector)), slope

    def ascend(
        self, start: ChainWeights, targets: ChainTargets, *, max_steps: int, tol: float
    ) -> ChainFit:
        """Climb from `start` by L-BFGS; never ends lower than it began.

        It ends after `max_steps`, or when a step gains less than `tol` of the objective.
        """
        wanted = self.counts(targets.tag_tk, targets.pair_kk).flat()
        losses: list[float] = []

        def loss(vector: Floats) -> tuple[float, Floats]:
            value, slope = self.value_and_slope(vector, wanted, targets.weight_s)
            losses.append(-value)
            return -value, -slope

        found = minimize(
            loss,
            start.flat(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_steps, "ftol": tol, "gtol": 1e-10},
        )
        if found.fun > losses[0]:  # a line search that lost its way
            return ChainFit(start, -losses[0], False)
        return ChainFit(self.nothing.like(found.x), -float(found.fun), bool(found.success))


def fit_chain(
    features: Any,
    offsets: Any,
    tag_t: Any,
    n_tags: int,
    *,
    weight_s: Any = None,
    l2: float = 1.0,
    start: ChainWeights | None = None,
    max_iter: int = 200,
    tol: float = 1e-7,
) -> ChainFit:
    """A linear-chain CRF on the tags of sentences, where sentence s counts `weight_s` times.

    ::

        max_w  sum_s weight_s log p(tags_s | x_s) - l2/2 |w|^2

    Row t of `features` belongs to token t. It ends when a step gains less than `tol` of the
    objective.

    >>> fit = fit_chain([[1.0, 0.0], [0.0, 1.0]], [0, 1, 2], [0, 1], 2)
    >>> bool((np.diag(fit.weights.feature_jk) > 0).all()), fit.converged
    (True, True)
    """
    require(max_iter >= 1, "max_iter", ">= 1", max_iter)
    require(tol >= 0, "tol", ">= 0", tol)
    features_tj = as_token_features(features)
    offsets = as_offsets(offsets, features_tj.shape[0])
    objective = ChainObjective(features_tj, offsets, n_tags, l2=l2)
    targets = given_tags(tag_t, offsets, n_tags, weight_s)
    begin = objective.nothing if start is None else start
    return objective.ascend(begin, targets, max_steps=max_iter, tol=tol)


def given_tags(tag_t: Any, offsets: Offsets, n_tags: int, weight_s: Any = None) -> ChainTargets:
    """Targets that are tags, one of every token."""
    tag_t, n_sentences = np.asarray(tag_t), len(offsets) - 1
    if tag_t.shape != (offsets[-1],):
        raise DataError(f"tags of shape {tag_t.shape} for {offsets[-1]} tokens; give one for each")
    wrong = np.flatnonzero((tag_t < 0) | (tag_t >= n_tags))
    if len(wrong):
        raise DataError(f"token {wrong[0]} has tag {tag_t[wrong[0]]}; codes are 0 to {n_tags - 1}")
    weights = np.ones(n_sentences) if weight_s is None else np.asarray(weight_s, dtype=np.float64)
    if weights.shape != (n_sentences,) or not ((weights >= 0) & np.isfinite(weights)).all():
        raise DataError(f"weights must be {n_sentences} numbers, 0 or more, one per sentence")
    weight_t = np.repeat(weights, np.diff(offsets))
    tag_tk = np.zeros((len(tag_t), n_tags))
    tag_tk[np.arange(len(tag_t)), tag_t] = weight_t
    later = np.setdiff1d(np.arange(len(tag_t)), offsets[:-1])
    pair_kk = np.zeros((n_tags, n_tags))
    np.add.at(pair_kk, (tag_t[later - 1], tag_t[later]), weight_t[later])
    return ChainTargets(weights, tag_tk, pair_kk)
