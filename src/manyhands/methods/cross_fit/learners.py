"""Any classifier as the learner of cross-fitting: trained on some folds, it predicts the others."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing  # rows of whatever a scikit-learn classifier takes
from sklearn.utils.validation import has_fit_parameter
from torch import nn

from manyhands.aggregation import Consensus
from manyhands.annotations import Kind
from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.errors import DataError, SettingError
from manyhands.core.settings import generator
from manyhands.engine.inputs import Inputs
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.task import CrowdModule, TargetScaler, predict_outputs
from manyhands.methods.base import FitPlan, Problem
from manyhands.methods.cross_fit.smoothers import FoldSmoother, RidgeSmoother, split_fold
from manyhands.methods.network_method import NetworkMethod

_ALL_REGRESSIONS = 8.0  # first weight of all together; a regression of 0 and 1 is a flat logit
_FOR_CLASSES = "classifier with predict_proba, a CrowdClassifier"
_FOR_NUMBERS = "regressor, a CrowdRegressor"
_LEAST = 0.01  # of a belief, for a class to be learnt; it keeps a copy of the row for each
_FLOOR = 1e-3  # of predicted probabilities: no classifier is that certain of what it has not seen


class Learner(Protocol):
    """What predicts the beliefs of items without having seen them."""

    @property
    def first_weights(self) -> Floats:
        """How much each of its scores (m) counts at first, shape (m,)."""

    def left_out(self, belief_ik: Floats) -> Floats:
        """Scores of the classes of every item, learnt from the other items, shape (m, i, k).

        Of numbers, these are predictions of the values (i, 1), shape (m, i, 1).
        """


@dataclass(frozen=True)
class Regressions:
    """Ridge regressions, whose predictions without an item are exact: those of `fit_smoothers`."""

    smoothers: Sequence[RidgeSmoother | FoldSmoother]

    @property
    def first_weights(self) -> Floats:
        """See `Learner.first_weights`: all alike."""
        n_regressions = sum(each.n_regressions for each in self.smoothers)
        return np.full(n_regressions, _ALL_REGRESSIONS / n_regressions)

    def left_out(self, belief_ik: Floats) -> Floats:
        """See `Learner.left_out`."""
        return np.concatenate([each.left_out(belief_ik) for each in self.smoothers])


@dataclass(frozen=True)
class ClassifierLearner:
    """A scikit-learn classifier, trained anew on the beliefs of the other folds in every round.

    A row is given once for every class that is believed at all, weighted by the belief. A
    classifier that takes no weights of rows is given the most probable classes. The score is the
    log-probability that it predicts.
    """

    classifier: Any
    features: Any  # a row per item, in any form that the classifier takes
    fold_i: Codes

    @property
    def first_weights(self) -> Floats:
        """See `Learner.first_weights`."""
        return np.ones(1)

    def left_out(self, belief_ik: Floats) -> Floats:
        """See `Learner.left_out`."""
        found_ik = np.empty_like(belief_ik)
        for number in range(int(self.fold_i.max()) + 1):
            own, others = (np.flatnonzero(same) for same in split_fold(self.fold_i, number))
            found_ik[own] = self._predicted(belief_ik, others, own)
        return log_scores(found_ik)

    def _predicted(self, belief_ik: Floats, others: AnyArray, own: AnyArray) -> Floats:
        model, weight = clone(self.classifier), weight_parameter(self.classifier)
        if weight is None:
            row, code = others, belief_ik[others].argmax(axis=1)
            given: dict[str, Any] = {}
        else:
            place, code = np.nonzero(belief_ik[others] > _LEAST)
            row = others[place]
            given = {weight: belief_ik[row, code]}
        if len(np.unique(code)) == 1:  # nothing to tell apart
            return np.tile(belief_ik[others].mean(axis=0), (len(own), 1))
        model.fit(_safe_indexing(self.features, row), code, **given)
        found_ik = np.zeros((len(own), belief_ik.shape[1]))
        found_ik[:, model.classes_] = model.predict_proba(_safe_indexing(self.features, own))
        return found_ik


@dataclass(frozen=True)
class RegressorLearner:
    """A scikit-learn regressor, trained anew on the values of the other folds in every round."""

    regressor: Any
    features: Any  # a row per item, in any form that the regressor takes
    fold_i: Codes

    @property
    def first_weights(self) -> Floats:
        """See `Learner.first_weights`."""
        return np.ones(1)

    def left_out(self, value_i1: Floats) -> Floats:
        """See `Learner.left_out`."""
        found_i = np.empty(len(value_i1))
        for number in range(int(self.fold_i.max()) + 1):
            own, others = (np.flatnonzero(same) for same in split_fold(self.fold_i, number))
            model = clone(self.regressor)
            model.fit(_safe_indexing(self.features, others), value_i1[others, 0])
            found_i[own] = np.ravel(model.predict(_safe_indexing(self.features, own)))
        return found_i[None, :, None]


@dataclass(frozen=True, kw_only=True)
class _OnBeliefs(NetworkMethod):
    """Train the network on beliefs that are given."""

    tasks = ("classification",)
    belief_ik: Floats = field(repr=False)

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `NetworkMethod.make_module`."""
        consensus = Consensus.from_probabilities(problem.annotations, self.belief_ik)
        return problem.task.module_on_consensus(network, consensus, hard=False)


@dataclass(frozen=True, kw_only=True)
class _OnValues(_OnBeliefs):
    """Train the network on numbers that are given, (i, 1)."""

    tasks = ("regression",)

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `NetworkMethod.make_module`."""
        return problem.task.module_on_truth(network, problem.annotations, self.belief_ik[:, 0])


@dataclass(frozen=True)
class NetworkLearner:
    """A network, trained anew on the beliefs of the other folds in every round.

    It is made and trained as the plan says. `seen` are the items with labels, whose beliefs these
    are. With a checkpoint every fit has a folder there; fits come in the same order in every run.
    """

    inputs: Inputs
    problem: Problem
    plan: FitPlan
    seen: AnyArray
    fold_i: Codes
    _numbers: Any = field(default_factory=count, repr=False)
    trained: ClassVar[type[_OnBeliefs]] = _OnBeliefs

    @property
    def first_weights(self) -> Floats:
        """See `Learner.first_weights`."""
        return np.ones(1)

    def left_out(self, belief_ik: Floats) -> Floats:
        """See `Learner.left_out`."""
        return log_scores(self.predicted(belief_ik))

    def predicted(self, belief_ik: Floats) -> Floats:
        """The class probabilities (i, k), or values (i, 1), by the networks of the other folds."""
        annotations = self.problem.annotations
        all_ik = np.full((annotations.n_items, belief_ik.shape[1]), 1 / belief_ik.shape[1])
        all_ik[self.seen] = belief_ik
        found_ik = np.empty_like(belief_ik)
        fold_all = np.full(annotations.n_items, -1)
        fold_all[self.seen] = self.fold_i
        for number in range(int(self.fold_i.max()) + 1):
            labels = annotations.only(fold_all[annotations.item] != number)
            part = replace(self.problem, annotations=labels)
            plan = self._plan(next(self._numbers))
            fit = self.trained(belief_ik=all_ik).fit_model(self.inputs, part, plan)
            device = next(fit.module.noise.parameters()).device
            outputs = predict_outputs(fit.module.network, self.inputs, device, plan.settings)
            own = self.fold_i == number
            every_ik = self.problem.task.predictions(outputs, TargetScaler())
            found_ik[own] = every_ik.reshape(len(every_ik), -1)[self.seen[own]]
        return found_ik

    def _plan(self, number: int) -> FitPlan:
        folder = self.plan.checkpoint and self.plan.checkpoint / f"fit-{number}"
        return replace(
            self.plan, checkpoint=folder, resume=folder is not None, progress=False, callback=None
        )


@dataclass(frozen=True)
class NumberNetworkLearner(NetworkLearner):
    """The same for values (i, 1) of items."""

    trained = _OnValues

    def left_out(self, value_i1: Floats) -> Floats:
        """See `Learner.left_out`."""
        return self.predicted(value_i1)[None]


def make_folds(n_items: int, n_folds: int, seed: int) -> Codes:
    """The fold of every item, drawn by the seed; folds are never drawn again.

    >>> make_folds(5, 2, seed=0).tolist()
    [1, 0, 1, 0, 0]
    """
    if n_items < n_folds:
        raise DataError(
            f"cross-fit has {n_folds} folds, and {n_items} items have labels; give fewer folds"
        )
    fold_i = np.arange(n_items, dtype=np.int32) % n_folds
    return generator(seed, "folds").permutation(fold_i)


def weight_parameter(classifier: Any) -> str | None:
    """The argument of `fit` that takes weights of rows; None where there is none.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_parameter(make_pipeline(LogisticRegression()))
    'logisticregression__sample_weight'
    """
    if isinstance(classifier, Pipeline):
        name, last = classifier.steps[-1]
        inner = weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(classifier, "sample_weight") else None


def require_learner(learner: Any, kind: Kind | None = None) -> None:
    """Raise a `SettingError` unless a learner predicts as scikit-learn's do, for labels of a kind.

    Classes take a classifier that predicts probabilities, numbers a regressor; None is for either.
    """
    fits = not isinstance(learner, type) and all(
        hasattr(learner, name) for name in ("fit", "predict", "get_params")
    )
    for_classes, for_numbers = hasattr(learner, "predict_proba"), fits and is_regressor(learner)
    wanted = {"classes": for_classes, "numbers": for_numbers}
    if fits and wanted.get(kind or "", for_classes or for_numbers):
        return
    regressor = kind == "numbers"
    raise SettingError(
        f"learner must be a scikit-learn {_FOR_NUMBERS if regressor else _FOR_CLASSES}, a name of "
        f"NETWORKS or a torch module; got {learner!r}"
    )


def log_scores(probability_ik: Floats) -> Floats:
    """Log-probabilities as one score, shape (1, i, k)."""
    return np.log(np.maximum(probability_ik, _FLOOR))[None]
