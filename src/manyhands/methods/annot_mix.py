"""annot-mix: mixup of items with the people who labelled them and what they said."""

import math
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor, nn

from manyhands.core.errors import DataError, SettingError
from manyhands.core.settings import require
from manyhands.engine.batches import CrowdBatch
from manyhands.engine.classification import ClassificationModule
from manyhands.engine.settings import TrainingSettings
from manyhands.methods.base import About, Method, Paper, Problem
from manyhands.methods.end_to_end import SEARCH, EndToEnd
from manyhands.networks.calling import call_network
from manyhands.noise import AnnotationBatch, MaDL

_MOST = 8  # labels of the other item that a label is mixed with
_FIXED = {"items": False, "weighted": False}
_OPEN = {"accuracy", "n_dimensions", "n_hidden"}


@dataclass(frozen=True)
class AnnotMix(EndToEnd):
    """Train the network on convex combinations of items, annotators and labels.

    An item i is mixed with another one j of its batch, drawn at random, by a weight t ~ Beta(alpha,
    alpha): x = t x_i + (1 - t) x_j. Each label n of item i is mixed with each label m of item j:
    with embeddings u of annotators, the mixed annotator has u = t u_a(n) + (1 - t) u_a(m) and says

        P(y) = sum_k f_k(x) C[k, y],    C = row softmax(B + U relu(W u + c))

    about the mixed item, where B is mixed in the same way (`MaDL` without items and weights). The
    loss is the cross-entropy against the mixed label,

        loss = -1/N sum_n mean_m [t log P(y_n) + (1 - t) log P(y_m)]

    over the N labels n of a batch. The mean over m replaces a random draw of it; of items with more
    than 8 labels, each n takes the 8 that follow its own place. Nothing is mixed in the warm-up, in
    validation and in predictions. With alpha near 0 nothing is mixed at all.

    Features must be real numbers: texts cannot be mixed.

    Source: Herde, Luehrs, Huseljic and Sick 2024 (annot-mix).
    """

    takes_item_weights = takes_more_labels = False  # a loss of its own
    takes_transitions = takes_label_smoothing = False
    tasks = ("classification",)  # words cannot be mixed
    noise: str = field(init=False, default="madl")
    alpha: float = field(kw_only=True, default=1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.alpha < math.inf, "alpha", "> 0", self.alpha)
        for name in set(self.settings) - _OPEN:
            if name in _FIXED and self.settings[name] == _FIXED[name]:
                continue  # as a saved model has it
            known = ", ".join(sorted(_OPEN))
            raise SettingError(
                f"the noise model of annot-mix has no setting {name!r}; known: {known}"
            )

    @property
    def noise_spec(self) -> tuple[str, dict[str, Any]]:
        """See `Method.noise_spec`."""
        return self.noise, {**self.settings, **_FIXED}

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> ClassificationModule:
        """See `NetworkMethod.make_module`."""
        return AnnotMixModule(super().make_module(network, problem, settings), self.alpha)


class AnnotMixModule(ClassificationModule):
    """A network and embeddings of annotators, trained on mixed items, annotators and labels."""

    def __init__(self, made: ClassificationModule, alpha: float) -> None:
        super().__init__(made.network, made.noise, made.targets)
        self.alpha = alpha

    def forward(self, batch: CrowdBatch, warm_up_epoch: bool = False) -> Tensor:
        """See `CrowdModule.forward`."""
        n_items = len(batch.items)
        if warm_up_epoch or n_items == 0:
            return super().forward(batch, warm_up_epoch)
        inputs_b = batch.inputs
        if not isinstance(inputs_b, Tensor) or not inputs_b.is_floating_point():
            raise DataError(
                "annot-mix mixes the features of items, which must be real numbers; these are not: "
                "use another method, such as madl or speelfc"
            )
        share_b = torch.distributions.Beta(self.alpha, self.alpha).sample((n_items,))
        share_b = share_b.to(inputs_b)
        other_b = torch.randperm(n_items).to(batch.items)
        wide_b = share_b.view(-1, *[1] * (inputs_b.dim() - 1))
        mixed_b = wide_b * inputs_b + (1 - wide_b) * inputs_b[other_b]
        outputs: Tensor = call_network(self.network, mixed_b).float()
        with torch.autocast(outputs.device.type, enabled=False):
            return self.mixed_loss(outputs, batch, share_b.float(), other_b)

    def mixed_loss(
        self, outputs: Tensor, batch: CrowdBatch, share_b: Tensor, other_b: Tensor
    ) -> Tensor:
        """The loss of mixed items, of which row b is `share_b` of item b and the rest `other_b`."""
        noise, given = cast(MaDL, self.noise), batch.annotations
        penalty = noise.penalty(given.step_annotators)
        if len(given) == 0:
            return outputs.sum() * 0.0 + penalty
        own_p, other_p, n_pairs_p = pair_labels(given, len(outputs), other_b)
        row_p = given.row[own_p]
        share_p = share_b[row_p].to(outputs)

        def mixed(values_n: Tensor) -> Tensor:
            share = share_p.view(-1, *[1] * (values_n.dim() - 1))
            return share * values_n[own_p] + (1 - share) * values_n[other_p]

        base_pkl = mixed(noise.base[given.annotator])
        log_confusion_pkl = noise.log_confusion(mixed(noise.embedding(given.annotator)), base_pkl)
        log_class_pk = outputs.log_softmax(dim=-1)[row_p]
        log_label_pl = torch.logsumexp(log_class_pk.unsqueeze(2) + log_confusion_pkl, dim=1)
        both = (log_label_pl.gather(1, given.label[each].unsqueeze(1)).squeeze(1)
                for each in (own_p, other_p))  # fmt: skip
        own_log, other_log = both
        term_p = (share_p * own_log + (1 - share_p) * other_log) / n_pairs_p
        return penalty - term_p.sum() / len(given) * batch.label_weight


def pair_labels(
    batch: AnnotationBatch, n_items: int, other_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The pairs of labels of items and of those that they are mixed with.

    Labels are sorted by row. The third tensor is the number of pairs that the first label is in.

    >>> batch = AnnotationBatch(torch.tensor([0, 0, 1]), torch.arange(3), torch.zeros(3))
    >>> [each.tolist() for each in pair_labels(batch, 2, torch.tensor([1, 0]))]
    [[0, 1, 2, 2], [2, 2, 0, 1], [1, 1, 2, 2]]
    """
    count_b = torch.bincount(batch.row, minlength=n_items)
    first_b = count_b.cumsum(0) - count_b
    partner_n = other_b[batch.row]
    n_pairs_n = count_b[partner_n].clamp_max(_MOST)
    own_p = torch.repeat_interleave(n_pairs_n)
    start_p = (n_pairs_n.cumsum(0) - n_pairs_n)[own_p]
    step_p = torch.arange(len(own_p), device=own_p.device) - start_p
    place_p = own_p - first_b[batch.row[own_p]]  # among the labels of its own item
    partner_p = partner_n[own_p]
    whole = count_b[partner_p] <= _MOST
    place_p = torch.where(whole, step_p, (place_p + step_p) % count_b[partner_p])
    return own_p, first_b[partner_p] + place_p, n_pairs_n[own_p]


ROWS: dict[str, Method] = {
    "annot-mix": AnnotMix(
        init="auto",
        defaults=SEARCH,
        paper=Paper(
            preset="p3/labelme",
            model={"settings": {}, "init": "own"},
            note="In none of the papers; trained as conal.",
        ),
        about=About(
            source="Herde, Luehrs, Huseljic and Sick 2024 (annot-mix)",
            equation="P(t y_n + (1 - t) y_m | t a_n + (1 - t) a_m, t x_i + (1 - t) x_j), mixup",
            cost="a plain epoch + a small network and K x K per pair of labels of two items",
            when="few items, whose network would learn wrong labels by heart",
        ),
    ),
}
