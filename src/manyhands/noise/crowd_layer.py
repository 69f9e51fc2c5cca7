"""The crowd layer, a transformation of the class probabilities per annotator, and two variants."""

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from manyhands.core.settings import require_choice
from manyhands.noise.annotator_table import AnnotatorTable
from manyhands.noise.base import NoiseModel, log_mixture
from manyhands.noise.initialisation import (
    fit_bias,
    fit_weights,
    fit_weights_and_bias,
    matrix_logits,
)

CrowdLayerKind = Literal["VW", "VB", "VWB", "MW"]
TARGETS = ("labels", "softened")

# How the parameters of each kind act on class probabilities f of shape (n, k).
_ACT: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "VW": lambda weight_nk, f_nk: weight_nk * f_nk,
    "VB": lambda bias_nk, f_nk: f_nk + bias_nk,
    "VWB": lambda both_n2k, f_nk: both_n2k[:, 0] * f_nk + both_n2k[:, 1],
    "MW": lambda matrix_nlk, f_nk: torch.einsum("nlk,nk->nl", matrix_nlk, f_nk),
}

# How the parameters are found from confusions. Confusions are reproduced exactly by MW, their
# diagonals by VW and VWB, their column sums by VB and VWB.
_FIT: dict[str, Callable[[Tensor], Tensor]] = {
    "VW": fit_weights,
    "VB": fit_bias,
    "VWB": fit_weights_and_bias,
    "MW": matrix_logits,
}


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
    sparse:
        whether gradients are sparse (`AnnotatorTable`).
    device, dtype:
        of the parameters, as in torch's modules.

    Source: Rodrigues and Pereira 2018, Deep Learning from Crowds.

    >>> layer = CrowdLayer(n_annotators=100, n_classes=3, kind="MW")
    >>> log_class, row, annotator = torch.zeros(2, 3).log_softmax(-1), [0, 0, 1], [7, 9, 7]
    >>> layer(log_class, torch.tensor(row), torch.tensor(annotator)).shape
    torch.Size([3, 3])
    """

    def __init__(
        self,
        n_annotators: int,
        n_classes: int,
        *,
        kind: CrowdLayerKind = "MW",
        scale: float = 1.0,
        prior_precision: float = 0.0,
        sparse: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n_annotators, n_classes)
        require_choice("kind", kind, list(_ACT))
        self.kind = kind
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        ones = torch.full((n_classes,), float(scale), **factory)
        zeros = torch.zeros(n_classes, **factory)
        start = {
            "VW": ones,
            "VB": zeros,
            "VWB": torch.stack([ones, zeros]),
            "MW": scale * torch.eye(n_classes, **factory),
        }[kind]
        self.table = AnnotatorTable(
            n_annotators, start, prior_precision=prior_precision, sparse=sparse
        )

    def forward(
        self,
        log_class_bk: Tensor,
        row_n: Tensor,
        annotator_n: Tensor,
        features_b: Tensor | None = None,
    ) -> Tensor:
        """See `NoiseModel.forward`."""
        return _ACT[self.kind](
            self.table(annotator_n), log_class_bk.exp().index_select(0, row_n)
        ).log_softmax(dim=-1)

    def penalty(self, annotator_n: Tensor | None = None) -> Tensor:
        """Minus the log-prior per label (`AnnotatorTable.penalty`)."""
        return self.table.penalty(annotator_n)

    def _init_from(self, confusion_akl: Tensor) -> None:
        self.table.restart(_FIT[self.kind](confusion_akl))


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

    def __init__(
        self,
        n_annotators: int,
        n_classes: int,
        *,
        target: Literal["labels", "softened"] = "labels",
        scale: float = 1.0,
        prior_precision: float = 0.0,
        sparse: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            n_annotators,
            n_classes,
            kind="MW",
            scale=scale,
            prior_precision=prior_precision,
            sparse=sparse,
            device=device,
            dtype=dtype,
        )
        require_choice("target", target, TARGETS)
        self.target = target

    def log_likelihood(self, log_label_nl: Tensor, label_n: Tensor) -> Tensor:
        """Minus the cross-entropy of every annotation against its target, shape (n,)."""
        if self.target == "labels":
            return super().log_likelihood(log_label_nl, label_n)
        soft_nl = functional.one_hot(label_n, self.n_classes).to(log_label_nl).softmax(dim=-1)
        return (soft_nl * log_label_nl).sum(dim=-1)


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

    def __init__(
        self,
        n_annotators: int,
        n_classes: int,
        *,
        scale: float = 1.0,
        top_scale: float = 4.0,
        prior_precision: float = 0.0,
        sparse: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            n_annotators,
            n_classes,
            kind="MW",
            scale=scale,
            prior_precision=prior_precision,
            sparse=sparse,
            device=device,
            dtype=dtype,
        )
        top = top_scale * torch.eye(n_classes, device=device, dtype=dtype)
        self.top = AnnotatorTable(n_annotators, top, prior_precision=prior_precision, sparse=sparse)

    def forward(
        self,
        log_class_bk: Tensor,
        row_n: Tensor,
        annotator_n: Tensor,
        features_b: Tensor | None = None,
    ) -> Tensor:
        """See `NoiseModel.forward`."""
        log_below_nj = super().forward(log_class_bk, row_n, annotator_n, features_b)
        log_top_njl = self.top(annotator_n).log_softmax(dim=-1)
        return log_mixture(log_below_nj, log_top_njl)

    def penalty(self, annotator_n: Tensor | None = None) -> Tensor:
        """Minus the log-prior of both matrices per label."""
        return super().penalty(annotator_n) + self.top.penalty(annotator_n)
