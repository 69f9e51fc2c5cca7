"""A task, with all in which classification, regression and tagging differ, and what it trains."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from manyhands.aggregation import Consensus
from manyhands.annotations import Annotations, Kind
from manyhands.core.arrays import AnyArray, Floats, read_only
from manyhands.core.errors import DataError
from manyhands.engine.batches import EVALUATION_BATCH, CrowdBatch, CrowdData, finite_outputs
from manyhands.engine.encoders import fit_encoder
from manyhands.engine.features import EncoderOptions, FeatureEncoder
from manyhands.engine.inputs import Inputs
from manyhands.engine.settings import TrainingSettings
from manyhands.networks.calling import call_network
from manyhands.networks.text import WordNetwork
from manyhands.noise import AnnotatorModel, annotation_loss
from manyhands.noise.batch import weighted

NoiseSpec = tuple[str, dict[str, Any]]  # the name of an annotator model, and its settings
Scores = dict[str, float]
UNKNOWN, UNSAID = -1, -2  # codes of a truth that is not known, and of a class that nobody said
NOT_SCORED = float("nan")
NEEDS_FEATURES = (
    "this consensus rests on a network, which must see the items: call infer(X, annotations)"
)
VALIDATION = "validation"  # the key of the mean log-likelihood of validation labels in a history
_SMALL = 200_000_000  # multiplications per step up to which one thread is fastest


class CrowdModule(nn.Module, ABC):
    """A network with an annotator model, trained on annotations or on one target per item.

    `targets` hold a row for every item. A two-stage method trains on them throughout
    (`on_targets`), the others during the warm-up. `item_weights` (i,) are 1 on average.
    """

    stacks: ClassVar[bool] = False  # whether forward works under vmap, and epochs need nothing more
    targets: Tensor
    item_weights: Tensor | None
    continues = False  # whether it was trained before, on other labels
    objective: float | None = None  # per label, at the start of the epoch; None without an E-step
    label_smoothing = 0.0  # weight of the uniform distribution in the targets of classes
    refit_intercept = True  # whether a network of numbers gets its best intercept at the end

    def __init__(
        self, network: nn.Module, noise: Any, targets: Tensor, *, on_targets: bool = False
    ) -> None:
        super().__init__()
        self.network, self.noise, self.on_targets = network, noise, on_targets
        self.register_buffer("targets", targets, persistent=False)
        self.register_buffer("item_weights", None, persistent=False)
        if on_targets:  # the noise model then only holds the profiles, made beforehand
            noise.requires_grad_(False)

    def forward(self, batch: CrowdBatch, warm_up_epoch: bool = False) -> Tensor:
        """The loss of a batch; with mixed precision only the network computes in half precision."""
        outputs: Tensor = call_network(self.network, batch.inputs).float()
        with torch.autocast(outputs.device.type, enabled=False):
            return self._loss(outputs, batch, warm_up_epoch)

    def on_epoch_start(self, crowd: CrowdData, number: int) -> None:
        """Called before every epoch; the first epoch after the warm-up has number 0."""

    @abstractmethod
    def profile_annotators(self, crowd: CrowdData) -> None:
        """Called once at the end, for profiles that depend on all labels."""

    @abstractmethod
    def label_log_prob(self, batch: CrowdBatch) -> Tensor:
        """The log-probability, or log density, of every label of a batch, shape (n,)."""

    @abstractmethod
    def target_loss(self, outputs: Tensor, target_b: Tensor) -> Tensor:
        """The loss of the network's outputs against the targets of their items, shape (b,)."""

    def _loss(self, outputs: Tensor, batch: CrowdBatch, warm_up_epoch: bool) -> Tensor:
        """The loss of the network's outputs for a batch."""
        weight_b = None if self.item_weights is None else self.item_weights[batch.items]
        if self.on_targets or warm_up_epoch:
            loss_b = self.target_loss(outputs, self.targets[batch.items])
            if len(loss_b) == 0:  # a step of fewer items than processes
                return outputs.sum() * 0.0
            return weighted(loss_b, weight_b).mean() * batch.item_weight
        given = batch.annotations if weight_b is None else batch.annotations.weighted(weight_b)
        return annotation_loss(self.noise, outputs, given)

    @torch.no_grad()
    def log_likelihood(self, crowd: CrowdData) -> float:
        """The mean log-probability, or log density, of a crowd's labels."""
        self.eval()
        order = crowd.labelled[crowd.inputs.by_length(crowd.labelled)]
        (log_prob_n,) = crowd.collect(lambda batch: (self.label_log_prob(batch),), order)
        return float(log_prob_n.double().mean())

    def training_objective(self, crowd: CrowdData) -> float:
        """What training maximises, per label of a crowd; of several restarts the best is kept."""
        return self.log_likelihood(crowd)

    def validation_scores(self, crowd: CrowdData, monitor: str) -> dict[str, float]:
        """The scores of an epoch on validation labels, as the history keeps them."""
        return {VALIDATION: self.log_likelihood(crowd)}

    def add_validation_error(self, searched: "CrowdModule", crowd: CrowdData) -> None:
        """Note what validation items showed about the error of the network, if anything is kept."""


@dataclass(frozen=True)
class Metrics:
    """The scores of a task: `key` ranks models, the `others` are shown beside it."""

    key: str
    others: tuple[str, ...]
    by_truth: str
    by_labels: str = "mean log-probability of validation labels (no truth was used)"
    greater_is_better: bool = True


@dataclass(frozen=True)
class TargetScaler:
    """Labels are mean + scale * standardised labels, so that learning rates suit any unit."""

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
        if annotations.kind != "numbers":
            return annotations
        return replace(annotations, label=read_only(self.transform(annotations.label)))

    def transform_truth(self, truth: AnyArray) -> AnyArray:
        """The truth in the unit of the standardised labels; class codes stay as they are."""
        return self.transform(truth) if truth.dtype.kind == "f" else truth


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
    module_class: ClassVar[type[CrowdModule]]

    def fit_encoder(self, features: Any, options: EncoderOptions) -> tuple[FeatureEncoder, Inputs]:
        """An encoder for features like these, and their inputs."""
        return fit_encoder(features, options)

    def require_learnable(self, annotations: Annotations) -> None:
        """Raise an error for labels from which nothing can be learnt."""
        if annotations.n_annotations == 0:
            raise DataError("there is not a single label; nothing can be learnt")

    def fit_scaler(self, annotations: Annotations) -> TargetScaler:
        """How labels are standardised."""
        return TargetScaler()

    @abstractmethod
    def truth_values(self, truth: Any, annotations: Annotations) -> AnyArray | None:
        """The truth of every item as training takes it; None where none is given."""

    def scored_truths(self, truth: Mapping[Any, Any], annotations: Annotations) -> AnyArray:
        """The truth of every item as scores take it, which may be what nobody said."""
        return np.asarray(self.truth_values(truth, annotations))

    def knows_all(self, truth: AnyArray, annotations: Annotations) -> bool:
        """Whether the truth of every item, as `scored_truths` has it, can be learnt."""
        return bool(np.isfinite(truth).all())

    def truth_to_learn(self, truth: AnyArray, annotations: Annotations) -> Any:
        """The truth that `scored_truths` has, as `truth_values` takes it."""
        return truth

    def n_outputs(self, n_classes: int) -> int:
        """How many numbers the network gives per item: a logit per class, or the number."""
        return n_classes or 1

    @abstractmethod
    def targets(self, annotations: Annotations) -> Tensor:
        """What the labels of every item say on average, a row per item; the warm-up learns it."""

    def module(self, network: nn.Module, noise: Any) -> CrowdModule:
        """A trained network and annotator model as a module that predicts labels."""
        return self.module_class(network, noise, torch.zeros(0))

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

    def noise_spec(self, spec: NoiseSpec, noise: Any) -> NoiseSpec:
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

    def score(self, truth: AnyArray | None, predicted: Any, features: Any = None) -> Scores:
        """The metrics of predictions against the truth; NaN where no truth is known."""
        found = None if truth is None else self._scores(truth, predicted, features)
        names = (self.metrics.key, *self.metrics.others)
        return {name: NOT_SCORED if found is None else found[name] for name in names}

    @abstractmethod
    def _scores(self, truth: AnyArray, predicted: Any, features: Any) -> Scores | None:
        """The metrics against the truths that are known; None where none is."""

    @abstractmethod
    def scored_consensus(self, consensus: Any) -> Any:
        """The part of a consensus that `score` takes as predictions."""


@torch.no_grad()
def network_outputs(network: nn.Module, crowd: CrowdData) -> Tensor:
    """The outputs of a network for every labelled item, in their order."""
    network.eval()
    order = crowd.inputs.by_length(crowd.labelled)
    (outputs,) = crowd.collect(
        lambda batch: (call_network(network, batch.inputs),), crowd.labelled[order]
    )
    back = torch.from_numpy(np.argsort(order)).to(crowd.device)
    return finite_outputs(outputs.index_select(0, back))


def predict_outputs(
    network: nn.Module, inputs: Inputs, device: torch.device, settings: TrainingSettings
) -> Tensor:
    """The outputs of a network for all items, in double precision on the CPU."""
    inputs = inputs.to(device)
    network.eval()
    order = inputs.by_length(np.arange(len(inputs)))
    threads = torch_threads(network, inputs.shape, EVALUATION_BATCH, settings)
    with torch.no_grad(), threads:
        parts = [
            call_network(network, inputs.rows(index.to(device))).cpu().double()
            for index in map(torch.from_numpy, inputs.parts(order, EVALUATION_BATCH))
        ]
    return finite_outputs(torch.cat(parts)[torch.from_numpy(np.argsort(order))])


@contextmanager
def torch_threads(
    network: nn.Module, shape: tuple[int, ...], n_items: int, settings: TrainingSettings
) -> Iterator[None]:
    """Set the number of torch threads while a network is used on `n_items` at once.

    The threads of a small step mostly wait for each other: one is as fast. The size of a step is
    estimated from the weights, used once per item (flat inputs) or word (but for embeddings).
    """
    before = torch.get_num_threads()
    tables = {each.weight for each in network.modules() if isinstance(each, nn.Embedding)}
    text = any(isinstance(each, WordNetwork) for each in network.modules())
    weights = sum(
        each.numel()
        for each in network.parameters()
        if not is_lazy(each) and not (text and each in tables)
    )
    small = (text or len(shape) <= 1) and weights * n_items < _SMALL
    torch.set_num_threads(settings.threads or (1 if small else max(1, before // settings.devices)))
    try:
        yield
    finally:
        torch.set_num_threads(before)
