"""Doctor nets: a head per annotator learns what that annotator says, then heads are averaged."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.aggregation import estimate_confusions
from manyhands.aggregation.em import EMRun, run_em
from manyhands.aggregation.sums import annotator_sums
from manyhands.core.arrays import Floats
from manyhands.core.settings import require
from manyhands.engine.batches import EVALUATION_BATCH, CrowdBatch, CrowdData
from manyhands.engine.classification import ClassificationModule
from manyhands.engine.regression import RegressionModule, init_regression_layer
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.task import CrowdModule, Task
from manyhands.methods.base import About, Method, NetworkMaker, Paper, Problem
from manyhands.methods.em import log_classes
from manyhands.methods.end_to_end import NO_WARM_UP, uses_sparse
from manyhands.methods.network_method import NetworkMethod
from manyhands.networks import ClassificationHeads, RegressionHeads
from manyhands.networks.annotator_heads import AnnotatorHeads
from manyhands.noise import NoiseModel, RegressionLayer, SpeeLFC

_LARGE_HEADS = 300_000  # parameters of all heads from which a dense optimiser step is felt
_MAX_CELLS = 1 << 24  # probabilities of labels under all heads held at a time: 64 MiB
_MAX_ITER, _TOL = 30, 1e-5  # of the EM of the weights; the gain per label to go on


class HeadsModule(CrowdModule):
    """A network with one head per annotator, each trained on the labels of its annotator.

    A step takes the heads of the annotators of its batch only. During the warm-up a head learns the
    targets of its annotator's items in place of the labels. What the average of the heads needs is
    learnt once at the end, unless `pseudo_count` is None.
    """

    network: AnnotatorHeads

    def __init__(
        self, network: nn.Module, noise: Any, targets: Tensor, pseudo_count: float | None
    ) -> None:
        super().__init__(network, noise, targets, on_targets=True)
        self.pseudo_count = pseudo_count

    def forward(self, batch: CrowdBatch, warm_up_epoch: bool = False) -> Tensor:
        """See `CrowdModule.forward`; with mixed precision only the trunk is in half precision."""
        given = batch.annotations
        features_bh = self.network.features(batch.inputs)
        with torch.autocast(features_bh.device.type, enabled=False):
            predicted_n = self.network.predict_labels(features_bh, given.row, given.annotator)
            if len(given) == 0:  # a step of fewer items than processes
                return predicted_n.sum()
            return self._loss(predicted_n, batch, warm_up_epoch) * batch.label_weight


class ClassificationHeadsModule(HeadsModule, ClassificationModule):
    """Heads of class logits: loss = -mean_n log p_a(y_n | x).

    Epochs are validated by the heads themselves and, where class probabilities matter, by their
    equal average: the weights are learnt at the end, which takes as long as some epochs.
    """

    network: ClassificationHeads
    noise: NoiseModel

    def _loss(self, outputs: Tensor, batch: CrowdBatch, warm_up_epoch: bool) -> Tensor:
        given = batch.annotations
        if warm_up_epoch:
            said_n = (self.targets[batch.items][given.row] * outputs).sum(dim=-1)
        else:
            said_n = outputs.gather(1, given.label.unsqueeze(1)).squeeze(1)
        return -said_n.mean()

    @torch.no_grad()
    def profile_annotators(self, crowd: CrowdData) -> None:
        """Learn the weights of the heads, if any; then estimate confusions against the average."""
        self.eval()
        if self.pseudo_count is not None:
            run = averaging_weights(self.network, crowd, pseudo_count=self.pseudo_count)
            self.network.set_weights(run.state)
        posterior_ik = np.exp(log_classes(self.network, crowd))
        self.noise.init_from_confusions(
            estimate_confusions(crowd.annotations[crowd.labelled], posterior_ik)
        )

    def predict_labels(self, batch: CrowdBatch) -> tuple[Tensor, Tensor]:
        """See `ClassificationModule.predict_labels`; a head predicts its own annotator."""
        given = batch.annotations
        features_bh = self.network.features(batch.inputs)
        log_label_nl = self.network.predict_labels(features_bh, given.row, given.annotator)
        return self.network.average(features_bh), log_label_nl


@torch.no_grad()
def averaging_weights(
    network: ClassificationHeads, crowd: CrowdData, *, pseudo_count: float = 1.0
) -> EMRun[Tensor]:
    """Log-weights log w_a with which the heads predict each other's labels best.

    ::

        maximise sum_n log [sum_{a != a_n} w_a p_a(y_n | x_n) / (1 - w_{a_n})] + c sum_a log w_a

    Heads are not changed. A head is not validated on a label it was trained on: the label is
    predicted by the average of all other heads. c is the `pseudo_count`, a number of labels that
    every head is taken to have predicted beforehand.

    Solved by EM from equal weights. A label comes from head a with probability r_na, in proportion
    to w_a p_a(y_n | x_n), and never from its own; drawing until another is drawn takes
    w_a / (1 - w_a) draws of its own head on the way, so that
    w_a ~ sum_n r_na + n_a w_a / (1 - w_a) + c. The objective per label never falls. As labels are
    the measure, not truth, annotators who make the same mistakes predict each other: an annotator
    who disagrees with all others loses weight.

    Source: Guan et al. 2018, where averaging logits are learnt by gradient against the labels of
    an item. Public code leaves out the heads of all who labelled the item, which cannot be done
    where everybody labels everything.
    """
    network.eval()
    counts_a = crowd.annotations.labels_per_annotator
    labels_a = torch.from_numpy(counts_a).to(crowd.device, torch.float64)
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

    max_iter = _MAX_ITER if int((labels_a > 0).sum()) > 1 else 0  # there must be other heads
    return run_em(log_start_a, step, max_iter=max_iter, tol=_TOL)


def _taken(
    network: ClassificationHeads, crowd: CrowdData, log_weight_a: Tensor
) -> tuple[Tensor, Tensor]:
    """How many labels come from each head other than their own, and the sum of their logs."""
    taken_a, log_said = torch.zeros_like(log_weight_a), log_weight_a.new_zeros(())
    most = int(crowd.annotations.labels_per_item.max())
    at_once = min(EVALUATION_BATCH, max(_MAX_CELLS // (most * len(log_weight_a)), 1))
    for batch in crowd.evaluated_here(crowd.labelled, at_once):
        given = batch.annotations
        features_bh = network.features(batch.inputs)
        log_na = network.label_log_prob_by_head(features_bh, given.row, given.label)
        log_na = log_na + log_weight_a.float()
        log_na.scatter_(1, given.annotator.unsqueeze(1), -torch.inf)
        log_n = log_na.logsumexp(dim=1)
        taken_a += (log_na - log_n.unsqueeze(1)).exp().sum(dim=0, dtype=torch.float64)
        log_said += log_n.sum(dtype=torch.float64)
    return crowd.processes.sum(taken_a), crowd.processes.sum(log_said)


class RegressionHeadsModule(HeadsModule, RegressionModule):
    """Heads of numbers: loss = mean_n (y_n - mu_a(x))^2 / 2.

    Epochs are validated by the heads. At the end the average is shifted (`mean_shift`).
    """

    network: RegressionHeads
    noise: RegressionLayer

    def _loss(self, outputs: Tensor, batch: CrowdBatch, warm_up_epoch: bool) -> Tensor:
        said_n = batch.annotations.label
        if warm_up_epoch:
            said_n = self.targets[batch.items][batch.annotations.row].squeeze(1)
        return (said_n - outputs).square().mean() / 2

    def label_log_prob(self, batch: CrowdBatch) -> Tensor:
        """See `CrowdModule.label_log_prob`; a head predicts its annotator, who has no bias then."""
        given = batch.annotations
        mean_n = self.network.predict_labels(
            self.network.features(batch.inputs), given.row, given.annotator
        )
        by_itself = replace(given, row=torch.arange(len(given), device=given.row.device))
        return self.noise.label_log_prob(mean_n, by_itself)

    def best_shift(self, crowd: CrowdData, value_i: Floats) -> float:
        """No shift: every head has its own intercept."""
        return 0.0

    @torch.no_grad()
    def profile_annotators(self, crowd: CrowdData) -> None:
        """Learn the shift of the average, if any; then profile the annotators."""
        self.eval()
        if self.pseudo_count is not None:
            self.network.set_shift(mean_shift(self.network, crowd, self.pseudo_count))
        super().profile_annotators(crowd)


@torch.no_grad()
def mean_shift(network: RegressionHeads, crowd: CrowdData, pseudo_count: float) -> float:
    """The mean bias of the heads where each label is predicted by all other heads.

    ::

        minimise over c   sum_n [y_n - mean_{a != a_n} (mu_a(x_n) + c_a)]^2

    Heads are not changed. The problem separates in d_a, the mean bias of all heads but a's: d_a is
    the mean difference between the labels of a and the predictions of the other heads. It is shrunk
    towards that of all labels by `pseudo_count` labels. The mean of the biases is the mean of the
    d_a, and predictions, which average all heads, depend on nothing else.

    Source: Rodrigues and Pereira 2018 tried a weight, a bias and both for every annotator in
    combining the heads of Guan et al. 2018, and found the bias best; they do not say against what
    it was learnt. Here no head is validated on the labels that it was trained on.
    """
    ann = crowd.annotations
    counts_a = ann.labels_per_annotator
    n_heads = int((counts_a > 0).sum())
    if n_heads == 1:
        return 0.0

    def off(batch: CrowdBatch) -> tuple[Tensor]:
        given = batch.annotations
        features_bh = network.features(batch.inputs)
        own_n = network.predict_labels(features_bh, given.row, given.annotator)
        all_n = (network.average(features_bh).squeeze(1) - network.shift)[given.row]
        return (given.label - (n_heads * all_n - own_n) / (n_heads - 1),)

    (found_n,) = crowd.collect(off, crowd.labelled)
    off_n = found_n.cpu().double().numpy()  # labels are sorted by item, as in the batches
    drawn_a = annotator_sums(ann, off_n) + pseudo_count * off_n.mean()
    above_a = drawn_a / (counts_a + pseudo_count)
    return float(np.mean(above_a[counts_a > 0]))


@dataclass(frozen=True)
class DoctorNet(NetworkMethod):
    """One head per annotator in place of the network's last linear layer (`ClassificationHeads`).

    With `weighted`, heads are averaged with weights that are learnt once the heads are trained,
    with `pseudo_count` labels as the prior of every head (`averaging_weights`).
    """

    tasks = ("classification", "regression", "tagging")
    replaces_output = True
    weighted: bool = False
    pseudo_count: float = 1.0

    def __post_init__(self) -> None:
        require(self.pseudo_count > 0, "pseudo_count", "> 0", self.pseudo_count)

    def network(self, network: nn.Module, n_annotators: int, n_classes: int) -> nn.Module:
        """See `NetworkMethod.network`."""
        return _heads(network, n_annotators, n_classes, weighted=self.weighted)

    def restore_settings(self, network: nn.Module) -> dict[str, Any]:
        """See `Method.restore_settings`."""
        heads: Any = network
        return dict(heads.settings)

    @classmethod
    def restore_network(
        cls, make: NetworkMaker, settings: Mapping[str, Any], n_annotators: int, n_classes: int
    ) -> nn.Module:
        """See `Method.restore_network`."""
        return _heads(make(), n_annotators, n_classes, **settings)

    @classmethod
    def fitted_module(cls, task: Task, network: nn.Module, noise: Any) -> CrowdModule:
        """See `Method.fitted_module`; of classes a head predicts the labels of its annotator."""
        if task.kind == "numbers":
            return super().fitted_module(task, network, noise)
        heads: Any = network
        return ClassificationHeadsModule(heads, noise, torch.zeros(0), None)

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `NetworkMethod.make_module`."""
        ann = problem.annotations
        heads: Any = network  # made by `network`
        heads.exclude(np.flatnonzero(ann.labels_per_annotator == 0).tolist())
        heads.heads.sparse = uses_sparse(settings, heads.heads.weight.numel() > _LARGE_HEADS)
        targets, pseudo_count = problem.task.targets(ann), self.pseudo_count
        weights = pseudo_count if self.weighted else None
        if problem.task.kind == "numbers":
            layer = init_regression_layer(RegressionLayer(ann.n_annotators), ann, consensus=False)
            return RegressionHeadsModule(heads, layer, targets, weights)
        noise = SpeeLFC(ann.n_annotators, ann.n_classes)
        return ClassificationHeadsModule(heads, noise, targets, weights)


def _heads(network: nn.Module, n_annotators: int, n_classes: int, **settings: Any) -> nn.Module:
    make = ClassificationHeads if n_classes else RegressionHeads
    return make(network, n_annotators, n_classes, **settings)


# A head per annotator learns that annotator's labels: classes cannot be interchanged.
ROWS: dict[str, Method] = {
    "doctor-net": DoctorNet(
        defaults=NO_WARM_UP,
        paper=Paper(preset="p0/labelme", model={"refit_intercept": False}),
        about=About(
            source="Guan et al. 2018, DL-DN in Rodrigues and Pereira 2018",
            equation="P(y | a, x) = softmax(W_a h(x) + b_a); f = mean_a P(. | a, x)",
            cost="a plain epoch + K x h per label; a prediction takes all heads",
            when="many labels per annotator, mistakes that depend on what is to be seen",
        ),
    ),
    "weighted-doctor-net": DoctorNet(
        weighted=True,
        defaults=NO_WARM_UP,
        paper=Paper(preset="p0/labelme", model={"refit_intercept": False}),
        about=About(
            source="Guan et al. 2018, DL-WDN in Rodrigues and Pereira 2018",
            equation="doctor-net with f = sum_a w_a P(. | a, x), heads fixed, then w by EM",
            cost="doctor-net + up to 30 passes of all heads at the end",
            when="as doctor-net, where some annotators should not count",
        ),
    ),
}
