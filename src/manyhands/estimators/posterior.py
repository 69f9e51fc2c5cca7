"""What network and labels believe together about items that people have labelled."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.aggregation import Consensus
from manyhands.aggregation.base import ClassAggregator
from manyhands.aggregation.evidence import Evidence
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.engine.batches import CrowdData
from manyhands.noise import AnnotationBatch, NoiseModel

_ITEMS, _FEATURED_ITEMS = 1024, 64  # at a time; features are held once per class
_CELLS = 2**25  # numbers that hypotheses about the labels of some items may take
_LEAST = 1e-30  # of a probability, so that its logarithm is finite


@torch.no_grad()
def joint_posterior(
    network: nn.Module, noise: NoiseModel, crowd: CrowdData, confusion_akl: Floats
) -> Floats:
    """P(class | x, labels) ~ f_k(x) prod_n P(y_n | class k, a_n, x), shape (i, k).

    The portraits `confusion_akl` are those of all annotators, known or not. They say all there is
    of strangers, and of everybody where the noise model rests on nothing else.
    """
    network.eval()
    noise.eval()
    log_portrait_akl = torch.from_numpy(confusion_akl).clamp_min(_LEAST).log().float()
    log_portrait_akl = log_portrait_akl.to(crowd.device)
    parts = []
    for batch in crowd.batches(np.arange(len(crowd.inputs)), _items_at_once(noise, crowd)):
        log_bk = network(batch.inputs).log_softmax(dim=-1)
        if len(batch.annotations):
            said_nk = _log_said(noise, batch.annotations, log_portrait_akl)
            log_bk = log_bk.index_add(0, batch.annotations.row, said_nk)
        parts.append(log_bk.cpu().double().softmax(dim=-1))
    return np.asarray(torch.cat(parts).numpy(), dtype=np.float64)


def _items_at_once(noise: NoiseModel, crowd: CrowdData) -> int:
    """Every label is looked at once per class, with a matrix of K x K each."""
    if _is_its_portrait(noise):
        return _ITEMS
    most = int(crowd.annotations.labels_per_item.max(initial=1))
    fits = max(1, _CELLS // (most * noise.n_classes**3))
    return min(fits, _FEATURED_ITEMS if noise.needs_features else _ITEMS)


def _is_its_portrait(noise: NoiseModel) -> bool:
    return not noise.needs_features and not noise.statistics()


def _log_said(noise: NoiseModel, batch: AnnotationBatch, log_portrait_akl: Tensor) -> Tensor:
    """Log P(y_n | class k, a_n, x) of every annotation, shape (n, k)."""
    portrayed_nk = log_portrait_akl[batch.annotator, :, batch.label]
    if _is_its_portrait(noise):
        return portrayed_nk
    n_classes, known = noise.n_classes, batch.annotator < noise.n_annotators
    annotator_n = batch.annotator.where(known, torch.zeros_like(batch.annotator))
    certain_kk = torch.eye(n_classes, device=batch.row.device).log()
    hypothesis = torch.arange(n_classes, device=batch.row.device).repeat(len(batch))
    who, label = (each.repeat_interleave(n_classes) for each in (annotator_n, batch.label))
    if noise.needs_features and batch.features is not None:
        row = batch.row.repeat_interleave(n_classes) * n_classes + hypothesis
        features = batch.features.repeat_interleave(n_classes, dim=0)
        log_label = noise(certain_kk.repeat(len(batch.features), 1), row, who, features)
    else:
        log_label = noise(certain_kk, hypothesis, who, None)
    said_nk: Tensor = log_label.gather(1, label.unsqueeze(1)).reshape(len(batch), n_classes)
    return said_nk.where(known.unsqueeze(1), portrayed_nk)


@dataclass(frozen=True, kw_only=True)
class NetworkPosterior(ClassAggregator[Floats]):
    """The model behind a consensus of network and labels; its parameters are confusions (a, k, l).

    It cannot go on by itself: new items need their features, new labels a new fit.
    """

    def consensus(
        self, annotations: Annotations, posterior_ik: Floats, confusion_akl: Floats
    ) -> Consensus:
        """The posterior as a consensus."""
        evidence = Evidence(annotations, np.zeros(0, dtype=np.int32))
        return self._consensus(evidence, confusion_akl, {"probabilities": posterior_ik})

    def confusion(self, consensus: Consensus) -> Floats:
        """Every annotator's portrait, shape (a, k, l)."""
        return np.asarray(consensus.parameters)

    def predict(self, consensus: Consensus, annotations: Annotations) -> Consensus:
        """Refused: the network must see the items."""
        raise needs_features()

    def update(
        self, consensus: Consensus, more: Annotations, known: Mapping[Any, Any] | None
    ) -> Consensus:
        """Refused: the network must see the items."""
        raise needs_features()

    def _fit(self, evidence: Evidence, start: Floats | None) -> Consensus:
        raise needs_features()

    def _beliefs(self, evidence: Evidence, parameters: Floats) -> dict[str, Any]:
        raise needs_features()

    def _with_unseen_annotators(self, parameters: Floats, n_new: int) -> Floats:
        raise needs_features()


def needs_features() -> DataError:
    """Why a consensus that rests on a network cannot go on without the items."""
    return DataError(
        "this consensus rests on a network, which must see the items: call infer(X, annotations)"
    )
