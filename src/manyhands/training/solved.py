"""Methods that need no epochs: linear models with annotators, solved to convergence at once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from manyhands.aggregation import portray
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.networks import LogisticRegression
from manyhands.noise import SpeeLFC
from manyhands.training.inputs import Inputs
from manyhands.training.learner import Learner
from manyhands.training.linear import (
    LinearWeights,
    fit_attentive,
    fit_personal,
    fit_raykar,
)
from manyhands.training.loop import Outcome
from manyhands.training.methods import About, Method, Problem
from manyhands.training.settings import TrainingSettings

_LEAST = 1e-6  # of a confusion, so that its logarithm is finite


@dataclass(frozen=True)
class Solution:
    """A linear classifier, everybody's confusion, and the objective step by step."""

    weights: LinearWeights
    confusion_akl: Floats
    objective: tuple[float, ...]


Solve = Callable[..., Solution]


@dataclass(frozen=True)
class Solved(Method):
    """A linear classifier learnt together with the annotators, to convergence.

    `epochs` is the most steps it takes; the other settings of training have no use here. The same
    labels give the same classifier, whatever the seed. `settings` go to `solve`.
    """

    solve: Solve
    settings: Mapping[str, Any] = field(default_factory=dict)
    about: About = field(kw_only=True, default=About())
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=lambda: {"epochs": 1000})
    only_network = "logistic"

    def learner(self, network: nn.Module, problem: Problem, settings: TrainingSettings) -> Learner:
        """See `Method.learner`."""
        ann = problem.annotations
        portrait = SpeeLFC(ann.n_annotators, ann.n_classes)
        return Learner(network, portrait, torch.zeros(ann.n_items, ann.n_classes), on_targets=True)

    def solution(
        self, learner: Learner, inputs: Inputs, problem: Problem, settings: TrainingSettings
    ) -> Outcome:
        """Put the solution into a learner; what training would have told."""
        ann, network = problem.annotations, learner.network
        assert isinstance(network, LogisticRegression), "the only network of these methods"
        labelled = np.flatnonzero(ann.labels_per_item > 0)
        features = inputs.rows(torch.from_numpy(labelled)).flatten(1).double().numpy()
        if not np.isfinite(features).all():
            raise DataError("features: some are not finite; fill them or leave their items out")
        found = self.solve(features, ann[labelled], max_iter=settings.epochs, **self.settings)
        with torch.no_grad():
            network.linear.weight.copy_(torch.from_numpy(found.weights.coefficient_jk.T))
            network.linear.bias.copy_(torch.from_numpy(found.weights.intercept_k))
        learner.noise.start_from(_positive(found.confusion_akl))
        history = [
            {"epoch": number, "loss": -objective / ann.n_annotations, "warming_up": False}
            for number, objective in enumerate(found.objective, 1)
        ]
        weights = {name: each.detach().clone() for name, each in learner.state_dict().items()}
        return Outcome(weights, len(history), history)


def solve_raykar(features: Floats, annotations: Annotations, **settings: Any) -> Solution:
    """See `fit_raykar`."""
    found = fit_raykar(features, annotations, **settings)
    return Solution(found.weights, found.confusion_akl, found.objective)


def solve_attentive(features: Floats, annotations: Annotations, **settings: Any) -> Solution:
    """See `fit_attentive`."""
    found = fit_attentive(features, annotations, **settings)
    return Solution(found.weights, found.confusion_akl(), found.objective)


def solve_personal(features: Floats, annotations: Annotations, **settings: Any) -> Solution:
    """See `fit_personal`; people's confusions are those against the common classifier."""
    found = fit_personal(features, annotations, **settings)
    confusion_akl = portray(annotations, np.exp(found.weights.log_class(features)))
    return Solution(found.weights, confusion_akl, (found.objective,))


def _positive(confusion_akl: Floats) -> Floats:
    raised_akl = np.maximum(confusion_akl, _LEAST)
    return np.asarray(raised_akl / raised_akl.sum(axis=-1, keepdims=True))
