"""What is trained: a network, and the noise model that stands behind it while it learns."""

from abc import ABC, abstractmethod

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.core.errors import DataError, ManyhandsError, first_line
from manyhands.engine.batches import CrowdBatch, CrowdData
from manyhands.noise import AnnotatorModel, NoiseModel, annotation_loss
from manyhands.noise.base import warn_of_probabilities

EVALUATION_BATCH = 1024  # items at a time where nothing is learnt


class CrowdModule(nn.Module, ABC):
    """A network with a model of annotators, trained on annotations or on one target per item.

    `targets` are what a two-stage method trains on throughout (`on_targets`), and what the others
    warm up on: a row for every item.
    """

    targets: Tensor

    def __init__(
        self,
        network: nn.Module,
        noise: AnnotatorModel,
        targets: Tensor,
        *,
        on_targets: bool = False,
    ) -> None:
        super().__init__()
        self.network, self.noise, self.on_targets = network, noise, on_targets
        self.register_buffer("targets", targets, persistent=False)
        if on_targets:  # the noise model is a portrait then, made beforehand
            noise.requires_grad_(False)

    def forward(self, batch: CrowdBatch, warming_up: bool = False) -> Tensor:
        """The loss of a batch; in half precision, if any, only the network computes."""
        given: Tensor = self.network(batch.inputs).float()
        with torch.autocast(given.device.type, enabled=False):
            return self._loss(given, batch, warming_up)

    def begin_epoch(self, crowd: CrowdData, number: int) -> None:
        """What is done before an epoch, the first after the warm-up being number 0."""

    @abstractmethod
    def profile_annotators(self, crowd: CrowdData) -> None:
        """Look at all labels once at the end, for portraits that depend on them."""

    @abstractmethod
    def label_log_prob(self, batch: CrowdBatch) -> Tensor:
        """Log P, or the log density, of every label of a batch, shape (n,)."""

    @abstractmethod
    def _loss(self, given: Tensor, batch: CrowdBatch, warming_up: bool) -> Tensor:
        """The loss of what the network gives for a batch."""


class ClassificationModule(CrowdModule):
    """A network that gives class logits, and a noise model.

    `targets` (i, k) hold a distribution over classes for every item.
    """

    noise: NoiseModel

    def __init__(
        self, network: nn.Module, noise: NoiseModel, targets: Tensor, *, on_targets: bool = False
    ) -> None:
        super().__init__(network, noise, targets, on_targets=on_targets)

    @torch.no_grad()
    def profile_annotators(self, crowd: CrowdData) -> None:
        """Look at all labels once at the end, for portraits that depend on them."""
        self.eval()
        self.noise.reset_statistics()
        for batch in crowd.batches(crowd.labelled, EVALUATION_BATCH):
            self.noise.update_statistics(
                self.network(batch.inputs).log_softmax(-1), batch.annotations
            )

    def _loss(self, given: Tensor, batch: CrowdBatch, warming_up: bool) -> Tensor:
        if len(batch.items) == 0:  # a step of fewer items than processes
            return given.sum() * 0.0
        if self.on_targets or warming_up:
            return target_loss(given, self.targets[batch.items]) * batch.item_weight
        return annotation_loss(self.noise, given, batch.annotations) * batch.label_weight

    def label_log_prob(self, batch: CrowdBatch) -> Tensor:
        """See `CrowdModule.log_said`."""
        _, log_label_nl = self.predict_labels(batch)
        return log_label_nl.gather(1, batch.annotations.label.unsqueeze(1)).squeeze(1)

    def predict_labels(self, batch: CrowdBatch) -> tuple[Tensor, Tensor]:
        """Log P of every class of the items, (b, k), and of all that could be said, (n, l)."""
        given = batch.annotations
        log_class_bk: Tensor = self.network(batch.inputs).log_softmax(dim=-1)
        log_label_nl: Tensor = self.noise(log_class_bk, given.row, given.annotator, given.features)
        return log_class_bk, log_label_nl


def target_loss(logits: Tensor, target_bk: Tensor) -> Tensor:
    """Mean cross-entropy of the network against a distribution per item.

    loss = -mean_b sum_k target_bk log softmax(logits)_bk
    """
    return -(target_bk * logits.log_softmax(dim=-1)).sum(dim=-1).mean()


@torch.no_grad()
def network_outputs(network: nn.Module, crowd: CrowdData) -> Tensor:
    """What a network gives for every labelled item, in their order."""
    network.eval()
    order = crowd.inputs.by_length(crowd.labelled)
    seen = [
        network(batch.inputs) for batch in crowd.batches(crowd.labelled[order], EVALUATION_BATCH)
    ]
    back = torch.from_numpy(np.argsort(order)).to(crowd.device)
    return torch.cat(seen).index_select(0, back)


@torch.no_grad()
def require_logits(
    network: nn.Module, inputs: Tensor, n_classes: int, n_items: int, *, warn: bool = True
) -> None:
    """Refuse a network that does not give one logit per class; warn of one that gives shares.

    `n_items` is how many items the inputs are of. Where labels are numbers there is one output.
    """
    was_training = network.training
    network.eval()
    try:
        logits = network(inputs)
    except ManyhandsError:
        raise
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        raise DataError(
            f"the network cannot take inputs of shape {tuple(inputs.shape)}: {first_line(error)}"
        ) from error
    finally:
        network.train(was_training)
    if not isinstance(logits, Tensor) or logits.shape != (n_items, n_classes):
        got = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        wanted = f"{n_classes} logits each are expected; the labels have {n_classes} classes"
        if n_classes == 1:
            wanted = "one number each is expected, in shape (b, 1); the labels are numbers"
        raise DataError(f"the network gives {got} for {n_items} items where {wanted}")
    if warn:
        warn_of_probabilities(logits)
