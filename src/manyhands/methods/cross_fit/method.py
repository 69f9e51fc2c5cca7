"""The method `cross-fit`: a cross-fitted consensus of labels and features, then a network on it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing  # rows of whatever a scikit-learn classifier takes
from torch import nn

from manyhands.aggregation import Consensus
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import require
from manyhands.engine.inputs import Inputs
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.task import CrowdModule
from manyhands.evaluation import apply_temperature
from manyhands.methods.base import About, FitPlan, Method, Paper, Problem
from manyhands.methods.cross_fit.beliefs import find_temperature, fit_cross_fit
from manyhands.methods.cross_fit.label_model import CrowdLabels
from manyhands.methods.cross_fit.learners import (
    ClassifierLearner,
    Learner,
    NetworkLearner,
    Regressions,
    make_folds,
    require_classifier,
)
from manyhands.methods.cross_fit.smoothers import fit_smoothers
from manyhands.methods.end_to_end import NO_WARM_UP
from manyhands.methods.full_batch import feature_matrix
from manyhands.methods.network_method import NetworkMethod

NETWORK = "network"  # the learner that is the network of the estimator itself
_CONSENSUS = "cross-fitted consensus"
_ROUNDS, _ROUNDS_OF_FITS = 50, 5  # with regressions, and where every round trains anew
_CANNOT_CONTINUE = (
    "a cross-fitted consensus is of the items it was made from; call consensus again with all "
    "labels and features"
)


@dataclass(frozen=True)
class CrossFitted(NetworkMethod):
    """Train the network on what the labels and the features of all other items say of an item.

    See `fit_cross_fit`. The `learner` of the features is None: ridge regressions, which take rows
    of numbers and are exact and fast; a scikit-learn classifier with `predict_proba`; or "network":
    the network of the estimator itself. The latter two are trained anew on the other `n_folds` - 1
    folds in every round, so there are at most 5 rounds from each of two starts; with regressions
    there are at most 50. `max_iter` is another limit. With regressions the consensus also gets a
    temperature from held-out labels (`find_temperature`). The profiles of annotators are their
    confusions against the consensus.
    """

    tasks = ("classification",)  # rows of numbers, not sentences
    takes_item_weights = takes_label_smoothing = True
    models_features = True
    max_iter: int | None = None
    tol: float = 1e-3
    learner: Any = None
    n_folds: int = 5

    def __post_init__(self) -> None:
        given = self.max_iter is None or self.max_iter >= 1
        require(given, "max_iter", ">= 1, or None", self.max_iter)
        require(0 < self.tol < 1, "tol", "above 0 and below 1", self.tol)
        require(self.n_folds >= 2, "n_folds", ">= 2", self.n_folds)
        if self.learner not in (None, NETWORK):
            require_classifier(self.learner)

    def consensus(
        self, features: Any, annotations: Annotations, *, seed: int = 0, calibrate: bool = True
    ) -> Consensus:
        """The cross-fitted consensus; items without labels have the class frequencies.

        Features are a matrix (i, j); those of a classifier are in any form that it takes. With
        `calibrate` there is a temperature, if regressions are the learner.
        """
        seen = np.flatnonzero(annotations.labels_per_item > 0)
        if self.learner is None:
            learner: Learner = Regressions(fit_smoothers(features[seen], seed=seed))
        else:
            fold_i = make_folds(len(seen), self.n_folds, seed)
            rows = _safe_indexing(features, seen)
            learner = ClassifierLearner(self.learner, rows, fold_i)
        return self._found(learner, annotations, seen, seed if calibrate else None)

    def network_consensus(self, inputs: Inputs, problem: Problem, plan: FitPlan) -> Consensus:
        """The same with the network that a plan describes as the learner."""
        annotations = problem.annotations
        seen = np.flatnonzero(annotations.labels_per_item > 0)
        fold_i = make_folds(len(seen), self.n_folds, plan.settings.seed)
        folder = plan.checkpoint and plan.checkpoint / "folds"
        plan = replace(plan, checkpoint=folder)
        learner = NetworkLearner(inputs, problem, plan, seen, fold_i)
        return self._found(learner, annotations, seen, None)

    def _found(
        self, learner: Learner, annotations: Annotations, seen: AnyArray, seed: int | None
    ) -> Consensus:
        labelled, exact = annotations[seen], self.learner is None
        limits: dict[str, Any] = {
            "max_iter": self.max_iter or (_ROUNDS if exact else _ROUNDS_OF_FITS),
            "tol": self.tol,
        }
        fit = fit_cross_fit(learner, labelled, **limits)
        temperature = 1.0
        if exact and seed is not None:  # further fits are cheap with regressions alone
            temperature = find_temperature(learner, labelled, seed=seed, **limits)
        tempered_ik = apply_temperature(fit.belief_ik, temperature)
        raw_ik, belief_ik = (
            _placed(each, annotations, seen) for each in (fit.belief_ik, tempered_ik)
        )
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
            raw_probabilities=raw_ik if exact else None,
            objective=fit.objective,
            converged=fit.converged,
        )

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `NetworkMethod.make_module`; the consensus has been found before."""
        consensus: Any = problem.once(_CONSENSUS, _missing)
        return problem.task.module_on_consensus(network, consensus, hard=False)

    def _new_module(
        self, inputs: Inputs, problem: Problem, plan: FitPlan, *, warn: bool
    ) -> CrowdModule:
        def find(annotations: Annotations) -> Consensus:
            if self.learner == NETWORK:
                return self.network_consensus(inputs, problem, plan)
            # The search for the best epoch does without a temperature: it costs further fits.
            last = problem.validation is None
            return self.consensus(feature_matrix(inputs), annotations, calibrate=last)

        problem.once(_CONSENSUS, find)
        return super()._new_module(inputs, problem, plan, warn=warn)


def _placed(found_ik: Floats, annotations: Annotations, seen: AnyArray) -> Floats:
    """The beliefs of all items; items without labels have the class frequencies."""
    belief_ik = np.tile(found_ik.mean(axis=0), (annotations.n_items, 1))
    belief_ik[seen] = found_ik
    return belief_ik


def _missing(annotations: Annotations) -> Consensus:
    raise AssertionError("the consensus is found where the features are known")


ROWS: dict[str, Method] = {
    "cross-fit": CrossFitted(
        defaults=NO_WARM_UP,
        paper=Paper(preset="p0/labelme", note="In none of the papers; trained as two-stage."),
        about=About(
            source="ours",
            equation="q_i ~ exp(sum_m w_m f_m^{-i}) prod_n C_a^{-i}[k, y_n]^beta; then f on q",
            cost="some seconds of regressions per 1000 items, then a plain epoch",
            when="features are rows of numbers that tell the classes apart",
        ),
    ),
}
