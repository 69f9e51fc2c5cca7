"""The method `crowdlab`: train on a consensus of labels and out-of-fold predictions."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import nn

from manyhands.aggregation import Consensus, Majority, estimate_confusions
from manyhands.aggregation.crowdlab import crowdlab
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.settings import require
from manyhands.engine.inputs import Inputs
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.task import CrowdModule
from manyhands.methods.base import About, FitPlan, Method, Paper, Problem
from manyhands.methods.cross_fit.learners import NetworkLearner, make_folds
from manyhands.methods.end_to_end import NO_WARM_UP
from manyhands.methods.network_method import NetworkMethod

_TIED = 1e-9  # shares of labels that differ by rounding only


@dataclass(frozen=True)
class TrainOnCrowdlab(NetworkMethod):
    """Train the network on the consensus of CROWDLAB.

    The labelled items are divided into `n_folds`. For each fold a network like the one that is
    asked for learns the majority labels of all other items (ties: equal shares) and predicts the
    class probabilities f_k^{-i} of the items of the fold, whose labels it has not seen. With the
    weights of `crowdlab`, which come from how often annotators agree with others and the networks
    with the consensus,

        p_ik = (w_M f_k^{-i} + sum_n w_a P_nk) / (w_M + sum_n w_a)    over the labels n of item i

    The network then learns the consensus class of every item by cross-entropy, or with
    `hard=False` the probabilities p_ik. The profiles of annotators are their confusions against
    p_ik. Where no item has two labels, nothing tells how far annotators agree: the consensus is
    then made of the labels alone.

    Each fold takes a training of its own, with a folder of its own where there is a checkpoint.

    Source: Goh, Tkachenko and Mueller 2022.
    """

    tasks = ("classification",)  # single tokens in folds would show the network their neighbours
    takes_item_weights = takes_label_smoothing = True
    n_folds: int = 5
    hard: bool = True

    def __post_init__(self) -> None:
        require(self.n_folds >= 2, "n_folds", ">= 2", self.n_folds)

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `NetworkMethod.make_module`; the consensus has been found before."""
        consensus: Any = problem.once(_key(settings), _missing)
        return problem.task.module_on_consensus(network, consensus, hard=False)

    def _new_module(
        self, inputs: Inputs, problem: Problem, plan: FitPlan, *, warn: bool
    ) -> CrowdModule:
        # The consensus depends on the networks of the folds, and these on the seed.
        problem.once(_key(plan.settings), lambda _: self._consensus(inputs, problem, plan))
        return super()._new_module(inputs, problem, plan, warn=warn)

    def _consensus(self, inputs: Inputs, problem: Problem, plan: FitPlan) -> Consensus:
        """The consensus of the labels and of networks that have not seen them."""
        annotations = problem.annotations
        seen = np.flatnonzero(annotations.labels_per_item > 0)
        labelled = annotations[seen]
        said_ik = _majority(labelled)
        if (labelled.labels_per_item > 1).any():
            predicted_ik = self._out_of_fold(inputs, problem, plan, said_ik)
            found = crowdlab(labelled, predicted_ik)
            probability_ik, code_i = found.probabilities, found.codes
            target_ik = np.eye(labelled.n_classes)[code_i] if self.hard else probability_ik
        else:
            probability_ik = target_ik = said_ik
        all_ik = np.tile(target_ik.mean(axis=0), (annotations.n_items, 1))
        all_ik[seen] = target_ik
        confusion_akl = estimate_confusions(labelled, probability_ik)
        return Consensus.from_probabilities(annotations, all_ik, confusion=confusion_akl)

    def _out_of_fold(
        self, inputs: Inputs, problem: Problem, plan: FitPlan, said_ik: Floats
    ) -> Floats:
        """Class probabilities of the labelled items by networks trained on other items."""
        seen = np.flatnonzero(problem.annotations.labels_per_item > 0)
        if len(seen) == 1:  # there is nothing to learn from
            return np.full_like(said_ik, 1 / said_ik.shape[1])
        fold_i = make_folds(len(seen), min(self.n_folds, len(seen)), plan.settings.seed)
        plan = replace(plan, checkpoint=plan.checkpoint and plan.checkpoint / "folds")
        return NetworkLearner(inputs, problem, plan, seen, fold_i).predicted(said_ik)


def _key(settings: TrainingSettings) -> tuple[str, int]:
    return "CROWDLAB", settings.seed


def _majority(annotations: Annotations) -> Floats:
    """1 for the most frequent label of every item, and equal shares where several are."""
    share_ik = np.asarray(Majority().fit(annotations).probabilities)
    top_ik = share_ik >= share_ik.max(axis=1, keepdims=True) - _TIED
    return np.asarray(top_ik / top_ik.sum(axis=1, keepdims=True))


def _missing(annotations: Annotations) -> Consensus:
    raise AssertionError("the consensus is found where the features are known")


ROWS: dict[str, Method] = {
    "crowdlab": TrainOnCrowdlab(
        defaults=NO_WARM_UP,
        paper=Paper(preset="p0/labelme", note="In none of the papers; trained as two-stage."),
        about=About(
            source="Goh, Tkachenko and Mueller 2022 (CROWDLAB)",
            equation="p_ik ~ w_M f_k^{-i} + sum_n w_a P_nk, agreement gives w; then f on arg max p",
            cost="a training per fold, then a plain epoch",
            when="a network tells the classes apart and single labels are often wrong",
        ),
    ),
}
