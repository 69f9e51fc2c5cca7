"""The crowd layer, a transformation of the class probabilities per annotator, and two variants."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from manyhands.core.settings import require_choice
from manyhands.noise.annotator_table import AnnotatorTable, log_mixture, matrix_logits
from manyhands.noise.base import NoiseModel
from manyhands.noise.batch import Features

CrowdLayerKind = Literal["VW", "VB", "VWB", "MW"]
TARGETS = ("labels", "softened")

# How the parameters of each kind act on class probabilities f of shape (n, k).
_ACT: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "VW": lambda weight_nk, f_nk: weight_nk * f_nk,
    "VB": lambda bias_nk, f_nk: f_nk + bias_nk,
    "VWB": lambda both_n2k, f_nk: both_n2k[:, 0] * f_nk + both_n2k[:, 1],
    "MW": lambda matrix_nlk, f_nk: torch.einsum("nlk,nk->nl", matrix_nlk, f_nk),
}
_MAX_STEPS, _TOLERANCE = 100, 1e-8  # of iterative scaling


@dataclass(eq=False, repr=False, kw_only=True)
class CrowdLayer(NoiseModel):
    """The crowd layer: every annotator transforms the class probabilities f of an item.

    ::

        VW: P(y) = softmax(w_a * f)          VWB: P(y) = softmax(w_a * f + b_a)
        VB: P(y) = softmax(f + b_a)          MW:  P(y) = softmax(W_a f)

    Because f are probabilities, P(right) at the identity is only e / (e + K - 1). To start from
    more accurate annotators, set `scale` or call `init_from_confusions`.

    Settings
    --------
    kind:
        which of the four transformations.
    scale:
        weights start at 1 x scale, matrices at the identity x scale, biases at 0.
    prior_precision:
        of a normal prior around the start of every annotator (`AnnotatorTable`).
    sparse, device, dtype:
        as in `NoiseModel`.

    Source: Rodrigues and Pereira 2018, Deep Learning from Crowds.

    >>> layer = CrowdLayer(n_annotators=100, n_classes=3, kind="MW")
    >>> log_class, row, annotator = torch.zeros(2, 3).log_softmax(-1), [0, 0, 1], [7, 9, 7]
    >>> layer(log_class, torch.tensor(row), torch.tensor(annotator)).shape
    torch.Size([3, 3])
    """

    stacks = True
    kind: CrowdLayerKind = "MW"
    scale: float = 1.0
    prior_precision: float = 0.0

    def _make_parameters(self, sparse: bool, factory: dict[str, Any]) -> None:
        require_choice("kind", self.kind, list(_ACT))
        ones = torch.full((self.n_classes,), float(self.scale), **factory)
        zeros = torch.zeros(self.n_classes, **factory)
        start = {
            "VW": ones,
            "VB": zeros,
            "VWB": torch.stack([ones, zeros]),
            "MW": self.scale * torch.eye(self.n_classes, **factory),
        }[self.kind]
        self.table = self._new_table(start, sparse)

    def _new_table(self, start: Tensor, sparse: bool) -> AnnotatorTable:
        prior = self.prior_precision
        return AnnotatorTable(self.n_annotators, start, prior_precision=prior, sparse=sparse)

    def forward(
        self, log_class_bk: Tensor, row_n: Tensor, annotator_n: Tensor, features_b: Features = None
    ) -> Tensor:
        """See `NoiseModel.forward`."""
        return _ACT[self.kind](
            self.table(annotator_n), log_class_bk.exp().index_select(0, row_n)
        ).log_softmax(dim=-1)

    def _init_from(self, confusion_akl: Tensor) -> None:
        self.table.restart(_FIT[self.kind](confusion_akl))


@dataclass(eq=False, repr=False, kw_only=True)
class SoftmaxCrowdLayer(CrowdLayer):
    """The crowd layer of kind MW with a choice of the target of its cross-entropy.

    ::

        P(y) = softmax(W_a f),    loss = -mean_n sum_l t_n[l] log P(l)

    The paper can be read in two ways. With `target="labels"` the target t_n is the one-hot label.
    With `target="softened"` it is the softmax of the one-hot label, e / (e + K - 1) on the label.

    Settings
    --------
    target:
        "labels" or "softened".
    scale, prior_precision, sparse, device, dtype:
        as in `CrowdLayer`.

    Source: softmax-CrowdLayer with sharpness-aware minimisation, LeWiDi.

    >>> layer = SoftmaxCrowdLayer(n_annotators=100, n_classes=3, target="softened")
    >>> log_label = torch.zeros(1, 3).log_softmax(-1)
    >>> layer.log_likelihood(log_label, torch.tensor([2])).shape
    torch.Size([1])
    """

    stacks = True
    target: Literal["labels", "softened"] = "labels"
    kind: CrowdLayerKind = field(init=False, default="MW")

    def _make_parameters(self, sparse: bool, factory: dict[str, Any]) -> None:
        super()._make_parameters(sparse, factory)
        require_choice("target", self.target, TARGETS)

    def log_likelihood(self, log_label_nl: Tensor, label_n: Tensor) -> Tensor:
        """Minus the cross-entropy of every annotation against its target, shape (n,)."""
        if self.target == "labels":
            return super().log_likelihood(log_label_nl, label_n)
        soft_nl = functional.one_hot(label_n, self.n_classes).to(log_label_nl).softmax(dim=-1)
        return (soft_nl * log_label_nl).sum(dim=-1)


@dataclass(eq=False, repr=False, kw_only=True)
class OverCrowdLayer(CrowdLayer):
    """The crowd layer with one more softmax matrix V_a per annotator on top.

    ::

        P(y) = sum_j softmax(W_a f)_j softmax_rows(V_a)[j, y]

    An ablation: it has as many matrices as CoNAL, and none of them is shared.
    `init_from_confusions` sets W_a and leaves V_a. The confusion is then C_a softmax_rows(V_a),
    which is only near to C_a.

    Settings
    --------
    scale, top_scale:
        W_a starts at the identity x scale, V_a at the identity x top_scale.
    prior_precision, sparse, device, dtype:
        as in `CrowdLayer`, for both matrices.

    Source: Chu, Ma and Wang 2021 (CoNAL), appendix C.

    >>> OverCrowdLayer(n_annotators=100, n_classes=3).confusion(torch.tensor([7, 9])).shape
    torch.Size([2, 3, 3])
    """

    stacks = True
    top_scale: float = 4.0
    kind: CrowdLayerKind = field(init=False, default="MW")

    def _make_parameters(self, sparse: bool, factory: dict[str, Any]) -> None:
        super()._make_parameters(sparse, factory)
        self.top = self._new_table(self.top_scale * torch.eye(self.n_classes, **factory), sparse)

    def forward(
        self, log_class_bk: Tensor, row_n: Tensor, annotator_n: Tensor, features_b: Features = None
    ) -> Tensor:
        """See `NoiseModel.forward`."""
        log_below_nj = super().forward(log_class_bk, row_n, annotator_n, features_b)
        log_top_njl = self.top(annotator_n).log_softmax(dim=-1)
        return log_mixture(log_below_nj, log_top_njl)


def fit_weights(confusion_akl: Tensor, bias_al: Tensor | None = None) -> Tensor:
    """w_k with softmax(w * e_k + b)_k = C[k, k], shape (a, k).

    w_k = log C[k, k] - log sum_(l != k) C[k, l] - b_k + log sum_(l != k) exp b_l
    """
    if bias_al is None:
        bias_al = torch.zeros_like(confusion_akl[:, 0])
    own = torch.eye(confusion_akl.shape[2], dtype=torch.bool)
    wrong_ak = confusion_akl.masked_fill(own, 0.0).sum(dim=2)
    right_ak = confusion_akl.diagonal(dim1=1, dim2=2)
    others_akl = bias_al.unsqueeze(1).expand_as(confusion_akl).masked_fill(own, -math.inf)
    return right_ak.log() - wrong_ak.log() - bias_al + others_akl.logsumexp(dim=2)


def fit_bias(confusion_akl: Tensor) -> Tensor:
    """The b of softmax(e_k + b) nearest to C, shape (a, l); the column sums are those of C."""
    return _match_columns(confusion_akl, torch.eye(confusion_akl.shape[2]).to(confusion_akl))


def fit_weights_and_bias(confusion_akl: Tensor) -> Tensor:
    """The w and b of softmax(w * e_k + b) nearest to C, shape (a, 2, k).

    For any b the weights make the diagonal exact. b distributes the errors, so that the sums of
    the columns without the diagonal are those of C.
    """
    own = torch.eye(confusion_akl.shape[2], dtype=torch.bool)
    never = torch.zeros(own.shape).to(confusion_akl).masked_fill(own, -math.inf)
    bias_al = _match_columns(confusion_akl.masked_fill(own, 0.0), never)
    return torch.stack([fit_weights(confusion_akl, bias_al), bias_al], dim=1)


def _match_columns(mass_akl: Tensor, base_kl: Tensor) -> Tensor:
    """The b of mean zero with sum_k mass_k softmax(base_k + b) = sum_k mass[k].

    Iterative scaling, b_l <- b_l + log(wanted_l / now_l), never raises the divergence.
    """
    row_ak1, wanted_al = mass_akl.sum(dim=2, keepdim=True), mass_akl.sum(dim=1)
    bias_al = torch.zeros_like(wanted_al)
    for _ in range(_MAX_STEPS):
        now_akl = row_ak1 * (base_kl + bias_al.unsqueeze(1)).softmax(dim=2)
        step_al = wanted_al.log() - now_akl.sum(dim=1).log()
        bias_al = bias_al + step_al
        if step_al.abs().max() < _TOLERANCE:
            break
    return bias_al - bias_al.mean(dim=1, keepdim=True)


# The parameters whose confusions are nearest to C: the sum over k of KL(C[k] || confusion[k]) is
# least. MW reproduces C, VW and VWB its diagonal, VB and VWB its column sums.
_FIT: dict[str, Callable[[Tensor], Tensor]] = {
    "VW": fit_weights,
    "VB": fit_bias,
    "VWB": fit_weights_and_bias,
    "MW": matrix_logits,
}
