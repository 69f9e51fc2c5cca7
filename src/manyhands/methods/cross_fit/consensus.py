"""A cross-fitted consensus from a learner of the features, by the kind of the labels."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from manyhands.aggregation import Consensus, Gaussian
from manyhands.aggregation.evidence import Evidence, nothing_known
from manyhands.aggregation.token_chains import labels_before
from manyhands.annotations import Annotations, Kind, Vocabulary
from manyhands.core.arrays import AnyArray, Floats, read_only
from manyhands.evaluation import apply_temperature
from manyhands.methods.cross_fit.beliefs import find_temperature, fit_cross_fit
from manyhands.methods.cross_fit.label_model import CrowdLabels, skill_and_spam
from manyhands.methods.cross_fit.learners import Learner
from manyhands.methods.cross_fit.numbers import fit_number_cross_fit

_CANNOT_CONTINUE = (
    "a cross-fitted consensus is of the items it was made from; call consensus again with all "
    "labels and features"
)


@dataclass(frozen=True)
class Fit:
    """How a consensus is found: its limits, where it starts, and whether it gets a temperature.

    `starts` are names of `beliefs.STARTS`, None for all. With a `seed` held-out labels tell a
    temperature. `sentence_starts` tells which items begin a sentence, where items are tokens.
    """

    max_iter: int
    tol: float
    starts: tuple[str, ...] | None = None
    seed: int | None = None
    sentence_starts: AnyArray | None = None

    @property
    def limits(self) -> dict[str, float]:
        """The arguments of the solvers that limit them."""
        return {"max_iter": self.max_iter, "tol": self.tol}


def class_consensus(
    learner: Learner, annotations: Annotations, seen: AnyArray, how: Fit
) -> Consensus:
    """The consensus about classes; the learner is for the items that were `seen` with labels.

    Items without labels have the class frequencies. Of tokens, an annotator counts as several: one
    for every label that they may have given to the token before, because who said O seldom goes on
    with I-PER.
    """
    labelled = annotations[seen]
    judged = labelled
    if how.sentence_starts is not None:
        judged = with_labels_before(labelled, _items_before(how.sentence_starts, seen))
    fit = fit_cross_fit(learner, judged, starts=how.starts, **how.limits)
    temperature = 1.0
    if how.seed is not None:
        temperature = find_temperature(learner, judged, seed=how.seed, **how.limits)
    tempered_ik = apply_temperature(fit.belief_ik, temperature)
    raw_ik, belief_ik = (_placed(each, annotations, seen) for each in (fit.belief_ik, tempered_ik))
    crowd = CrowdLabels(labelled)
    found = Consensus.from_probabilities(
        annotations,
        belief_ik,
        confusion=crowd.confusions(fit.belief_ik, fit.strength),
        annotator_traits={"spam": skill_and_spam(crowd.counts(fit.belief_ik))[1]},
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


def with_labels_before(annotations: Annotations, before_i: AnyArray) -> Annotations:
    """The labels with an annotator for every annotator and label of theirs for the item before.

    >>> ann = Annotations.from_arrays([0, 1, 0, 1], list("uuvv"), ["a", "b", "a", "a"])
    >>> with_labels_before(ann, np.array([-1, 0])).annotator.tolist()
    [0, 2, 1, 3]
    """
    before_n = labels_before(annotations, before_i)
    code_n = annotations.annotator.astype(np.int64) * (annotations.n_classes + 1) + before_n + 1
    codes, context_n = np.unique(code_n, return_inverse=True)
    return replace(
        annotations,
        annotator=read_only(context_n.astype(np.int32)),
        annotator_vocabulary=Vocabulary.of(codes.tolist(), "annotator"),
    )


def _items_before(sentence_starts: AnyArray, seen: AnyArray) -> AnyArray:
    """The place among the seen items of the item before each in its sentence; -1 for none."""
    place_i = np.full(len(sentence_starts), -1, dtype=np.int64)
    place_i[seen] = np.arange(len(seen))
    before_i = np.concatenate([[-1], place_i[:-1]])
    return np.where(sentence_starts, -1, before_i)[seen]


def _placed(found_ik: Floats, annotations: Annotations, seen: AnyArray) -> Floats:
    """The beliefs of all items; items without labels have the class frequencies."""
    belief_ik = np.tile(found_ik.mean(axis=0), (annotations.n_items, 1))
    belief_ik[seen] = found_ik
    return belief_ik
