"""Doctor nets for numbers: learn what everybody would say, then average them."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from manyhands.aggregation.sums import annotator_sums
from manyhands.core.arrays import Floats
from manyhands.engine.batches import CrowdBatch, CrowdData
from manyhands.engine.crowd_module import EVALUATION_BATCH
from manyhands.engine.regression_module import RegressionModule
from manyhands.networks import RegressionHeads
from manyhands.noise import RegressionLayer


class RegressionHeadsModule(RegressionModule):
    """A network with a head per annotator, each trained on the labels of its annotator.

    loss = mean_n (y_n - mu_a(x))^2 / 2, the heads of the annotators of a batch only

    While the network warms up, a head sees the mean labels of its annotator's items. Epochs are
    judged by the heads. With a `pseudo_count`, the average is shifted at the end (`mean_shift`).
    """

    def __init__(
        self,
        network: RegressionHeads,
        noise: RegressionLayer,
        targets: Tensor,
        pseudo_count: float | None,
    ) -> None:
        super().__init__(network, noise, targets, on_targets=True)
        self.pseudo_count = pseudo_count

    @property
    def doctors(self) -> RegressionHeads:
        """The network, as what it is here."""
        assert isinstance(self.network, RegressionHeads), "made of one"
        return self.network

    def forward(self, batch: CrowdBatch, warming_up: bool = False) -> Tensor:
        """The loss of a batch; in half precision, if any, only the trunk computes."""
        given = batch.annotations
        features_bh = self.doctors.features(batch.inputs)
        with torch.autocast(features_bh.device.type, enabled=False):
            mean_n = self.doctors.predict_labels(features_bh, given.row, given.annotator)
            if len(given) == 0:  # a step of fewer items than processes
                return mean_n.sum()
            said_n = given.label
            if warming_up:
                said_n = self.targets[batch.items][given.row].squeeze(1)
            return (said_n - mean_n).square().mean() / 2 * batch.label_weight

    def label_log_prob(self, batch: CrowdBatch) -> Tensor:
        """See `CrowdModule.log_said`; a head says what its annotator would, so nobody is biased."""
        given = batch.annotations
        mean_n = self.doctors.predict_labels(
            self.doctors.features(batch.inputs), given.row, given.annotator
        )
        by_itself = replace(given, row=torch.arange(len(given), device=given.row.device))
        return self.noise.label_log_prob(mean_n, by_itself)

    def best_shift(self, crowd: CrowdData, value_i: Floats) -> float:
        """None: every head has a level of its own."""
        return 0.0

    @torch.no_grad()
    def profile_annotators(self, crowd: CrowdData) -> None:
        """Learn the shift of the average, if any; then everybody's portrait beside it."""
        self.eval()
        if self.pseudo_count is not None:
            self.doctors.set_shift(mean_shift(self.doctors, crowd, self.pseudo_count))
        super().profile_annotators(crowd)


@torch.no_grad()
def mean_shift(network: RegressionHeads, crowd: CrowdData, pseudo_count: float) -> float:
    """The mean of the biases that heads get where each label is foretold by all other heads.

    ::

        minimise over c   sum_n [y_n - mean_{a != a_n} (mu_a(x_n) + c_a)]^2

    Heads stay as they are. In terms of d_a, the mean bias of all heads but a's, it falls apart:
    d_a is how far the labels of a lie above what the other heads say, on average. It is drawn to
    that of all labels by `pseudo_count` labels. The mean of the biases is the mean of the d_a, and
    as predictions average all heads, it is all they do there.

    Source: Rodrigues and Pereira 2018 tried a weight, a bias and both for every annotator in
    combining the heads of Guan et al. 2018, and found the bias best; they do not say against what
    it was learnt. Here no head is judged by the labels that it was trained on.
    """
    ann = crowd.annotations
    counts_a = ann.labels_per_annotator
    n_heads = int((counts_a > 0).sum())
    if n_heads == 1:
        return 0.0
    parts = []
    for batch in crowd.batches(crowd.labelled, EVALUATION_BATCH):
        given = batch.annotations
        features_bh = network.features(batch.inputs)
        own_n = network.predict_labels(features_bh, given.row, given.annotator)
        all_n = (network.average(features_bh).squeeze(1) - network.shift)[given.row]
        parts.append(given.label - (n_heads * all_n - own_n) / (n_heads - 1))
    off_n = torch.cat(parts).cpu().double().numpy()  # labels stand by item, as in the batches
    drawn_a = annotator_sums(ann, off_n) + pseudo_count * off_n.mean()
    above_a = drawn_a / (counts_a + pseudo_count)
    return float(np.mean(above_a[counts_a > 0]))
