"""Methods that need no epochs: models with annotators, solved to convergence at once."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.aggregation import estimate_confusions
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.engine.crowd_module import ClassificationModule, CrowdModule
from manyhands.engine.inputs import Inputs
from manyhands.engine.loop import TrainingResult
from manyhands.engine.settings import TrainingSettings
from manyhands.methods.base import About, Method, Problem
from manyhands.methods.linear import (
    KernelMap,
    LinearWeights,
    fit_kernel_map,
    fit_ma_lr,
    fit_personal,
    fit_raykar,
)
from manyhands.networks import KernelClassifier, LogisticRegression
from manyhands.noise import SpeeLFC

_LEAST = 1e-6  # of a confusion, so that its logarithm is finite


@dataclass(frozen=True)
class Solution:
    """The network's tensors by name, the annotators, and the objective step by step.

    Annotators are everybody's confusion; for numbers, the arguments of
    `RegressionLayer.init_from_profile`.
    """

    weights: Mapping[str, Tensor]
    annotators: Any
    objective: tuple[float, ...]


class FullBatchMethod(Method):
    """A model learnt together with the annotators, to convergence.

    `epochs` is the most steps it takes; of the other settings of training only the seed is looked
    at, where the start is random.
    """

    required_network = "logistic"

    @abstractmethod
    def solve(self, inputs: Inputs, annotations: Annotations, *, steps: int, seed: int) -> Solution:
        """The solution for these items and labels."""

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `Method.learner`."""
        ann = problem.annotations
        profile = SpeeLFC(ann.n_annotators, ann.n_classes)
        return ClassificationModule(
            network, profile, torch.zeros(ann.n_items, ann.n_classes), on_targets=True
        )

    def profile_annotators(self, module: CrowdModule, found: Solution) -> None:
        """Put the annotators that were found into the noise model of a learner."""
        assert isinstance(module, ClassificationModule), "a learner of classes"
        module.noise.init_from_confusions(_positive(found.annotators))

    def solution(
        self, module: CrowdModule, inputs: Inputs, problem: Problem, settings: TrainingSettings
    ) -> TrainingResult:
        """Put the solution into a learner; what training would have told."""
        ann = problem.annotations
        found = self.solve(inputs, ann, steps=settings.epochs, seed=settings.seed)
        module.network.load_state_dict(dict(found.weights))
        self.profile_annotators(module, found)
        history = [
            {"epoch": number, "loss": -objective / ann.n_annotations, "warm_up_epoch": False}
            for number, objective in enumerate(found.objective, 1)
        ]
        weights = {name: each.detach().clone() for name, each in module.state_dict().items()}
        return TrainingResult(weights, len(history), history)


Fit = Callable[..., tuple[LinearWeights, Floats, tuple[float, ...]]]


@dataclass(frozen=True)
class Linear(FullBatchMethod):
    """A logistic regression and annotators. The same labels give the same, whatever the seed.

    `fit` takes features, labels, the most steps, and `settings`.
    """

    fit: Fit
    settings: Mapping[str, Any] = field(default_factory=dict)
    about: About = field(kw_only=True, default=About())
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=lambda: {"epochs": 1000})

    def solve(self, inputs: Inputs, annotations: Annotations, *, steps: int, seed: int) -> Solution:
        """See `Solved.solve`."""
        features_ij, labelled = _labelled(inputs, annotations)
        found = self.fit(features_ij, labelled, max_iter=steps, **self.settings)
        weights, confusion_akl, objective = found
        return Solution(_as_tensors(weights), confusion_akl, objective)


@dataclass(frozen=True)
class KernelPersonal(FullBatchMethod):
    """Personal classifiers on the features of a radial kernel.

    Landmarks of the kernel are labelled items, drawn by the seed; with no more of them than
    `n_landmarks` all are, and the kernel is exact. See `fit_kernel_map` and `fit_personal`, to
    which `settings` go.
    """

    n_landmarks: int = 300
    settings: Mapping[str, Any] = field(default_factory=dict)
    about: About = field(kw_only=True, default=About())
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=lambda: {"epochs": 1000})

    def network(self, network: nn.Module, n_annotators: int, n_classes: int) -> nn.Module:
        """See `Method.network`."""
        assert isinstance(network, LogisticRegression), "the only network of these methods"
        return KernelClassifier(network, n_annotators, n_classes, n_landmarks=self.n_landmarks)

    def solve(self, inputs: Inputs, annotations: Annotations, *, steps: int, seed: int) -> Solution:
        """See `Solved.solve`."""
        features_ij, labelled = _labelled(inputs, annotations)
        mapped = fit_kernel_map(features_ij, n_landmarks=self.n_landmarks, seed=seed)
        weights, confusion_akl, objective = personal(
            mapped(features_ij), labelled, max_iter=steps, **self.settings
        )
        tensors = _kernel_tensors(mapped, weights, self.n_landmarks)
        return Solution(tensors, confusion_akl, objective)


def raykar(
    features: Floats, annotations: Annotations, **settings: Any
) -> tuple[LinearWeights, Floats, tuple[float, ...]]:
    """See `fit_raykar`."""
    found = fit_raykar(features, annotations, **settings)
    return found.weights, found.confusion_akl, found.objective


def ma_lr(
    features: Floats, annotations: Annotations, **settings: Any
) -> tuple[LinearWeights, Floats, tuple[float, ...]]:
    """See `fit_attentive`."""
    found = fit_ma_lr(features, annotations, **settings)
    return found.weights, found.confusion_akl(), found.objective


def personal(
    features: Floats, annotations: Annotations, **settings: Any
) -> tuple[LinearWeights, Floats, tuple[float, ...]]:
    """See `fit_personal`; people's confusions are those against the common classifier."""
    found = fit_personal(features, annotations, **settings)
    confusion_akl = estimate_confusions(annotations, np.exp(found.weights.log_class(features)))
    return found.weights, confusion_akl, (found.objective,)


def _labelled(inputs: Inputs, annotations: Annotations) -> tuple[Floats, Annotations]:
    """The features of the items with labels, and these labels."""
    labelled = np.flatnonzero(annotations.labels_per_item > 0)
    features_ij = inputs.rows(torch.from_numpy(labelled)).flatten(1).double().numpy()
    if not np.isfinite(features_ij).all():
        raise DataError("features: some are not finite; fill them or leave their items out")
    return features_ij, annotations[labelled]


def _as_tensors(weights: LinearWeights) -> dict[str, Tensor]:
    return {
        "linear.weight": torch.from_numpy(weights.coefficient_jk.T),
        "linear.bias": torch.from_numpy(weights.intercept_k),
    }


def _kernel_tensors(
    mapped: KernelMap, weights: LinearWeights, n_landmarks: int
) -> dict[str, Tensor]:
    """The tensors of a `KernelClassifier`; landmarks that are lacking are zero, and unused."""
    lacking = ((0, n_landmarks - len(mapped.landmark_mj)), (0, 0))
    at_landmarks_mk = mapped.mixing_mm.T @ weights.coefficient_jk
    return {
        "landmark": torch.from_numpy(np.pad(mapped.landmark_mj, lacking)),
        "gamma": torch.tensor(mapped.gamma),
        **_as_tensors(LinearWeights(np.pad(at_landmarks_mk, lacking), weights.intercept_k)),
    }


def _positive(confusion_akl: Floats) -> Floats:
    raised_akl = np.maximum(confusion_akl, _LEAST)
    return np.asarray(raised_akl / raised_akl.sum(axis=-1, keepdims=True))
