"""COINNet: confusions of annotators, and single labels that no confusion explains."""

import math
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import require
from manyhands.engine.batches import CrowdBatch, CrowdData
from manyhands.engine.classification import ClassificationModule
from manyhands.engine.settings import TrainingSettings
from manyhands.methods.base import About, Method, Paper, Problem
from manyhands.methods.end_to_end import FAST, PRIOR, EndToEnd

_SMOOTHING = 1e-6  # added to squared norms: the gradient of a root at 0 is not finite
_PRICES = np.geomspace(1e3, 1e-3, 49)  # multipliers of squared norms that the search begins from
_STEPS = 10  # from the best of them
_ALMOST = 1.0 - 1e-9  # probabilities of labels beyond it leave nothing to explain


@dataclass(frozen=True)
class COINNet(EndToEnd):
    """Train the network through confusions C_a and an outlier e_n of every label.

    With q_n = sum_k f_k(x_i) C_a[k, :], the distribution of label n by the confusion of its
    annotator, the distribution of the label is q_n + e_n, and

        loss = -1/N sum_n log (q_n + e_n)[y_n] + strength / N sum_i (sum_n ||e_n||^2)^(power / 2)
               - volume log det(F'F / b)

    over the N labels of a batch; the inner sum is over the labels of item i. Outliers are free, so
    a power below 1 makes them sparse: an item either follows the confusions or does not, and then
    teaches little. The last term is that of `GeoCrowdNet`: among the confusions and classes that
    explain the labels it prefers classes that span a large volume.

    e_n has a sum of 0 and leaves q_n + e_n a distribution. The likelihood sees it at y_n only; here
    it points there, e_n = s_n (1[y_n] - q_n) with 0 <= s_n <= 1. Before every epoch s is set to the
    minimum of the loss for the network and confusions as they are (`find_outliers`); the epoch
    then minimises the same loss by gradient.

    `strength` is in nats: the larger, the less probable the labels of an outlier must be. With
    `strength=inf` there are none, and the method is `geocrowdnet`. Outliers are of the labels that
    were trained on. `infer` and predictions of labels take every label as one that follows the
    confusions. `volume` and other settings of the noise model are those of `GeoCrowdNet`.

    Source: Nguyen, Ibrahim and Fu 2024 (COINNet), whose e_n may have any direction and learn by
    gradient, with power 0.4.
    """

    takes_item_weights = takes_more_labels = False  # outliers are of the labels in training
    takes_transitions = takes_label_smoothing = False
    noise: str = field(init=False, default="geocrowdnet")
    strength: float = field(kw_only=True, default=3.0)
    power: float = field(kw_only=True, default=0.4)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.strength > 0, "strength", "> 0", self.strength)
        require(0 < self.power <= 2, "power", "above 0, at most 2", self.power)

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> ClassificationModule:
        """See `NetworkMethod.make_module`."""
        made = super().make_module(network, problem, settings)
        return COINNetModule(made, problem, self.strength, self.power)


class COINNetModule(ClassificationModule):
    """A network and confusions, with the share s_n of every label that is an outlier."""

    share: Tensor
    first: Tensor

    def __init__(
        self, made: ClassificationModule, problem: Problem, strength: float, power: float
    ) -> None:
        super().__init__(made.network, made.noise, made.targets)
        self.strength, self.power = strength, power
        ann = problem.annotations
        # Neither is for checkpoints: an epoch begins by making the shares.
        self.register_buffer("share", torch.zeros(ann.n_annotations), persistent=False)
        first_i = torch.from_numpy(ann.item_offsets[:-1].astype(np.int64))
        self.register_buffer("first", first_i, persistent=False)

    @torch.no_grad()
    def on_epoch_start(self, crowd: CrowdData, number: int) -> None:
        """See `CrowdModule.on_epoch_start`."""
        if self.strength == math.inf:
            return
        self.eval()
        q_n, square_n = (
            each.double().cpu().numpy()
            for each in crowd.collect(self._by_confusion, crowd.labelled)
        )
        item_n = crowd.annotations.item
        found_n = find_outliers(q_n, square_n, item_n, self.strength, self.power)
        self.share.copy_(torch.from_numpy(found_n))

    def _by_confusion(self, batch: CrowdBatch) -> tuple[Tensor, Tensor]:
        """q_n[y_n] of every label, and ||1[y_n] - q_n||^2."""
        _, log_label_nl = self.predict_labels(batch)
        return _at_label(log_label_nl, batch.annotations.label)

    def _loss(self, outputs: Tensor, batch: CrowdBatch, warm_up_epoch: bool) -> Tensor:
        plain = super()._loss(outputs, batch, warm_up_epoch)
        given = batch.annotations
        if warm_up_epoch or self.strength == math.inf or len(given) == 0:
            return plain
        log_class_bk = outputs.log_softmax(dim=-1)
        log_label_nl = self.noise(log_class_bk, given.row, given.annotator, given.features)
        q_n, square_n = _at_label(log_label_nl, given.label)
        place_n = torch.arange(len(given), device=q_n.device)
        place_n = place_n - torch.searchsorted(given.row, given.row)  # among those of the item
        s_n = self.share[self.first[batch.items[given.row]] + place_n]
        log_q_n = log_label_nl.gather(1, given.label.unsqueeze(1)).squeeze(1)
        more_n = torch.log(q_n + s_n * (1 - q_n)) - log_q_n
        norm_b = torch.zeros_like(outputs[:, 0]).index_add(0, given.row, s_n.square() * square_n)
        cost = (self.strength * _cost_of(norm_b, self.power)).sum() / len(given)
        return plain - given.mean(more_n) + cost * batch.label_weight


def find_outliers(
    q_n: Floats, square_n: Floats, item_n: AnyArray, strength: float, power: float
) -> Floats:
    """The shares s_n in 0..1 that minimise the loss of every item i.

    ::

        loss_i = -sum_n log(q_n + s_n (1 - q_n)) + strength (sum_n s_n^2 d_n)^(power / 2)

    q_n is the probability of label n by the confusion of its annotator and d_n the `square_n` norm
    of a whole outlier. Where the sum of squares of an item has the price m, each label has
    the best s_n of -log(q_n + s_n (1 - q_n)) + m s_n^2 d_n, in closed form. The best of many prices
    is improved by setting m to the slope of the penalty in turns, which never raises the objective.

    >>> q_n, square_n, item_n = np.array([0.001, 0.9]), np.array([1.5, 0.02]), np.arange(2)
    >>> find_outliers(q_n, square_n, item_n, strength=2.0, power=0.4).round(2).tolist()
    [1.0, 0.0]
    """
    q_n = np.clip(q_n, 1e-300, _ALMOST)
    square_n, n_items = np.maximum(square_n, 1e-18), int(item_n.max(initial=-1)) + 1
    odds_n = q_n / (1 - q_n)

    def best(price_i: Floats) -> tuple[Floats, Floats, Floats]:
        """The shares at these prices, the sums of squares, and the objective of every item."""
        half_n = 1 / np.maximum(price_i[item_n] * square_n, 1e-300)
        s_n = np.minimum(half_n / (odds_n + np.sqrt(odds_n**2 + 2 * half_n)), 1.0)
        norm_i: Floats = np.bincount(item_n, s_n**2 * square_n, n_items).astype(np.float64)
        gain_i = np.bincount(item_n, np.log1p(s_n / odds_n), n_items)
        cost_i = (norm_i + _SMOOTHING) ** (power / 2) - _SMOOTHING ** (power / 2)
        return s_n, norm_i, strength * cost_i - gain_i

    share_n, norm_i = np.zeros_like(q_n), np.zeros(n_items)
    lowest_i = np.zeros(n_items)  # of no outlier at all
    slopes = strength * power / 2 * (norm_i + _SMOOTHING) ** (power / 2 - 1)
    for price in [*_PRICES, *[None] * _STEPS]:
        s_n, new_i, objective_i = best(slopes if price is None else np.full(n_items, price))
        better_i = objective_i < lowest_i
        share_n = np.where(better_i[item_n], s_n, share_n)
        norm_i, lowest_i = (
            np.where(better_i, *pair) for pair in ((new_i, norm_i), (objective_i, lowest_i))
        )
        slopes = strength * power / 2 * (norm_i + _SMOOTHING) ** (power / 2 - 1)
    return share_n


def _cost_of(norm_b: Tensor, power: float) -> Tensor:
    cost_b: Tensor = (norm_b + _SMOOTHING) ** (power / 2) - _SMOOTHING ** (power / 2)
    return cost_b


def _at_label(log_label_nl: Tensor, label_n: Tensor) -> tuple[Tensor, Tensor]:
    """q[y] of every label, and ||1[y] - q||^2."""
    q_nl = log_label_nl.exp()
    q_n = q_nl.gather(1, label_n.unsqueeze(1)).squeeze(1)
    return q_n, (q_nl.square().sum(dim=-1) - 2 * q_n + 1).clamp_min(0.0)


ROWS: dict[str, Method] = {
    "coinnet": COINNet(
        PRIOR,
        "auto",
        defaults=FAST,
        paper=Paper(
            preset="p3/labelme",
            model={"settings": {}, "init": "own"},
            note="In none of the papers; trained as trace-reg.",
        ),
        about=About(
            source="Nguyen, Ibrahim and Fu 2024 (COINNet)",
            equation="P(y | a, n) = sum_k f_k C_a[k, y] + e_n[y], e sparse over items; GeoCrowdNet",
            cost="a plain epoch + a pass of the network + 2 K x K per label and item",
            when="some items mislead everybody, and confusions hold for the rest",
        ),
    ),
}
