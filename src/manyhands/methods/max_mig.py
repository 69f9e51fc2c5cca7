"""Max-MIG: what an item looks like and what was said of it are to tell the same thing."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.aggregation import Majority, estimate_confusions
from manyhands.core.errors import SettingError
from manyhands.core.settings import require_choice
from manyhands.engine.batches import CrowdBatch, CrowdData
from manyhands.engine.classification import ClassificationModule
from manyhands.engine.settings import TrainingSettings
from manyhands.methods.base import About, Method, Paper, Problem
from manyhands.methods.em import log_classes
from manyhands.methods.end_to_end import FAST, PRIOR, EndToEnd
from manyhands.noise import AnnotationBatch, NoiseModel, SpeeLFC

PRIORS = ("shares", "learnt", "uniform")
WEIGHTS = ("confusions", "free")
_RAISED = 0.01  # added to confusions whose logarithms free weights start at
_TAKEN = {"prior_precision"}  # settings of the confusions; those of their start would go unheard


@dataclass(frozen=True)
class MaxMIG(EndToEnd):
    """Train a network f(x) and an aggregator g(y) of labels to share all the information they can.

    g_k(y) = softmax_k(log p_k + sum_n W_a[k, y_n]) over the labels of an item; over the items of a
    batch, with R_ij = sum_k f_k(x_i) g_k(y_j) / p_k,

        loss = -mean_i log R_ii + mean_(i != j) R_ij

    On average 1 - loss is at most the mutual information of items and labels, reached where
    R is P(y | x) / P(y), that is where f and g are posteriors and p is the prior of the classes.

    The weights are confusions, W_a = log C_a with rows that sum to 1. Near the solution that is no
    restriction: adding t_a[l] to a column of W_a changes no g, so that the heights of columns can
    make up for those of rows. And as f_k g_k / p_k ~ f_k prod_n C_a[k, y_n], what network and
    labels say together is the product of both sides, and sum_k f_k C_a[k, l] is what a person will
    say.

    The loss looks at g only, not at how often a label is said. Free weights could therefore have
    columns of any height, and no confusion could be read off. Rows that sum to 1 leave open what
    annotators who label the same items can trade among them, C_a[k, l] u_a[l] / r_a[k] with
    prod_a r_a[k] equal for all k: nothing where the sets of annotators differ enough, but K - 1
    numbers for all but one of them where the same annotators label every item. There the
    initialisation and the prior around it decide. f and g do not depend on it, profiles do:
    `speelfc` estimates them better.

    `prior` is p. "shares" are those of the classes among the labels, every item counting once.
    "learnt" is the mean of the network's probabilities over the items, which for given f and W is
    the best p there is, renewed before every epoch; it leaves more open, so that two labels per
    item may not tell f from a mixture of its classes. "uniform" is 1 / K.

    `weights="free"` drops that restriction, as the source does: W_a are any numbers, which start at
    log(C_a + 0.01) of the majority's confusions. Profiles are then estimated at the end, against
    what network and labels say together.

    `init="own"` starts from the confusions against the majority, "consensus" and "auto" as in
    `EndToEnd`. Every item counts once, whatever the number of its labels, and the prior is that
    of `SpeeLFC`, per item. A batch of one item has no pairs, hence no second term: give it more.

    Source: Cao et al. 2019 (Max-MIG), the form for the KL divergence. The authors' code has free
    weights and a uniform prior.
    """

    takes_item_weights = takes_more_labels = False  # a loss of its own
    takes_transitions = takes_label_smoothing = False
    noise: str = field(init=False, default="speelfc")
    prior: Literal["shares", "learnt", "uniform"] = field(kw_only=True, default="shares")
    weights: Literal["confusions", "free"] = field(kw_only=True, default="confusions")

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("prior", self.prior, PRIORS)
        require_choice("weights", self.weights, WEIGHTS)
        for name in set(self.settings) - _TAKEN:
            known = ", ".join(sorted(_TAKEN))
            raise SettingError(
                f"the noise model of Max-MIG has no setting {name!r}; known: {known}"
            )

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> ClassificationModule:
        """See `NetworkMethod.make_module`."""
        made = super().make_module(network, problem, settings)
        share_ik = made.targets[torch.from_numpy(problem.annotations.labels_per_item > 0)]
        prior_k = smoothed_mean(torch.ones_like(share_ik) if self.prior == "uniform" else share_ik)
        free = self.weights == "free"
        return MaxMIGModule(made, prior_k, renewed=self.prior == "learnt", free=free)

    def _layer(self, problem: Problem, sparse: bool) -> NoiseModel:
        ann = problem.annotations
        shares_ik = Majority().fit(ann).probabilities
        assert shares_ik is not None, "labels are classes here"
        layer: Any = super()._layer(problem, sparse)
        first_akl = estimate_confusions(ann, shares_ik)
        layer.init_from_confusions(first_akl)
        if self.weights == "free":
            layer.table.restart(torch.from_numpy(np.log(first_akl + _RAISED)))
        made: NoiseModel = layer
        return made


class MaxMIGModule(ClassificationModule):
    """A network and confusions, of which each learns from the other; p is the class prior."""

    prior: Tensor

    def __init__(
        self, made: ClassificationModule, prior_k: Tensor, *, renewed: bool, free: bool = False
    ) -> None:
        super().__init__(made.network, made.noise, made.targets)
        # A checkpoint need not hold it: where it changes, an epoch begins by making it.
        self.register_buffer("prior", prior_k, persistent=False)
        self.renewed, self.free = renewed, free

    def on_epoch_start(self, crowd: CrowdData, number: int) -> None:
        """See `CrowdModule.on_epoch_start`."""
        if self.renewed:
            class_ik = torch.from_numpy(np.exp(log_classes(self.network, crowd)))
            self.prior.copy_(smoothed_mean(class_ik))

    def _loss(self, logits: Tensor, batch: CrowdBatch, warm_up_epoch: bool) -> Tensor:
        if warm_up_epoch:
            return super()._loss(logits, batch, warm_up_epoch)
        assert isinstance(self.noise, SpeeLFC), "its table holds the confusions"
        given = batch.annotations
        log_said_bk = label_log_prob(self.noise, given, len(logits), free=self.free)
        log_class_bk = logits.log_softmax(dim=-1)
        penalty = self.noise.penalty(given.annotator)  # per label, the loss per item
        penalty = penalty * (len(given) * batch.item_weight / max(len(logits), 1))
        if given.share is None:
            return information_loss(log_class_bk, log_said_bk, self.prior.log()) + penalty
        gather = given.share.gather  # pairs are those of the items of all processes
        loss = information_loss(gather(log_class_bk), gather(log_said_bk), self.prior.log())
        return loss * gather(loss.new_tensor([batch.item_weight])).mean() + penalty

    @torch.no_grad()
    def profile_annotators(self, crowd: CrowdData) -> None:
        """See `CrowdModule.profile_annotators`; of free weights no confusion can be read off."""
        if self.free:
            noise: Any = self.noise
            log_class_ik = torch.from_numpy(log_classes(self.network, crowd))
            said = [
                label_log_prob(noise, batch.annotations, len(batch.items), free=True).cpu()
                for batch in crowd.evaluated(crowd.labelled)
            ]
            posterior_ik = (log_class_ik + torch.cat(said).double()).softmax(dim=-1).numpy()
            ann = crowd.annotations[crowd.labelled]
            self.noise.init_from_confusions(estimate_confusions(ann, posterior_ik))
        super().profile_annotators(crowd)


def information_loss(log_class_bk: Tensor, log_said_bk: Tensor, log_prior_k: Tensor) -> Tensor:
    """-mean_i log R_ii + mean_(i != j) R_ij, the lower the more two sides know of each other.

    R_ij = sum_k f_ik w_jk with w_jk = g_jk / p_k = s_jk / sum_c p_c s_jc, where s_jk is the
    probability of what was said of item j if its class is k. Unlike R_ii, which stands under a
    logarithm, R_ij may well vanish; it is at most 1 / min_k p_k.
    """
    log_all_b1 = torch.logsumexp(log_prior_k + log_said_bk, dim=-1, keepdim=True)
    log_weight_bk = log_said_bk - log_all_b1
    log_own_b = torch.logsumexp(log_class_bk + log_weight_bk, dim=-1)
    n_items = len(log_own_b)
    if n_items == 0:
        return log_own_b.sum()
    if n_items == 1:
        return -log_own_b.mean()
    ratio_bb = log_class_bk.exp() @ log_weight_bk.exp().T
    others = ratio_bb.sum() - ratio_bb.diagonal().sum()
    return others / (n_items * (n_items - 1)) - log_own_b.mean()


def label_log_prob(
    noise: SpeeLFC, batch: AnnotationBatch, n_items: int, *, free: bool = False
) -> Tensor:
    """Log prod_n C_a[k, y_n] over the labels of every item, shape (b, k).

    With `free` weights it is sum_n W_a[k, y_n], and rows of exp(W_a) need not sum to 1.
    """
    log_confusion_nkl = noise.table(batch.annotator)
    if not free:
        log_confusion_nkl = log_confusion_nkl.log_softmax(dim=-1)
    label_nk1 = batch.label.reshape(-1, 1, 1).expand(-1, noise.n_classes, 1)
    log_said_nk = log_confusion_nkl.gather(2, label_nk1).squeeze(2)
    nothing_bk: Tensor = log_said_nk.new_zeros(n_items, noise.n_classes)
    return nothing_bk.index_add(0, batch.row, log_said_nk)


def smoothed_mean(class_ik: Tensor) -> Tensor:
    """The mean distribution over classes, with one more of each class, so that none is at zero."""
    total_k = class_ik.double().sum(dim=0) + 1.0
    return (total_k / total_k.sum()).float()


ROWS: dict[str, Method] = {
    "max-mig": MaxMIG(
        PRIOR,
        "auto",
        defaults=FAST,
        paper=Paper(
            preset="p3/labelme",
            model={"settings": {}, "init": "own", "weights": "free", "prior": "uniform"},
            note="The class prior is not stated; that of the public code.",
        ),
        about=About(
            source="Cao et al. 2019 (Max-MIG)",
            equation="-log R_ii + R_ij, R_ij = sum_k f_k(x_i) prod_n C_a[k, y_jn] / P(y_j)",
            cost="a plain epoch + K x K per label + K per pair of items in a batch",
            when="the classes matter more than the profiles of annotators",
        ),
    ),
}
