"""A cross-fitted consensus from a learner of the features, by the kind of the labels."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from manyhands.aggregation import Consensus, Gaussian
from manyhands.aggregation.evidence import Evidence, nothing_known
from manyhands.annotations import Annotations, Kind
from manyhands.core.arrays import AnyArray, Floats
from manyhands.evaluation import apply_temperature
from manyhands.methods.cross_fit.beliefs import TWO_STARTS, find_temperature, fit_cross_fit
from manyhands.methods.cross_fit.label_model import CrowdLabels
from manyhands.methods.cross_fit.learners import Learner
from manyhands.methods.cross_fit.numbers import fit_number_cross_fit

_CANNOT_CONTINUE = (
    "a cross-fitted consensus is of the items it was made from; call consensus again with all "
    "labels and features"
)


@dataclass(frozen=True)
class Fit:
    """How a consensus is found: its limits, and how thoroughly.

    With a `seed` it is found from all `STARTS` in place of two, and held-out labels tell a
    temperature.
    """

    max_iter: int
    tol: float
    seed: int | None = None

    @property
    def limits(self) -> dict[str, Any]:
        """The arguments of the solvers that limit them."""
        return {"max_iter": self.max_iter, "tol": self.tol}


def class_consensus(
    learner: Learner, annotations: Annotations, seen: AnyArray, how: Fit
) -> Consensus:
    """The consensus about classes; the learner is for the items that were `seen` with labels.

    Items without labels have the class frequencies.
    """
    labelled = annotations[seen]
    starts = TWO_STARTS if how.seed is None else None
    fit = fit_cross_fit(learner, labelled, starts=starts, **how.limits)
    temperature = 1.0
    if how.seed is not None:
        temperature = find_temperature(learner, labelled, seed=how.seed, **how.limits)
    tempered_ik = apply_temperature(fit.belief_ik, temperature)
    raw_ik, belief_ik = (_placed(each, annotations, seen) for each in (fit.belief_ik, tempered_ik))
    found = Consensus.from_probabilities(
        annotations,
        belief_ik,
        confusion=CrowdLabels(labelled).confusions(fit.belief_ik, fit.strength),
        annotator_traits={"spam": fit.spam_a},
        cannot_continue=_CANNOT_CONTINUE,
    )
    return replace(
        found,
        temperature=temperature,
        raw_probabilities=None if how.seed is None else raw_ik,
        objective=fit.objective,
        converged=fit.converged,
    )


def number_consensus(
    learner: Learner, annotations: Annotations, seen: AnyArray, how: Fit
) -> Consensus:
    """The consensus about numbers; items without labels have the mean of the others."""
    labelled = annotations[seen]
    fit = fit_number_cross_fit(learner, labelled, **how.limits)
    annotators = fit.annotators
    estimates = {"values": fit.value_i, "spread": np.sqrt(fit.variance_i)}
    evidence = Evidence(labelled, nothing_known())
    quality, traits = Gaussian().estimate_annotators(
        evidence, annotators, lambda statistic, *more: statistic(evidence, estimates, *more)
    )
    value_i = np.full(annotations.n_items, annotators.centre)
    variance_i = np.full(annotations.n_items, annotators.between)
    value_i[seen], variance_i[seen] = fit.value_i, fit.variance_i
    found = Consensus.from_values(
        annotations,
        value_i,
        variance_i,
        between=annotators.between,
        quality=quality,
        annotator_traits=traits,
        cannot_continue=_CANNOT_CONTINUE,
    )
    return replace(found, objective=fit.objective, converged=fit.converged)


CONSENSUS: Mapping[Kind, Callable[[Learner, Annotations, AnyArray, Fit], Consensus]] = {
    "classes": class_consensus,
    "numbers": number_consensus,
}


def _placed(found_ik: Floats, annotations: Annotations, seen: AnyArray) -> Floats:
    """The beliefs of all items; items without labels have the class frequencies."""
    belief_ik = np.tile(found_ik.mean(axis=0), (annotations.n_items, 1))
    belief_ik[seen] = found_ik
    return belief_ik
