"""The method `cross-fit`: a cross-fitted consensus of labels and features, then a network on it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing  # rows of whatever scikit-learn's learners take
from torch import nn

from manyhands.aggregation import Consensus
from manyhands.annotations import Annotations, Kind
from manyhands.core.arrays import AnyArray, Codes
from manyhands.core.settings import require
from manyhands.engine.inputs import Inputs
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.task import CrowdModule
from manyhands.methods.base import About, FitPlan, Method, Paper, Problem
from manyhands.methods.cross_fit.consensus import CONSENSUS, Fit
from manyhands.methods.cross_fit.feature_rows import feature_rows
from manyhands.methods.cross_fit.learners import (
    ClassifierLearner,
    Learner,
    NetworkLearner,
    NumberNetworkLearner,
    Regressions,
    RegressorLearner,
    make_folds,
    require_learner,
)
from manyhands.methods.cross_fit.smoothers import FoldSmoother, fit_smoothers
from manyhands.methods.end_to_end import NO_WARM_UP
from manyhands.methods.network_method import NetworkMethod

NETWORK = "network"  # the learner that is the network of the estimator itself
_CONSENSUS = "cross-fitted consensus"
_ROUNDS, _ROUNDS_OF_FITS = 50, 5  # with regressions, and where every round trains anew
_FITTED: Mapping[Kind, Any] = {"classes": ClassifierLearner, "numbers": RegressorLearner}
_TRAINED: Mapping[Kind, Any] = {"classes": NetworkLearner, "numbers": NumberNetworkLearner}


@dataclass(frozen=True)
class CrossFitted(NetworkMethod):
    """Train the network on what the labels and the features of all other items say of an item.

    See `fit_cross_fit`, and `fit_number_cross_fit` for numbers. The `learner` of the features is
    None: ridge regressions, which are exact and fast, and take rows of numbers or words
    (`feature_rows`); a scikit-learn classifier with `predict_proba`, or a regressor for numbers; or
    "network": the network of the estimator itself. The latter are trained anew on the other
    `n_folds` - 1 folds in every round, so there are at most 5 rounds from each of two starts; with
    regressions there are at most 50 from each of three. Numbers have one start. `max_iter` is
    another limit. With regressions the consensus about items also gets a temperature from held-out
    labels (`find_temperature`). The profiles of annotators are estimated against the consensus.

    Tokens are judged by regressions on other folds of whole sentences, from two starts and without
    a temperature. So is the consensus by which the best epoch is found.
    """

    tasks = ("classification", "regression", "tagging")
    takes_item_weights = takes_label_smoothing = True
    takes_transitions = True
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
            require_learner(self.learner)

    def consensus(
        self, features: Any, annotations: Annotations, *, seed: int = 0, calibrate: bool = True
    ) -> Consensus:
        """The cross-fitted consensus; items without labels have the class frequencies, or the mean.

        Features are a matrix (i, j); those of a learner are in any form that it takes. With
        `calibrate` there are a third start and a temperature, if regressions are the learner.
        """
        seen = np.flatnonzero(annotations.labels_per_item > 0)
        if self.learner is None:
            smoothers = fit_smoothers(features[seen], seed=seed)
            how = self._how(_ROUNDS, seed if calibrate else None)
            return self._found(Regressions(smoothers), annotations, seen, how)
        require_learner(self.learner, annotations.kind)
        fold_i = make_folds(len(seen), self.n_folds, seed)
        learner = _FITTED[annotations.kind](self.learner, _safe_indexing(features, seen), fold_i)
        how = self._how(_ROUNDS_OF_FITS)
        return self._found(learner, annotations, seen, how)

    def inputs_consensus(
        self, inputs: Inputs, problem: Problem, plan: FitPlan, *, calibrate: bool = True
    ) -> Consensus:
        """The same of the inputs of a network; the network that the plan describes may learn."""
        annotations, seed = problem.annotations, self._seed(plan.settings)
        if self.learner != NETWORK and inputs.sentence_starts is None:
            rows = feature_rows(inputs, seed)
            return self.consensus(rows, annotations, seed=seed, calibrate=calibrate)
        seen = np.flatnonzero(annotations.labels_per_item > 0)
        fold_i = self._folds(inputs, seen, seed)
        if self.learner == NETWORK:
            plan = replace(plan, checkpoint=plan.checkpoint and plan.checkpoint / "folds")
            learner = _TRAINED[annotations.kind](inputs, problem, plan, seen, fold_i)
            n_rounds = _ROUNDS_OF_FITS
        else:
            learner = self._token_learner(feature_rows(inputs, seed)[seen], fold_i)
            n_rounds = _ROUNDS
        how = self._how(n_rounds)
        return self._found(learner, annotations, seen, how)

    def _folds(self, inputs: Inputs, seen: AnyArray, seed: int) -> Codes:
        """The folds of the labelled items; tokens of a sentence are in the same."""
        lengths = np.diff(inputs.boundaries(seen))
        n_folds = self.n_folds
        if inputs.sentence_starts is not None:  # as many folds as there are sentences, if few
            n_folds = min(n_folds, len(lengths))
        return np.repeat(make_folds(len(lengths), n_folds, seed), lengths)

    def _token_learner(self, rows: Any, fold_i: Codes) -> Learner:
        if self.learner is None:
            return Regressions([FoldSmoother(rows, fold_i)])
        require_learner(self.learner, "classes")
        return ClassifierLearner(self.learner, rows, fold_i)

    def _seed(self, settings: TrainingSettings) -> int:
        """The seed of a consensus: with regressions it is the same for all seeds of the network."""
        return 0 if self.learner is None else settings.seed

    def _key(self, settings: TrainingSettings) -> tuple[str, int]:
        return _CONSENSUS, self._seed(settings)

    def _how(self, n_rounds: int, seed: int | None = None) -> Fit:
        return Fit(self.max_iter or n_rounds, self.tol, seed)

    def _found(
        self, learner: Learner, annotations: Annotations, seen: AnyArray, how: Fit
    ) -> Consensus:
        return CONSENSUS[annotations.kind](learner, annotations, seen, how)

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `NetworkMethod.make_module`; the consensus has been found before."""
        consensus: Any = problem.once(self._key(settings), _missing)
        return problem.task.module_on_consensus(network, consensus, hard=False)

    def _new_module(
        self, inputs: Inputs, problem: Problem, plan: FitPlan, *, warn: bool
    ) -> CrowdModule:
        def find(_: Annotations) -> Consensus:
            # The search for the best epoch does without what takes further fits.
            last = problem.validation is None
            return self.inputs_consensus(inputs, problem, plan, calibrate=last)

        problem.once(self._key(plan.settings), find)
        return super()._new_module(inputs, problem, plan, warn=warn)


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
            when="features are rows of numbers, or words, that tell the classes apart",
        ),
    ),
}
