"""Methods that are solved to convergence on all labels at once, without an epoch loop."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.engine.batches import CrowdData
from manyhands.engine.inputs import Inputs
from manyhands.engine.learner import TrainingResult
from manyhands.engine.randomness import own_random_numbers
from manyhands.methods.base import FitPlan, Method, MethodFit, NetworkMaker, Problem
from manyhands.methods.presets import Preset
from manyhands.networks.mlp import flat


@dataclass(frozen=True)
class FullBatchFit:
    """The solution of a full-batch method.

    The network predicts the logits of the classes, shape (b, k), or values, shape (b, 1); its
    `settings` are the arguments of its constructor. `annotators` are confusions (a, k, l), or for
    regression the arguments of `RegressionLayer.init_from_profile`. `objective` is that after every
    step, which never falls.
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

    tasks = ("classification",)  # the network of a solution does not see whole sentences
    required_network = "logistic"
    network_class: ClassVar[type[nn.Module]]

    def _published_defaults(self, preset: Preset) -> Mapping[str, Any]:
        """The method's own: a preset has those of the epoch loop."""
        return self.defaults

    @abstractmethod
    def fit(
        self, inputs: Inputs, annotations: Annotations, *, max_iter: int, seed: int
    ) -> FullBatchFit:
        """Solve for these items and labels in at most `max_iter` steps."""

    @classmethod
    def restore_network(
        cls, make: NetworkMaker, settings: Mapping[str, Any], n_annotators: int, n_classes: int
    ) -> nn.Module:
        """See `Method.restore_network`; no other network is needed."""
        return cls._new_network(settings)

    def restore_settings(self, network: nn.Module) -> dict[str, Any]:
        """See `Method.restore_settings`."""
        made: Any = network
        return dict(made.settings)

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
        with own_random_numbers():  # layers draw weights when they are created
            return cls.network_class(**settings)

    def _train(
        self,
        inputs: Inputs,
        problems: Sequence[Problem],
        plans: Sequence[FitPlan],
        *,
        stop_after: Sequence[int] | None = None,
    ) -> list[MethodFit]:
        pairs = zip(problems, plans, strict=True)
        return [self._solve(inputs, problem, plan) for problem, plan in pairs]

    def _solve(self, inputs: Inputs, problem: Problem, plan: FitPlan) -> MethodFit:
        ann, task, settings = problem.annotations, problem.task, plan.settings
        fit = self.fit(inputs, ann, max_iter=settings.epochs, seed=settings.seed)
        module = task.module(fit.network, task.annotator_model(ann, fit.annotators))
        history = [
            {"epoch": number, "loss": -objective / ann.n_annotations, "warm_up_epoch": False}
            for number, objective in enumerate(fit.objective, 1)
        ]
        if problem.validation is not None:
            crowd = CrowdData(inputs, problem.validation, torch.device("cpu"))
            history[-1] |= module.validation_scores(crowd, settings.monitor)
        weights = {name: each.detach().clone() for name, each in module.state_dict().items()}
        return MethodFit(module, TrainingResult(weights, len(history), history))


def feature_matrix(inputs: Inputs, item: Tensor | None = None) -> Floats:
    """The inputs of some items, or of all, flattened to rows of 64-bit numbers, shape (i, j)."""
    if inputs.lengths(np.arange(len(inputs))) is not None:
        raise DataError(
            "the method learns from rows of numbers, and these features are texts; give numbers, "
            "such as TF-IDF, or choose a method with a network, such as speelfc"
        )
    rows = inputs.rows(torch.arange(len(inputs)) if item is None else item)
    return np.asarray(flat(rows, prod(inputs.shape)).double().cpu().numpy())
