"""One line more than ordinary training."""

import warnings

import torch
from torch import Tensor

from manyhands.core.errors import DataError
from manyhands.noise.base import NoiseModel
from manyhands.noise.batch import AnnotationBatch


def annotation_loss(layer: NoiseModel, logits: Tensor, batch: AnnotationBatch) -> Tensor:
    """Mean negative log-likelihood of a batch's annotations, plus the layer's penalties.

    loss = -mean_n log P(y_n | softmax(logits of the item), a_n) + penalty + class_penalty

    Each label counts once. `logits` (b, k) come from any network; a batch of items without labels
    costs nothing.
    """
    if logits.shape[-1] != layer.n_classes:
        raise DataError(
            f"the network gives {logits.shape[-1]} classes where the labels have {layer.n_classes}"
        )
    layer.require_features(batch)
    if len(batch) == 0:
        return logits.sum() * 0.0
    if not layer.seen_logits:
        warn_of_probabilities(logits)
        layer.seen_logits = True  # looking waits for the device, so it is done once
    log_class_bk = logits.log_softmax(dim=-1)
    log_label_nl = layer(log_class_bk, batch.row, batch.annotator, batch.features)
    said_n = layer.log_likelihood(log_label_nl, batch.label)
    loss = layer.penalty(batch.annotator) - said_n.mean()
    beside = layer.class_penalty(log_class_bk)
    return loss if beside is None else loss + beside


@torch.no_grad()
def warn_of_probabilities(logits: Tensor) -> None:
    """Warn where what should be logits are probabilities: not below 0, and of sum 1."""
    if logits.shape[-1] < 2 or logits.numel() == 0 or logits.min() < 0:
        return
    if torch.allclose(logits.sum(dim=-1), torch.ones_like(logits[..., 0]), atol=1e-4):
        warnings.warn(
            "the network seems to give probabilities where logits are expected; "
            "take the softmax off its end",
            stacklevel=3,
        )
