"""What differs between classification, regression and tagging."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from manyhands.aggregation import Consensus
from manyhands.annotations import Annotations, Kind
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError
from manyhands.engine.crowd_module import CrowdModule
from manyhands.engine.features import EncoderOptions, FeatureEncoder
from manyhands.engine.inputs import Inputs
from manyhands.engine.settings import TrainingSettings
from manyhands.noise import AnnotatorModel

UNKNOWN, UNSAID = -1, -2  # codes of a truth that is not known, and of a class that nobody said
NOT_SCORED = float("nan")
NEEDS_FEATURES = (
    "this consensus rests on a network, which must see the items: call infer(X, annotations)"
)


@dataclass(frozen=True)
class Metrics:
    """The scores of a task: `key` ranks models, the `others` are shown beside it."""

    key: str
    others: tuple[str, ...]
    by_truth: str
    by_labels: str = "mean log-probability of validation labels (no truth was used)"
    greater_is_better: bool = True

    @property
    def sign(self) -> int:
        """1 where greater is better, else -1."""
        return 1 if self.greater_is_better else -1


@dataclass(frozen=True)
class TargetScaler:
    """Labels are mean + scale * standardised labels, so that learning rates suit any unit.

    The labels of classes are left as they are.
    """

    mean: float = 0.0
    scale: float = 1.0

    def transform(self, values: Floats) -> Floats:
        """Standardised values."""
        return (values - self.mean) / self.scale

    def inverse_transform(self, standardised: Floats) -> Floats:
        """Values in the unit of the labels."""
        return self.mean + self.scale * standardised

    def transform_labels(self, annotations: Annotations) -> Annotations:
        """The same annotations with standardised labels."""
        return annotations

    def transform_truth(self, truth: AnyArray) -> AnyArray:
        """The truth in the unit of the standardised labels."""
        return truth


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A trained network and annotator model, and how features and labels are encoded for them."""

    network: nn.Module
    noise: AnnotatorModel
    encoder: FeatureEncoder
    settings: TrainingSettings
    crowd: Annotations  # without labels: the names of annotators and classes
    scaler: TargetScaler

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return next(self.noise.parameters()).device  # a network may have no parameters


class Task(ABC):
    """One of classification, regression and tagging, with everything in which they differ."""

    name: ClassVar[str]
    kind: ClassVar[Kind]
    default_method: ClassVar[str]
    defaults: ClassVar[Mapping[str, Any]] = {}  # of the settings of training
    item_noun: ClassVar[str] = "items"
    metrics: ClassVar[Metrics]

    @abstractmethod
    def fit_encoder(self, features: Any, options: EncoderOptions) -> tuple[FeatureEncoder, Inputs]:
        """An encoder for features like these, and their inputs."""

    def require_learnable(self, annotations: Annotations) -> None:
        """Raise an error for labels from which nothing can be learnt."""
        if annotations.n_annotations == 0:
            raise DataError("there is not a single label; nothing can be learnt")

    def fit_scaler(self, annotations: Annotations) -> TargetScaler:
        """How labels are standardised."""
        return TargetScaler()

    def restore_scaler(self, values: Mapping[str, float]) -> TargetScaler:
        """The scaler of a saved fit."""
        return TargetScaler(**values)

    @abstractmethod
    def truth_values(self, truth: Any, annotations: Annotations) -> AnyArray | None:
        """The truth of every item as training takes it; None where none is given."""

    @abstractmethod
    def n_outputs(self, n_classes: int) -> int:
        """How many numbers the network gives per item."""

    @abstractmethod
    def targets(self, annotations: Annotations) -> Tensor:
        """What the labels of every item say on average, a row per item; the warm-up learns it."""

    @abstractmethod
    def module(self, network: nn.Module, noise: Any) -> CrowdModule:
        """A trained network and annotator model as a module that predicts labels."""

    @abstractmethod
    def module_on_consensus(
        self, network: nn.Module, consensus: Consensus, *, hard: bool
    ) -> CrowdModule:
        """A module that trains the network on a consensus; its annotators are profiles."""

    @abstractmethod
    def module_on_truth(
        self, network: nn.Module, annotations: Annotations, truth: AnyArray
    ) -> CrowdModule:
        """A module that trains the network on the truth; its annotators are profiles."""

    @abstractmethod
    def annotator_model(self, annotations: Annotations, annotators: Any) -> AnnotatorModel:
        """A model that holds the annotators that a full-batch method found."""

    def noise_spec(
        self, spec: tuple[str, dict[str, Any]], noise: Any
    ) -> tuple[str, dict[str, Any]]:
        """The name and settings that `restore_noise` takes; `spec` are those of the method."""
        return spec

    @abstractmethod
    def restore_noise(
        self, name: str, settings: Mapping[str, Any], crowd: Annotations, n_features: int
    ) -> AnnotatorModel:
        """The annotator model of a saved fit, before its weights are loaded."""

    @abstractmethod
    def predictions(self, outputs: Tensor, scaler: TargetScaler) -> Floats:
        """Class probabilities, or values, from the outputs of the network."""

    @abstractmethod
    def posterior(self, model: FittedModel, inputs: Inputs, annotations: Annotations) -> Consensus:
        """What network and labels together say about labelled items.

        Annotators whom the model does not know come last in the codes of the annotations.
        """

    @abstractmethod
    def score(
        self, truth: AnyArray | None, predicted: Any, features: Any = None
    ) -> dict[str, float]:
        """The metrics of predictions against the truth; NaN where no truth is known."""

    @abstractmethod
    def scored_consensus(self, consensus: Any) -> Any:
        """The part of a consensus that `score` takes as predictions."""
