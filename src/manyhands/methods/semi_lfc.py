"""Learning from labelled items and from those nobody labelled, by a model of the features."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.engine.batches import EVALUATION_BATCH, CrowdBatch, CrowdData
from manyhands.engine.classification import ClassificationModule
from manyhands.engine.settings import TrainingSettings
from manyhands.methods.base import About, Method, Paper, Problem
from manyhands.methods.end_to_end import FAST, PRIOR, EndToEnd
from manyhands.methods.max_mig import label_log_prob, smoothed_mean
from manyhands.networks.autoencoder import ClassAutoencoder, require_autoencoder
from manyhands.networks.sizes import require_size
from manyhands.noise import SpeeLFC


@dataclass(frozen=True)
class SemiLFC(EndToEnd):
    """A deep generative model of items and labels, in which items without labels count too.

    A class t makes the features with a code z, and what annotators say: p(t) p(z) p(x | t, z)
    prod_n C_a[t, y_n]. The network is q(t | x), which predicts; with q(z | x, t) it bounds the
    evidence of an item,

        log p(x, y) >= sum_k q_k [log p_k - log q_k + sum_n log C_a[k, y_n] + b_k(x)]

    where b_k bounds log p(x | k) (`ClassAutoencoder`). The sum over classes is exact; z is one
    sample. Of an item without labels the bound is the same without the third term. The loss is
    minus the bounds of all items, divided by the number of labelled ones.

    `label_weight` multiplies the third term; with 1 the sum is a bound. M2 of Kingma et al. 2014
    adds a classification loss with a weight of its own, because the bound of an item with a known
    class leaves q(t | x) out. Here the class stays hidden, q stands in the bounds of all items,
    and the labels teach it without that.

    `beside` is the most unlabelled items that a step looks at for every labelled one: up to there
    an epoch sees all of them, beyond it a random part. Either way they count for all of them.
    p(t) are the shares of the classes among the labels, every item counting once. `n_codes`,
    `hidden` and `variance` are those of `ClassAutoencoder`. Features are to be real numbers.

    Source: Atarashi, Oyama and Kurihara 2018, after M2 in Kingma et al. 2014.
    """

    takes_item_weights = takes_more_labels = False  # a loss of its own
    takes_transitions = takes_label_smoothing = False
    tasks = ("classification",)  # for tagging it would have to model the words
    models_features = True

    noise: str = field(init=False, default="speelfc")
    label_weight: float = field(kw_only=True, default=1.0)
    beside: int = field(kw_only=True, default=8)
    n_codes: int = field(kw_only=True, default=32)
    hidden: Sequence[int] = field(kw_only=True, default=(128,))
    variance: float | None = field(kw_only=True, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        weight = self.label_weight
        require(0 < weight < math.inf, "label_weight", "> 0", weight)
        require_size("beside", self.beside)
        require_autoencoder(self.n_codes, self.hidden, self.variance)

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> ClassificationModule:
        """See `NetworkMethod.make_module`."""
        return SemiLFCModule(super().make_module(network, problem, settings), problem, self)


class Unlabelled:
    """The items that nobody labelled, a few at a time, in an order drawn from torch's seed."""

    def __init__(self, crowd: CrowdData) -> None:
        self.inputs = crowd.inputs
        lacking = torch.from_numpy(np.flatnonzero(crowd.annotations.labels_per_item == 0))
        self.order = lacking[torch.randperm(len(lacking))].to(crowd.device)
        self.per_labelled = len(lacking) / max(len(crowd.labelled), 1)
        self.place = 0

    def take(self, n_items: int) -> Tensor:
        """The inputs of the next items; after the last comes the first again."""
        places = torch.arange(self.place, self.place + n_items, device=self.order.device)
        self.place += n_items
        return self.inputs.rows(self.order[places % len(self.order)])


class SemiLFCModule(ClassificationModule):
    """A network q(t | x) with confusions and a generative model of the features."""

    log_prior: Tensor

    def __init__(self, made: ClassificationModule, problem: Problem, method: SemiLFC) -> None:
        super().__init__(made.network, made.noise, made.targets)
        self.autoencoder = ClassAutoencoder(
            problem.n_features,
            problem.annotations.n_classes,
            n_codes=method.n_codes,
            hidden=method.hidden,
            variance=method.variance,
        )
        labelled = torch.from_numpy(problem.annotations.labels_per_item > 0)
        log_prior_k = smoothed_mean(made.targets[labelled]).log()
        self.register_buffer("log_prior", log_prior_k, persistent=False)
        self.label_weight, self.beside = method.label_weight, method.beside
        self.unlabelled: Unlabelled | None = None

    def on_epoch_start(self, crowd: CrowdData, number: int) -> None:
        """See `CrowdModule.on_epoch_start`."""
        if number == 0:
            every = math.ceil(len(crowd.inputs) / EVALUATION_BATCH)
            some = torch.arange(0, len(crowd.inputs), every, device=crowd.device)
            self.autoencoder.init_from_features(_numbers(crowd.inputs.rows(some)))
        self.unlabelled = Unlabelled(crowd)

    def forward(self, batch: CrowdBatch, warm_up_epoch: bool = False) -> Tensor:
        """The loss of a batch and of unlabelled items beside it."""
        n_items = len(batch.items)
        if warm_up_epoch or n_items == 0:
            return super().forward(batch, warm_up_epoch)
        inputs_b, n_others = batch.inputs, self._n_beside(n_items)
        if n_others and self.unlabelled is not None:
            inputs_b = torch.cat([inputs_b, self.unlabelled.take(n_others)])
        logits: Tensor = self.network(inputs_b).float()
        with torch.autocast(logits.device.type, enabled=False):
            features_b = _numbers(inputs_b)
            noise_bz = torch.randn(len(logits), self.autoencoder.n_codes, device=logits.device)
            return self._whole_loss(logits, features_b, noise_bz, batch)

    def bounds(
        self, logits: Tensor, features_b: Tensor, noise_bz: Tensor, said_bk: Tensor
    ) -> Tensor:
        """The bound of every item, (b,); `said_bk` is what its labels tell, 0 without any."""
        log_class_bk = logits.log_softmax(dim=-1)
        each_bk = self.log_prior - log_class_bk + self.autoencoder(features_b, noise_bz) + said_bk
        bound_b: Tensor = (log_class_bk.exp() * each_bk).sum(dim=-1)
        return bound_b

    def _whole_loss(
        self, logits: Tensor, features_b: Tensor, noise_bz: Tensor, batch: CrowdBatch
    ) -> Tensor:
        """Minus the bounds and the log-prior of the confusions, per labelled item."""
        assert isinstance(self.noise, SpeeLFC), "its table holds the confusions"
        given, n_items = batch.annotations, len(batch.items)
        said_bk = self.label_weight * label_log_prob(self.noise, given, len(logits))
        bound_b = self.bounds(logits, features_b, noise_bz, said_bk)
        bound = bound_b[:n_items].mean()
        if self.unlabelled is not None and len(logits) > n_items:
            bound = bound + self.unlabelled.per_labelled * bound_b[n_items:].mean()
        penalty = self.noise.penalty(given.annotator) * (len(given) / n_items)
        return (penalty - bound) * batch.item_weight

    def _n_beside(self, n_items: int) -> int:
        if self.unlabelled is None:
            return 0
        return math.ceil(n_items * min(self.unlabelled.per_labelled, self.beside))


def _numbers(inputs_b: Tensor) -> Tensor:
    """Inputs that are real numbers as such, in 32 bits; codes are refused."""
    if not inputs_b.is_floating_point():
        raise DataError(
            "semi-lfc models the features, which must be real numbers; these are whole ones that "
            "the network looks up: use another method"
        )
    return inputs_b.float()


ROWS: dict[str, Method] = {
    "semi-lfc": SemiLFC(
        PRIOR,
        "auto",
        defaults=FAST,
        paper=Paper(preset="p1/sentiment", model={"settings": {}, "init": "own"}),
        about=About(
            source="Atarashi, Oyama and Kurihara 2018; M2 of Kingma et al. 2014",
            equation="E log [p(t, z) p(x | t, z) prod_n C_a[t, y_n] / q(z | x, t) f_t], t ~ f",
            cost="a plain epoch + K passes of an encoder and a decoder, unlabelled items too",
            when="many items nobody labelled, and classes that show in the features",
        ),
    ),
}
