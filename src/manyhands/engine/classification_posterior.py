"""What a network and the labels of an item together say about its class."""

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.core.arrays import Floats
from manyhands.engine.batches import EVALUATION_BATCH, CrowdData
from manyhands.engine.chains import Chains
from manyhands.networks.calling import call_network
from manyhands.noise import AnnotationBatch, NoiseModel

_FEATURED_ITEMS = 64  # items at a time where a noise model takes features, once per class
_MAX_CELLS = 2**25  # numbers that the hypotheses about the labels of some items may take
_MIN_PROBABILITY = 1e-30  # so that its logarithm is finite


def confusions_of(noise: NoiseModel, annotator: Tensor | None = None) -> Floats:
    """The confusions of all or some annotators (a, k, l), in double precision; rows sum to 1."""
    confusion_akl = noise.confusion(annotator).double()
    return np.asarray((confusion_akl / confusion_akl.sum(-1, keepdim=True)).cpu().numpy())


@torch.no_grad()
def joint_posterior(
    network: nn.Module, noise: NoiseModel, crowd: CrowdData, confusion_akl: Floats
) -> Floats:
    """P(class | x, labels) ~ f_k(x) prod_n P(y_n | class k, a_n, x), shape (i, k).

    With transitions between tags these are the marginals of the tokens given all labels of their
    sentence.

    `confusion_akl` holds all annotators, seen in training or not. It is all that is known of unseen
    annotators, and of every annotator where the noise model depends on nothing else.
    """
    network.eval()
    noise.eval()
    log_confusion_akl = torch.from_numpy(confusion_akl).clamp_min(_MIN_PROBABILITY).log().float()
    log_confusion_akl = log_confusion_akl.to(crowd.device)
    parts = []
    for batch in crowd.evaluated(np.arange(len(crowd.inputs)), _items_at_once(noise, crowd)):
        log_bk = call_network(network, batch.inputs).log_softmax(dim=-1)
        if len(batch.annotations):
            log_label_nk = _log_label_given_class(noise, batch.annotations, log_confusion_akl)
            log_bk = log_bk.index_add(0, batch.annotations.row, log_label_nk)
        chains = Chains.of(network, log_bk, batch.places)
        log_bk = log_bk if chains is None else chains.log_marginals()
        parts.append(log_bk.cpu().double().softmax(dim=-1))
    return np.asarray(torch.cat(parts).numpy(), dtype=np.float64)


def _items_at_once(noise: NoiseModel, crowd: CrowdData) -> int:
    """How many items fit: every label is evaluated once per class."""
    if noise.confusion_is_complete:
        return EVALUATION_BATCH
    most = int(crowd.annotations.labels_per_item.max(initial=1))
    fits = max(1, _MAX_CELLS // (most * noise.cells_per_label))
    return min(fits, _FEATURED_ITEMS if noise.needs_features else EVALUATION_BATCH)


def _log_label_given_class(
    noise: NoiseModel, batch: AnnotationBatch, log_confusion_akl: Tensor
) -> Tensor:
    """Log P(y_n | class k, a_n, x) of every annotation, shape (n, k)."""
    by_confusion_nk = log_confusion_akl[batch.annotator, :, batch.label]
    if noise.confusion_is_complete:
        return by_confusion_nk
    known = batch.annotator < noise.n_annotators
    annotator_n = batch.annotator.where(known, torch.zeros_like(batch.annotator))
    features_b = batch.features if noise.needs_features else None
    log_nkl = noise.log_given_class(annotator_n, batch.row, features_b)
    log_nk = log_nkl[torch.arange(len(batch), device=log_nkl.device), :, batch.label]
    return log_nk.where(known.unsqueeze(1), by_confusion_nk)
