"""Methods that are solved to convergence on all labels at once, without an epoch loop."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.engine.crowd_module import ClassificationModule, CrowdModule
from manyhands.engine.inputs import Inputs
from manyhands.engine.loop import TrainingResult
from manyhands.engine.regression_module import train_on_values
from manyhands.engine.settings import TrainingSettings
from manyhands.methods.base import Method, Problem
from manyhands.networks.flat import flat
from manyhands.noise import SpeeLFC

_MIN_CONFUSION = 1e-6  # so that the logarithm of a confusion is finite


@dataclass(frozen=True)
class FullBatchFit:
    """The solution of a full-batch method.

    Attributes
    ----------
    network:
        predicts the logits of the classes, shape (b, k), or values, shape (b, 1). Its `settings`
        are the arguments of its constructor.
    annotators:
        the confusions of the annotators, shape (a, k, l), all of them above 0. For regression:
        the keyword arguments of `RegressionLayer.start_from`.
    objective:
        the objective after every step. It never falls.
    """

    network: nn.Module
    annotators: Any
    objective: tuple[float, ...]


class FullBatchMethod(Method):
    """A method that is solved to convergence on all labels at once: it needs no epoch loop.

    Its network is part of the solution, so that no other network can be chosen. `epochs` is the
    largest number of steps. The seed matters only if the start is random. The other settings of
    training have no effect.
    """

    only_network = "logistic"
    network_class: ClassVar[type[nn.Module]]

    @abstractmethod
    def fit(
        self, inputs: Inputs, annotations: Annotations, *, max_iter: int, seed: int
    ) -> FullBatchFit:
        """Solve for these items and labels in at most `max_iter` steps."""

    @classmethod
    def restore_network(
        cls, settings: Mapping[str, Any], n_annotators: int, n_classes: int
    ) -> nn.Module:
        """Create the network of a saved model; the weights are loaded into it afterwards.

        `settings` are those that `network.settings` returned.
        """
        return cls._new_network(settings)

    @classmethod
    def build_network(cls, settings: Mapping[str, Any], weights: Mapping[str, Any]) -> nn.Module:
        """Create the network with the weights of a solution: arrays or numbers by name.

        Weights are rounded to the precision that the network computes in, numbers to single
        precision. The random state of torch does not change.
        """
        network = cls._new_network(settings)
        network.load_state_dict({name: torch.as_tensor(each) for name, each in weights.items()})
        return network

    @classmethod
    def _new_network(cls, settings: Mapping[str, Any]) -> nn.Module:
        with torch.random.fork_rng(devices=[]):  # layers draw weights when they are created
            return cls.network_class(**settings)

    # The rest adapts this interface to estimators that expect a module and a training result.

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `Method.make_module`; there is nothing to train."""
        raise NotImplementedError("a full-batch method is fitted by `fit`")

    def train(
        self, inputs: Inputs, problem: Problem, settings: TrainingSettings
    ) -> tuple[CrowdModule, TrainingResult]:
        """Fit, and return the solution as if it had been trained."""
        ann = problem.annotations
        fit = self.fit(inputs, ann, max_iter=settings.epochs, seed=settings.seed)
        module = _as_module(fit, ann)
        history = [
            {"epoch": number, "loss": -objective / ann.n_annotations, "warming_up": False}
            for number, objective in enumerate(fit.objective, 1)
        ]
        weights = {name: each.detach().clone() for name, each in module.state_dict().items()}
        return module, TrainingResult(weights, len(history), history)


def _as_module(fit: FullBatchFit, annotations: Annotations) -> CrowdModule:
    ann = annotations
    if ann.kind == "numbers":
        module = train_on_values(fit.network, ann, np.zeros(ann.n_items))
        module.noise.start_from(**fit.annotators)
        return module
    noise = SpeeLFC(ann.n_annotators, ann.n_classes).start_from(fit.annotators)
    targets = torch.zeros(ann.n_items, ann.n_classes)
    return ClassificationModule(fit.network, noise, targets, on_targets=True)


def feature_matrix(inputs: Inputs, item: Tensor | None = None) -> Floats:
    """The inputs of some items, or of all, flattened to rows of 64-bit numbers, shape (i, j)."""
    rows = inputs.rows(torch.arange(len(inputs)) if item is None else item)
    return np.asarray(flat(rows, prod(inputs.shape)).double().cpu().numpy())


def positive_confusions(confusion_akl: Floats) -> Floats:
    """The confusions with every entry above 0."""
    raised_akl = np.maximum(confusion_akl, _MIN_CONFUSION)
    return np.asarray(raised_akl / raised_akl.sum(axis=-1, keepdims=True))
