"""GLAD: annotators differ in ability, items in how easy they are."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from manyhands.aggregation.base import ClassAggregator, IterativeSettings
from manyhands.aggregation.coins import (
    N_BLOCKS,
    CoinExpectation,
    expect_coins,
    log_sigmoid,
)
from manyhands.aggregation.confusions import fit_class_prior
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.em import run_em
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.majority import majority_posterior
from manyhands.core.arrays import AnyArray, Codes, Floats, Offsets
from manyhands.core.confusions import symmetric_confusions
from manyhands.core.kernels import even_blocks, kernel, run_blocks
from manyhands.core.settings import require

_HALVINGS = 20


@dataclass(frozen=True)
class GladParameters:
    """Class prior in log space, each annotator's ability, each item's log-easiness."""

    log_prior_k: Floats
    ability_a: Floats
    log_ease_i: Floats


@dataclass(frozen=True, kw_only=True)
class Glad(IterativeSettings, ClassAggregator[GladParameters]):
    """Annotators differ in ability, items in how easy they are; errors are uniform.

    ::

        P(right) = sigmoid(ability_a x ease_i),  ease_i = exp(b_i) > 0
        ability_a ~ N(ability_mean, ability_deviation^2),  b_i ~ N(0, ease_deviation^2)

    The E-step is that of a coin with x_n = ability_a ease_i. The M-step makes one sweep of each:
    all abilities by the tangent quadratic bound of log sigmoid (Jaakkola and Jordan), which
    cannot overshoot, and each b_i by a Newton step that is halved until it gains. So the
    objective, log-likelihood + log-priors, never falls.

    Classes are equally probable unless `class_pseudo_count` is finite, which lets the prior be
    learnt. The consensus table has a column `easiness`, the annotators table a column `ability`.

    Source: Whitehill et al. 2009.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> Glad().fit(ann).labels.tolist()
    [0, 1, 0]
    """

    ability_mean: float = 1.0
    ability_deviation: float = 1.0
    ease_deviation: float = 1.0
    class_pseudo_count: float = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.ability_deviation > 0, "ability_deviation", "> 0", self.ability_deviation)
        require(self.ease_deviation > 0, "ease_deviation", "> 0", self.ease_deviation)
        require(self.class_pseudo_count >= 0, "class_pseudo_count", ">= 0", self.class_pseudo_count)

    def confusion(self, consensus: Consensus) -> Floats:
        """Every annotator's confusion on an item of average easiness, shape (a, k, l)."""
        parameters: GladParameters = consensus.parameters
        right_a = 1.0 / (1.0 + np.exp(-parameters.ability_a))
        return symmetric_confusions(right_a, consensus.annotations.n_classes)

    def _fit(self, evidence: Evidence, start: GladParameters | None) -> Consensus:
        ann = evidence.annotations
        if start is None:
            log_prior_k, _ = fit_class_prior(
                majority_posterior(evidence).sum(axis=0), self.class_pseudo_count
            )
            start = GladParameters(
                log_prior_k, np.full(ann.n_annotators, self.ability_mean), np.zeros(ann.n_items)
            )
        elif len(start.log_ease_i) < ann.n_items:
            fresh = np.zeros(ann.n_items - len(start.log_ease_i))
            start = replace(start, log_ease_i=np.append(start.log_ease_i, fresh))

        def step(parameters: GladParameters) -> tuple[GladParameters, float]:
            expected = _expect(evidence, parameters)
            log_prior_k, _ = fit_class_prior(expected.mass_k, self.class_pseudo_count)
            ability_a = self._abilities(evidence, expected.posterior_ik, parameters)
            parameters_then = GladParameters(log_prior_k, ability_a, parameters.log_ease_i)
            log_ease_i = self._easiness(evidence, expected.posterior_ik, parameters_then)
            better = replace(parameters_then, log_ease_i=log_ease_i)
            return better, expected.log_likelihood + self._log_p(parameters)

        run = run_em(start, step, max_iter=self.max_iter, tol=self.tol * ann.n_annotations)
        beliefs = self._beliefs(evidence, run.state)
        return self._consensus(evidence, run.state, beliefs, run.objective, run.converged)

    def _log_p(self, parameters: GladParameters) -> float:
        """The log-prior of the parameters, up to a constant."""
        ability = (parameters.ability_a - self.ability_mean) / self.ability_deviation
        ease = parameters.log_ease_i / self.ease_deviation
        learnt = 0.0 if math.isinf(self.class_pseudo_count) else self.class_pseudo_count
        return float(learnt * parameters.log_prior_k.sum() - (ability @ ability + ease @ ease) / 2)

    def _abilities(
        self, evidence: Evidence, posterior_ik: Floats, parameters: GladParameters
    ) -> Floats:
        """Each ability moved to the top of a quadratic that lies below the expected objective."""
        ann = evidence.annotations
        ease_i = np.exp(parameters.log_ease_i)
        blocks = even_blocks(ann.item_offsets, N_BLOCKS)
        slope_ba = np.zeros((len(blocks), ann.n_annotators))
        bend_ba = np.zeros((len(blocks), ann.n_annotators))

        def work(block: int) -> None:
            _slopes(
                *blocks[block],
                ann.item_offsets,
                ann.annotator,
                ann.label,
                posterior_ik,
                parameters.ability_a,
                ease_i,
                slope_ba[block],
                bend_ba[block],
            )

        run_blocks(work, range(len(blocks)))
        precision = self.ability_deviation**-2
        slope_a = slope_ba.sum(axis=0) - precision * (parameters.ability_a - self.ability_mean)
        return np.asarray(parameters.ability_a + slope_a / (bend_ba.sum(axis=0) + precision))

    def _easiness(
        self, evidence: Evidence, posterior_ik: Floats, parameters: GladParameters
    ) -> Floats:
        """Each item's log-easiness after one Newton step that is halved until it gains."""
        ann = evidence.annotations
        log_ease_i = parameters.log_ease_i.copy()

        def work(block: tuple[int, int]) -> None:
            _climb(
                *block,
                ann.item_offsets,
                ann.annotator,
                ann.label,
                posterior_ik,
                parameters.ability_a,
                self.ease_deviation**-2,
                log_ease_i,
            )

        run_blocks(work, even_blocks(ann.item_offsets, N_BLOCKS))
        return log_ease_i

    def _beliefs(self, evidence: Evidence, parameters: GladParameters) -> dict[str, Any]:
        return {
            "probabilities": _expect(evidence, parameters).posterior_ik,
            "item_traits": {"easiness": np.exp(parameters.log_ease_i)},
        }

    def _with_unseen_annotators(self, parameters: GladParameters, n_new: int) -> GladParameters:
        ability_a = np.append(parameters.ability_a, np.full(n_new, parameters.ability_a.mean()))
        return replace(parameters, ability_a=ability_a)

    def _for_other_items(self, parameters: GladParameters, n_items: int) -> GladParameters:
        return replace(parameters, log_ease_i=np.zeros(n_items))  # each an average one

    def _annotator_traits(self, parameters: GladParameters) -> Mapping[str, AnyArray]:
        return {"ability": parameters.ability_a}


def _expect(evidence: Evidence, parameters: GladParameters) -> CoinExpectation:
    ease_i = np.exp(parameters.log_ease_i)
    return expect_coins(evidence, parameters.log_prior_k, parameters.ability_a, ease_i)


@kernel
def _slopes(
    first: int,
    last: int,
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    posterior: Floats,
    ability: Floats,
    ease: Floats,
    slope: Floats,
    bend: Floats,
) -> None:
    """d/d ability of the expected log-likelihood, and the bend of its tangent bound."""
    for i in range(first, last):
        for n in range(offsets[i], offsets[i + 1]):
            a = annotator[n]
            x = ability[a] * ease[i]
            half_tanh = 0.5 * np.tanh(0.5 * x)  # sigmoid(x) - 1/2
            slope[a] += ease[i] * (posterior[i, label[n]] - 0.5 - half_tanh)
            bend[a] += ease[i] * ease[i] * (half_tanh / x if abs(x) > 1e-6 else 0.25)


@kernel
def _climb(
    first: int,
    last: int,
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    posterior: Floats,
    ability: Floats,
    precision: float,
    log_ease: Floats,
) -> None:
    for i in range(first, last):
        begin, end = offsets[i], offsets[i + 1]
        here = log_ease[i]
        ease = np.exp(here)
        value, slope, bend = -0.5 * precision * here * here, -precision * here, -precision
        for n in range(begin, end):
            x = ability[annotator[n]] * ease
            right = posterior[i, label[n]]
            value += right * x + log_sigmoid(-x)
            sigmoid = 0.5 + 0.5 * np.tanh(0.5 * x)
            slope += x * (right - sigmoid)
            bend += x * (right - sigmoid) - x * x * sigmoid * (1.0 - sigmoid)
        move = slope / max(-bend, precision)
        move = min(max(move, -1.0), 1.0)
        for _ in range(_HALVINGS):
            there = here + move
            ease = np.exp(there)
            gained = -0.5 * precision * there * there
            for n in range(begin, end):
                x = ability[annotator[n]] * ease
                gained += posterior[i, label[n]] * x + log_sigmoid(-x)
            if gained >= value:
                log_ease[i] = there
                break
            move *= 0.5
