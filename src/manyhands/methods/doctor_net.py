"""Doctor nets: learn what everybody would say, then average them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.aggregation import estimate_confusions
from manyhands.aggregation.em import EMRun, run_em
from manyhands.annotations import Kind
from manyhands.core.settings import require
from manyhands.engine.batches import CrowdBatch, CrowdData
from manyhands.engine.crowd_module import EVALUATION_BATCH, ClassificationModule, CrowdModule
from manyhands.engine.regression_module import label_means, started
from manyhands.engine.settings import TrainingSettings
from manyhands.methods.base import About, Method, Problem, label_shares
from manyhands.methods.em import log_classes
from manyhands.methods.regression_heads import RegressionHeadsModule
from manyhands.networks import ClassificationHeads, RegressionHeads
from manyhands.noise import NoiseModel, RegressionLayer, SpeeLFC

_LARGE_HEADS = 300_000  # parameters of all heads from which a dense optimiser step is felt
_MOST_SAID = 1 << 24  # probabilities of labels under all heads held at a time: 64 MiB
_MOST_PASSES, _GAIN = 30, 1e-5  # over the items for the weights; what a pass must gain per label


class AnnotatorHeadsModule(ClassificationModule):
    """A network with a head per annotator, each trained on the labels of its annotator.

    loss = -mean_n log p_a(y_n | x), the heads of the annotators of a batch only

    While the network warms up, a head sees the label shares of its annotator's items in the place
    of the labels. Epochs are judged by the heads themselves and, where class probabilities play a
    part, by their equal average: learning the weights takes as long as some epochs, and comes once
    at the end (`pseudo_count` is None where they stay equal).
    """

    def __init__(
        self,
        network: ClassificationHeads,
        noise: NoiseModel,
        targets: Tensor,
        pseudo_count: float | None,
    ) -> None:
        super().__init__(network, noise, targets, on_targets=True)
        self.pseudo_count = pseudo_count

    @property
    def doctors(self) -> ClassificationHeads:
        """The network, as what it is here."""
        assert isinstance(self.network, ClassificationHeads), "made of one"
        return self.network

    def forward(self, batch: CrowdBatch, warming_up: bool = False) -> Tensor:
        """The loss of a batch; in half precision, if any, only the trunk computes."""
        given = batch.annotations
        features_bh = self.doctors.features(batch.inputs)
        with torch.autocast(features_bh.device.type, enabled=False):
            log_nl = self.doctors.predict_labels(features_bh, given.row, given.annotator)
            if len(given) == 0:  # a step of fewer items than processes
                return log_nl.sum()
            if warming_up:
                said_n = (self.targets[batch.items][given.row] * log_nl).sum(dim=-1)
            else:
                said_n = log_nl.gather(1, given.label.unsqueeze(1)).squeeze(1)
            return -said_n.mean() * batch.label_weight

    @torch.no_grad()
    def profile_annotators(self, crowd: CrowdData) -> None:
        """Learn the weights of the heads, if any; then everybody's confusions against them."""
        self.eval()
        if self.pseudo_count is not None:
            run = averaging_weights(self.doctors, crowd, pseudo_count=self.pseudo_count)
            self.doctors.set_weights(run.state)
        posterior_ik = np.exp(log_classes(self.network, crowd))
        self.noise.init_from_confusions(
            estimate_confusions(crowd.annotations[crowd.labelled], posterior_ik)
        )

    def predict_labels(self, batch: CrowdBatch) -> tuple[Tensor, Tensor]:
        """See `ClassificationModule.foretell`; a head says what its annotator would."""
        given = batch.annotations
        features_bh = self.doctors.features(batch.inputs)
        log_label_nl = self.doctors.predict_labels(features_bh, given.row, given.annotator)
        return self.doctors.average(features_bh), log_label_nl


@torch.no_grad()
def averaging_weights(
    network: ClassificationHeads, crowd: CrowdData, *, pseudo_count: float = 1.0
) -> EMRun[Tensor]:
    """Log w_a of every annotator with labels, with which all foretell each other's best.

    ::

        maximise sum_n log [sum_{a != a_n} w_a p_a(y_n | x_n) / (1 - w_{a_n})] + c sum_a log w_a

    Heads stay as they are. One that was trained on a label is not judged by it: the label is
    foretold by the average of all the others. c is the `pseudo_count`, labels that everybody is
    taken to have foretold beforehand.

    Solved by EM from equal weights. A label comes from head a with probability r_na, in proportion
    to w_a p_a(y_n | x_n), and never from its own; drawing until another is drawn takes
    w_a / (1 - w_a) draws of its own head on the way, so that
    w_a ~ sum_n r_na + n_a w_a / (1 - w_a) + c. The objective per label never falls. As labels are
    the measure, not truth, people who err alike foretell each other: who is alone loses weight.

    Source: Guan et al. 2018, where averaging logits are learnt by gradient against the labels of
    an item. Public code leaves out the heads of all who labelled the item, which cannot be done
    where everybody labels everything.
    """
    network.eval()
    labels_a = torch.from_numpy(crowd.annotations.labels_per_annotator.astype(np.float64))
    labels_a = labels_a.to(crowd.device)
    log_start_a = (labels_a > 0).double().log()
    log_start_a -= log_start_a.logsumexp(dim=0)

    def step(log_weight_a: Tensor) -> tuple[Tensor, float]:
        weight_a = log_weight_a.exp()
        taken_a, log_said = _taken(network, crowd, log_weight_a)
        count_a = taken_a + labels_a * weight_a / (1.0 - weight_a) + pseudo_count * (labels_a > 0)
        prior = pseudo_count * log_weight_a[labels_a > 0].sum()
        chances = (labels_a * torch.log1p(-weight_a)).sum()
        objective = float(log_said + prior - chances) / float(labels_a.sum())
        return (count_a / count_a.sum()).log(), objective

    passes = _MOST_PASSES if int((labels_a > 0).sum()) > 1 else 0  # there must be others
    return run_em(log_start_a, step, max_iter=passes, tol=_GAIN)


def _taken(
    network: ClassificationHeads, crowd: CrowdData, log_weight_a: Tensor
) -> tuple[Tensor, Tensor]:
    """How many labels come from each head, but from the own of none; the sum of their logs."""
    taken_a, log_said = torch.zeros_like(log_weight_a), log_weight_a.new_zeros(())
    most = int(crowd.annotations.labels_per_item.max())
    at_once = min(EVALUATION_BATCH, max(_MOST_SAID // (most * len(log_weight_a)), 1))
    for batch in crowd.batches(crowd.labelled, at_once):
        given = batch.annotations
        features_bh = network.features(batch.inputs)
        log_na = (
            network.label_log_prob_by_head(features_bh, given.row, given.label)
            + log_weight_a.float()
        )
        log_na.scatter_(1, given.annotator.unsqueeze(1), -torch.inf)
        log_n = log_na.logsumexp(dim=1)
        taken_a += (log_na - log_n.unsqueeze(1)).exp().sum(dim=0, dtype=torch.float64)
        log_said += log_n.sum(dtype=torch.float64)
    return taken_a, log_said


@dataclass(frozen=True)
class DoctorNet(Method):
    """A head per annotator in the place of the network's last linear layer (`DoctorNet`).

    With `weighted`, heads are averaged with weights that are learnt once they stand, with
    `pseudo_count` labels as everybody's prior (`averaging_weights`). The annotators' portraits are
    their confusions against the averaged network. For numbers see `RegressionHeadsModule`.
    """

    weighted: bool = False
    pseudo_count: float = 1.0
    about: About = field(kw_only=True, default=About())
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=dict)

    def __post_init__(self) -> None:
        require(self.pseudo_count > 0, "pseudo_count", "> 0", self.pseudo_count)

    def network(self, network: nn.Module, n_annotators: int, n_classes: int) -> nn.Module:
        """See `Method.network`."""
        make = ClassificationHeads if n_classes else RegressionHeads
        return make(network, n_annotators, n_classes, weighted=self.weighted)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """See `Method.kinds`."""
        return ("classes", "numbers")

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `Method.learner`."""
        ann = problem.annotations
        assert isinstance(network, ClassificationHeads | RegressionHeads), "made by `network`"
        network.exclude(np.flatnonzero(ann.labels_per_annotator == 0).tolist())
        sparse = settings.sparse
        if sparse is None:  # several processes cannot add up sparse gradients everywhere
            sparse = network.heads.weight.numel() > _LARGE_HEADS and settings.devices == 1
        network.heads.sparse = sparse
        pseudo_count = self.pseudo_count if self.weighted else None
        if isinstance(network, RegressionHeads):
            layer = started(RegressionLayer(ann.n_annotators), ann, consensus=False)
            return RegressionHeadsModule(network, layer, label_means(ann), pseudo_count)
        profile = SpeeLFC(ann.n_annotators, ann.n_classes)
        return AnnotatorHeadsModule(network, profile, label_shares(ann), pseudo_count)
