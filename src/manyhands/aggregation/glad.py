"""GLAD: annotators differ in ability, items in how easy they are."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from manyhands.aggregation.base import (
    CLASS_PSEUDO_COUNT,
    MAY_BE_INFINITE,
    ClassAggregator,
    IterativeAggregator,
    Parameters,
)
from manyhands.aggregation.dawid_skene import fit_class_prior
from manyhands.aggregation.em import EMRun
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.coin_pass import CoinExpectation
from manyhands.aggregation.kernels.glad_steps import GladPass
from manyhands.aggregation.kernels.passes import glad_pass
from manyhands.aggregation.parts import PartState, resolved
from manyhands.core.arrays import AnyArray, Floats, symmetric_confusions, symmetric_diagonals
from manyhands.core.settings import POSITIVE, setting


@dataclass(frozen=True)
class GladParameters(Parameters):
    """Class prior in log space, each annotator's ability, each item's log-easiness."""

    log_prior_k: Floats
    ability_a: Floats
    log_ease_i: Floats

    def confusion(self) -> Floats:
        """Every annotator's confusion on an item of average easiness, shape (a, k, l)."""
        return symmetric_confusions(self._right_a, len(self.log_prior_k))

    def right(self) -> Floats:
        """The diagonals of confusions."""
        return symmetric_diagonals(self._right_a, len(self.log_prior_k))

    @property
    def _right_a(self) -> Floats:
        return np.asarray(1.0 / (1.0 + np.exp(-self.ability_a)))

    def annotator_traits(self) -> Mapping[str, AnyArray]:
        """The ability of annotators."""
        return {"ability": self.ability_a}

    def with_unseen_annotators(self, n_new: int) -> Self:
        """The same with annotators of average ability appended."""
        ability_a = np.append(self.ability_a, np.full(n_new, self.ability_a.mean()))
        return replace(self, ability_a=ability_a)

    def of_part(self, load: Callable[[PartState], AnyArray]) -> Self:
        """The same with the easiness of the items of one part."""
        state: Any = self.log_ease_i
        return replace(self, log_ease_i=resolved(state, load))

    def for_new_items(self, n_items: int) -> Self:
        """The same with items of average easiness."""
        return replace(self, log_ease_i=np.zeros(n_items))


@dataclass(frozen=True, kw_only=True)
class Glad(IterativeAggregator[GladParameters], ClassAggregator[GladParameters]):
    """Annotators differ in ability, items in how easy they are; errors are uniform.

    ::

        P(right) = sigmoid(ability_a x ease_i),  ease_i = exp(b_i) > 0
        ability_a ~ N(ability_mean, ability_deviation^2),  b_i ~ N(0, ease_deviation^2)

    The E-step is that of a coin with x_n = ability_a ease_i. The M-step updates all abilities by
    the tangent quadratic bound of log sigmoid (Jaakkola and Jordan), which cannot overshoot, and
    then each b_i by a Newton step that is halved until the objective does not fall. So the
    objective, log-likelihood + log-priors, never falls.

    Classes are equally probable unless `class_pseudo_count` is finite; then their prior is learnt.
    The consensus table has a column `easiness`, the annotators table a column `ability`.

    Source: Whitehill et al. 2009.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> Glad().fit(ann).labels.tolist()
    [0, 1, 0]
    """

    name: ClassVar[str] = "glad"
    parameters_type: ClassVar[type[Parameters]] = GladParameters
    has_device_pass: ClassVar[bool] = True

    ability_mean: float = setting(1.0, "Prior mean of abilities.")
    ability_deviation: float = setting(1.0, "Prior deviation of abilities.", rule=POSITIVE)
    ease_deviation: float = setting(1.0, "Prior deviation of log-easiness.", rule=POSITIVE)
    class_pseudo_count: float = setting(math.inf, CLASS_PSEUDO_COUNT, rule=MAY_BE_INFINITE)

    def fit_parameters(
        self, evidence: Evidence, start: GladParameters | None = None
    ) -> EMRun[GladParameters]:
        """Fit the model, from its own initial parameters or from the given ones."""
        passed = glad_pass(evidence, self.device)
        start = self._first(passed) if start is None else _with_new_items(start, evidence)

        def expect(parameters: GladParameters) -> CoinExpectation:
            return _expect(passed, parameters)

        def maximise(
            expected: CoinExpectation, before: GladParameters
        ) -> tuple[GladParameters, float]:
            if evidence.annotations.n_classes == 1:  # no label can be wrong, so none tells anything
                return before, self._log_p(passed, before)
            log_prior_k, _ = fit_class_prior(expected.mass_k, self.class_pseudo_count)
            ability_a = self._abilities(passed, expected, before)
            log_ease_i = passed.improve_easiness(
                expected, ability_a, before.log_ease_i, self.ease_deviation**-2
            )
            better = GladParameters(log_prior_k, ability_a, log_ease_i)
            return better, self._log_p(passed, better)

        first = (start, self._log_p(passed, start))
        return self._alternate(evidence, first, expect, maximise)

    def _first(self, passed: GladPass) -> GladParameters:
        """Average annotators and items, and the class prior of the majority."""
        ann, mass_k = passed.evidence.annotations, passed.majority().mass_k
        log_prior_k, _ = fit_class_prior(mass_k, self.class_pseudo_count)
        ability_a = np.full(ann.n_annotators, self.ability_mean)
        return GladParameters(log_prior_k, ability_a, passed.average_items())

    def _log_p(self, passed: GladPass, parameters: GladParameters) -> float:
        """The log-prior of the parameters, up to a constant."""
        ability = (parameters.ability_a - self.ability_mean) / self.ability_deviation
        ease2 = passed.sum_of_squares(parameters.log_ease_i) / self.ease_deviation**2
        learnt = 0.0 if math.isinf(self.class_pseudo_count) else self.class_pseudo_count
        return float(learnt * parameters.log_prior_k.sum() - (ability @ ability + ease2) / 2)

    def _abilities(
        self, passed: GladPass, expected: CoinExpectation, parameters: GladParameters
    ) -> Floats:
        """Each ability at the maximum of a quadratic bound of the expected objective."""
        ability_a = parameters.ability_a
        slope_a, bend_a = passed.slopes(expected, ability_a, parameters.log_ease_i)
        precision = self.ability_deviation**-2
        slope_a = slope_a - precision * (ability_a - self.ability_mean)
        return np.asarray(ability_a + slope_a / (bend_a + precision))

    def estimate_items(self, evidence: Evidence, parameters: GladParameters) -> dict[str, Any]:
        """The fields of a `Consensus` that describe items, under these parameters."""
        return {
            "probabilities": _expect(glad_pass(evidence, self.device), parameters).posterior_ik,
            "item_traits": {"easiness": np.exp(parameters.log_ease_i)},
        }


def _expect(passed: GladPass, parameters: GladParameters) -> CoinExpectation:
    return passed.expect(parameters.log_prior_k, parameters.ability_a, parameters.log_ease_i)


def _with_new_items(parameters: GladParameters, evidence: Evidence) -> GladParameters:
    """The parameters with items of average easiness appended for those that are new."""
    n_new = evidence.annotations.n_items - len(parameters.log_ease_i)
    if n_new <= 0:
        return parameters
    return replace(parameters, log_ease_i=np.append(parameters.log_ease_i, np.zeros(n_new)))
