"""SpeeLFC, a confusion per annotator, with two regularised variants; SpeeLFC-D, an ability."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from manyhands.core.errors import DataError
from manyhands.core.settings import require, require_choice
from manyhands.noise.annotator_table import (
    AnnotatorTable,
    diagonal_logit,
    log_mixture,
    mean_over_present,
    unique_annotators,
)
from manyhands.noise.base import REDUCTIONS, NoiseModel
from manyhands.noise.batch import Features

_MANY_CLASSES = 64  # whose complements are summed without a table of K x K numbers per label
ACTIVATIONS = ("softmax", "softplus")
_FLOOR = 1e-6  # keeps the determinant of a batch with fewer items than classes above zero


@dataclass(eq=False, repr=False, kw_only=True)
class SpeeLFC(NoiseModel):
    """A confusion matrix C_a per annotator, applied to the class probabilities f of an item.

    ::

        P(y) = sum_k f_k C_a[k, y],    C_a = row softmax of free logits

    Settings
    --------
    accuracy:
        probability of a right label at the start, for any number of classes.
    diagonal:
        logit on the diagonal at the start, beside logits of 0, in place of `accuracy`. The paper's
        two experiments have 1.4 - 1 and 4.7 - 1.
    prior_precision:
        of a normal prior around the start of every annotator (`AnnotatorTable`).
    sparse, device, dtype:
        as in `NoiseModel`.

    Source: Chen et al. 2020 (SpeeLFC), whose matrices are transposed.

    >>> layer = SpeeLFC(n_annotators=100, n_classes=3, accuracy=0.8)
    >>> layer.confusion()[7].diagonal()
    tensor([0.8000, 0.8000, 0.8000])
    """

    stacks = True
    accuracy: float = 0.7
    diagonal: float | None = None
    prior_precision: float = 0.0

    def _make_parameters(self, sparse: bool, factory: dict[str, Any]) -> None:
        require(0 < self.accuracy < 1, "accuracy", "between 0 and 1", self.accuracy)
        diagonal = self.diagonal
        if diagonal is None:
            diagonal = diagonal_logit(self.accuracy, self.n_classes)
        start = diagonal * torch.eye(self.n_classes, **factory)
        self.table = AnnotatorTable(
            self.n_annotators, start, prior_precision=self.prior_precision, sparse=sparse
        )

    def log_confusion(self, annotator_n: Tensor) -> Tensor:
        """Log C of some annotators, with gradients, shape (n, k, l)."""
        log_confusion_nkl: Tensor = self.table(annotator_n).log_softmax(dim=-1)
        return log_confusion_nkl

    def forward(
        self, log_class_bk: Tensor, row_n: Tensor, annotator_n: Tensor, features_b: Features = None
    ) -> Tensor:
        """See `NoiseModel.forward`."""
        log_confusion_nkl = self.log_confusion(annotator_n)
        return log_mixture(log_class_bk.index_select(0, row_n), log_confusion_nkl)

    def _init_from(self, confusion_akl: Tensor) -> None:
        self.table.restart(confusion_akl.log())


@dataclass(eq=False, repr=False, kw_only=True)
class TraceReg(SpeeLFC):
    """SpeeLFC with the mean trace of the confusions as a penalty.

    ::

        penalty = strength x mean_a trace(C_a)

    As published, C_a are rows of softplus(T_a), normalised, T_a starts at 6 I - 5, and the loss is
    a sum over annotators: that of an item over its labels, and strength x sum_a trace(C_a). These
    are `activation="softplus"` and `reduction="items"`.

    Of the confusions that explain the labels equally well, the penalty prefers the least diagonal
    ones. Under diagonal dominance these are the true ones.

    Settings
    --------
    strength:
        weight of the mean trace, or of the sum, in the loss.
    activation:
        what makes the parameters positive before rows are normalised. With "softplus", `accuracy`
        and `diagonal` have no effect.
    reduction:
        "labels" for means over labels and annotators, "items" for sums over annotators.
    accuracy, diagonal, prior_precision, sparse, device, dtype:
        as in `SpeeLFC`.

    Source: Tanno et al. 2019.

    >>> TraceReg(n_annotators=100, n_classes=3, strength=1.0, accuracy=0.9).penalty()
    tensor(2.7000, grad_fn=<AddBackward0>)
    """

    stacks = True
    strength: float = 0.01
    accuracy: float = 0.9
    activation: Literal["softmax", "softplus"] = "softmax"
    reduction: Literal["labels", "items"] = "labels"

    def _make_parameters(self, sparse: bool, factory: dict[str, Any]) -> None:
        super()._make_parameters(sparse, factory)
        require(self.strength >= 0, "strength", ">= 0", self.strength)
        require_choice("activation", self.activation, ACTIVATIONS)
        require_choice("reduction", self.reduction, REDUCTIONS)
        if self.activation == "softplus":
            start_kl = 6.0 * torch.eye(self.n_classes, **factory) - 5.0
            self.table.restart(start_kl.expand(self.n_annotators, -1, -1))

    def log_confusion(self, annotator_n: Tensor) -> Tensor:
        """See `SpeeLFC.log_confusion`."""
        if self.activation == "softmax":
            return super().log_confusion(annotator_n)
        log_nkl = functional.softplus(self.table(annotator_n)).log()
        return log_nkl - log_nkl.logsumexp(dim=-1, keepdim=True)

    def penalty(self, annotator_n: Tensor | None = None, mask_n: Tensor | None = None) -> Tensor:
        """Strength x the mean trace over the given annotators, or the sum over all; the prior's."""
        prior = super().penalty(annotator_n, mask_n)
        if self.reduction == "items":
            who, weight_a = self.table.summands(annotator_n)
            return self.strength * (weight_a * self._trace(who)).sum() + prior
        device = self.table.weight.device
        who, count_a = unique_annotators(annotator_n, self.n_annotators, device, mask_n)
        trace = mean_over_present(self._trace(who), None if mask_n is None else count_a)
        return self.strength * trace + prior

    def _trace(self, who: Tensor) -> Tensor:
        softplus = self.activation == "softplus"
        confusion_akl = self.log_confusion(who).exp() if softplus else self.table(who).softmax(-1)
        return torch.einsum("akk->a", confusion_akl)

    def _init_from(self, confusion_akl: Tensor) -> None:
        if self.activation == "softmax":
            super()._init_from(confusion_akl)
        else:  # softplus(log(exp(c) - 1)) = c
            self.table.restart(confusion_akl.expm1().log())


@dataclass(eq=False, repr=False, kw_only=True)
class GeoCrowdNet(SpeeLFC):
    """SpeeLFC with the volume that the class probabilities F (b, k) of a batch span as a penalty.

    ::

        class_penalty = -volume log det(F'F / b)

    Many pairs of confusions and classes explain the labels. The pair whose class probabilities
    span the largest volume is identified under mild conditions. The penalty costs K x K per item.

    Settings
    --------
    volume:
        weight of the penalty in the loss.
    accuracy, diagonal, prior_precision, sparse, device, dtype:
        as in `SpeeLFC`.

    Source: Ibrahim, Nguyen and Fu 2023, GeoCrowdNet(F).

    >>> layer = GeoCrowdNet(n_annotators=100, n_classes=3)
    >>> layer.class_penalty(torch.eye(3).log_softmax(-1)).shape
    torch.Size([])
    """

    stacks = True
    penalises_classes = True
    volume: float = 0.01
    accuracy: float = 0.9

    def _make_parameters(self, sparse: bool, factory: dict[str, Any]) -> None:
        super()._make_parameters(sparse, factory)
        require(self.volume >= 0, "volume", ">= 0", self.volume)

    def class_penalty(self, log_class_bk: Tensor) -> Tensor:
        """-volume log det(F'F / b) of a batch."""
        f_bk = log_class_bk.exp()
        gram_kk = f_bk.T @ f_bk / len(f_bk)
        floor = _FLOOR * torch.eye(self.n_classes, device=gram_kk.device, dtype=gram_kk.dtype)
        return -self.volume * torch.logdet(gram_kk + floor)


class SpeeLFCD(NoiseModel):
    """A label is right with a probability that depends on annotator and item; errors are uniform.

    ::

        p = sigmoid(alpha_a beta_i),    beta_i = l1 + l2 sigmoid(g(x_i))
        P(y) = p f_y + (1 - p) (1 - f_y) / (K - 1)

    g is a network with one hidden layer on the features of the item. It is the submodule
    `difficulty` and has a learning rate of its own (1e-4 beside 1e-3 on music in the paper).

    Settings
    --------
    n_features:
        numbers in the features of one item.
    n_hidden:
        hidden units of g.
    dropout:
        share of the hidden units of g that a training step leaves out.
    difficulty_rate:
        learning rate of g, as a multiple of that of the noise model.
    alpha:
        ability of every annotator at the start.
    l1, l2:
        least beta and its range.
    sparse, device, dtype:
        as in `NoiseModel`.

    Source: Chen et al. 2020 (SpeeLFC).

    >>> layer = SpeeLFCD(n_annotators=100, n_classes=3, n_features=5)
    >>> log_class, row, annotator = torch.zeros(2, 3).log_softmax(-1), [0, 0, 1], [7, 9, 7]
    >>> layer(log_class, torch.tensor(row), torch.tensor(annotator), torch.ones(2, 5)).shape
    torch.Size([3, 3])
    """

    stacks = True
    needs_features = True

    def __init__(
        self,
        n_annotators: int,
        n_classes: int,
        *,
        n_features: int,
        n_hidden: int = 32,
        dropout: float = 0.0,
        difficulty_rate: float = 0.1,
        alpha: float = 0.028,
        l1: float = 0.001,
        l2: float = 100.0,
        sparse: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n_annotators, n_classes)
        require(n_features >= 1, "n_features", ">= 1", n_features)
        require(l1 >= 0, "l1", ">= 0", l1)
        require(l2 > 0, "l2", "> 0", l2)
        require(0 <= dropout < 1, "dropout", "in 0..1, below 1", dropout)
        require(0 < difficulty_rate < math.inf, "difficulty_rate", "> 0", difficulty_rate)
        self.learning_rate_multipliers = {"difficulty": difficulty_rate}
        self.l1, self.l2, self._middle_beta = l1, l2, l1 + l2 / 2
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        start = torch.full((), float(alpha), **factory)
        self.alpha = AnnotatorTable(n_annotators, start, sparse=sparse)
        self.difficulty = nn.Sequential(
            nn.Linear(n_features, n_hidden, **factory),
            nn.ReLU(),
            *([nn.Dropout(dropout)] if dropout > 0 else []),
            nn.Linear(n_hidden, 1, **factory),
        )

    def forward(
        self, log_class_bk: Tensor, row_n: Tensor, annotator_n: Tensor, features_b: Features = None
    ) -> Tensor:
        """See `NoiseModel.forward`; without features every item has a beta of l1 + l2 / 2."""
        if features_b is None:
            beta_n = log_class_bk.new_full((), self._middle_beta)
        else:
            if len(features_b) != len(log_class_bk):
                raise DataError(
                    f"features of {len(features_b)} items and class probabilities of "
                    f"{len(log_class_bk)}; both must be of the same items"
                )
            beta_b = self.l1 + self.l2 * self.difficulty(features_b.flatten(1)).squeeze(1).sigmoid()
            beta_n = beta_b.index_select(0, row_n)
        x_n1 = (self.alpha(annotator_n) * beta_n).unsqueeze(1)
        log_class_nk = log_class_bk.index_select(0, row_n)
        log_right = functional.logsigmoid(x_n1) + log_class_nk
        if self.n_classes == 1:
            return log_class_nk
        log_other_nk = log_complement(log_class_nk)
        log_wrong = functional.logsigmoid(-x_n1) - math.log(self.n_classes - 1) + log_other_nk
        return torch.logaddexp(log_right, log_wrong)

    def _init_from(self, confusion_akl: Tensor) -> None:
        """alpha_a = logit(mean_k C_a[k, k]) / (l1 + l2 / 2)."""
        right_a = confusion_akl.diagonal(dim1=1, dim2=2).mean(dim=1)
        self.alpha.restart(right_a.logit() / self._middle_beta)


def log_complement(log_class_nk: Tensor) -> Tensor:
    """log(1 - f_k) as the log-sum of the other classes, exact for f_k near 1."""
    n_classes = log_class_nk.shape[-1]
    if n_classes > _MANY_CLASSES:
        return _log_complement_of_many(log_class_nk)
    own = torch.eye(n_classes, dtype=torch.bool, device=log_class_nk.device)
    others_nkl = log_class_nk.unsqueeze(-2).expand(-1, n_classes, n_classes)
    return torch.logsumexp(others_nkl.masked_fill(own, -math.inf), dim=-1)


def _log_complement_of_many(log_class_nk: Tensor) -> Tensor:
    """The classes before k and those after it, each summed once: without K numbers per class."""
    before_nk = log_class_nk[..., :-1].logcumsumexp(dim=-1)
    after_nk = log_class_nk[..., 1:].flip(-1).logcumsumexp(dim=-1).flip(-1)
    inner = torch.logaddexp(before_nk[..., :-1], after_nk[..., 1:])
    return torch.cat([after_nk[..., :1], inner, before_nk[..., -1:]], dim=-1)
