"""What is trained: a network, and the noise model that stands behind it while it learns."""

import torch
from torch import Tensor, nn

from manyhands.core.errors import DataError, ManyhandsError, first_line
from manyhands.noise import NoiseModel, annotation_loss
from manyhands.noise.loss import warn_of_probabilities
from manyhands.training.crowd import Crowd, CrowdBatch

LOOK = 1024  # items at a time where nothing is learnt


class Learner(nn.Module):
    """A network with a noise model, trained on annotations or on one target per item.

    `targets` (i, k) hold a distribution over classes for every item: what a two-stage method
    trains on throughout (`on_targets`), and what the others warm up on.
    """

    targets: Tensor

    def __init__(
        self, network: nn.Module, noise: NoiseModel, targets: Tensor, *, on_targets: bool = False
    ) -> None:
        super().__init__()
        self.network, self.noise, self.on_targets = network, noise, on_targets
        self.register_buffer("targets", targets, persistent=False)
        if on_targets:  # the noise model is a portrait then, made beforehand
            noise.requires_grad_(False)

    def forward(self, batch: CrowdBatch, warming_up: bool = False) -> Tensor:
        """The loss of a batch; in half precision, if any, only the network computes."""
        logits: Tensor = self.network(batch.inputs).float()
        with torch.autocast(logits.device.type, enabled=False):
            return self._loss(logits, batch, warming_up)

    def begin_epoch(self, crowd: Crowd, number: int) -> None:
        """What is done before an epoch, the first after the warm-up being number 0."""

    @torch.no_grad()
    def portray(self, crowd: Crowd) -> None:
        """Look at all labels once at the end, for portraits that depend on them."""
        self.eval()
        self.noise.begin_observing()
        for batch in crowd.batches(crowd.labelled, LOOK):
            self.noise.observe(self.network(batch.inputs).log_softmax(-1), batch.annotations)

    def _loss(self, logits: Tensor, batch: CrowdBatch, warming_up: bool) -> Tensor:
        if len(batch.items) == 0:  # a step of fewer items than processes
            return logits.sum() * 0.0
        if self.on_targets or warming_up:
            return target_loss(logits, self.targets[batch.items]) * batch.item_weight
        return annotation_loss(self.noise, logits, batch.annotations) * batch.label_weight

    def foretell(self, batch: CrowdBatch) -> tuple[Tensor, Tensor]:
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
def require_logits(
    network: nn.Module, inputs: Tensor, n_classes: int, *, warn: bool = True
) -> None:
    """Refuse a network that does not give one logit per class; warn of one that gives shares."""
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
    if not isinstance(logits, Tensor) or logits.shape != (len(inputs), n_classes):
        got = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise DataError(
            f"the network gives {got} for {len(inputs)} items where {n_classes} logits each are "
            f"expected; the labels have {n_classes} classes"
        )
    if warn:
        warn_of_probabilities(logits)
