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
from manyhands.noise import AnnotationBatch, NoiseModel
from manyhands.training import Crowd

_ITEMS, _FEATURED_ITEMS = 1024, 64  # at a time; features are held once per class


@torch.no_grad()
def joint_posterior(
    network: nn.Module, noise: NoiseModel, crowd: Crowd, stranger_kl: Floats
) -> Floats:
    """P(class | x, labels) ~ f_k(x) prod_n P(y_n | class k, a_n, x), shape (i, k).

    An annotator the noise model does not know says what an average one would (`stranger_kl`).
    """
    network.eval()
    noise.eval()
    log_stranger_kl = torch.from_numpy(stranger_kl).to(crowd.device).float().clamp_min(1e-6).log()
    parts = []
    at_once = _FEATURED_ITEMS if noise.needs_features else _ITEMS
    for batch in crowd.batches(np.arange(len(crowd.inputs)), at_once):
        log_bk = network(batch.inputs).log_softmax(dim=-1)
        if len(batch.annotations):
            said_nk = _log_said(noise, batch.annotations, log_stranger_kl)
            log_bk = log_bk.index_add(0, batch.annotations.row, said_nk)
        parts.append(log_bk.double().softmax(dim=-1).cpu())
    return np.asarray(torch.cat(parts).numpy(), dtype=np.float64)


def _log_said(noise: NoiseModel, batch: AnnotationBatch, log_stranger_kl: Tensor) -> Tensor:
    """Log P(y_n | class k, a_n, x) of every annotation, shape (n, k)."""
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
    return said_nk.where(known.unsqueeze(1), log_stranger_kl.T[batch.label])


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
        raise _needs_features()

    def update(
        self, consensus: Consensus, more: Annotations, known: Mapping[Any, Any] | None
    ) -> Consensus:
        """Refused: the network must see the items."""
        raise _needs_features()

    def _fit(self, evidence: Evidence, start: Floats | None) -> Consensus:
        raise _needs_features()

    def _beliefs(self, evidence: Evidence, parameters: Floats) -> dict[str, Any]:
        raise _needs_features()

    def _with_strangers(self, parameters: Floats, n_new: int) -> Floats:
        raise _needs_features()


def _needs_features() -> DataError:
    return DataError(
        "this consensus rests on a network, which must see the items: call infer(X, annotations)"
    )
