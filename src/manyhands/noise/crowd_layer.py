"""The crowd layer: an annotator's own transformation of the class probabilities."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from manyhands.core.settings import require_choice
from manyhands.noise.base import AnnotatorTable, NoiseModel, log_mixture
from manyhands.noise.starts import fit_bias, fit_weights, fit_weights_and_bias, matrix_logits

CrowdLayerKind = Literal["VW", "VB", "VWB", "MW"]

# How the parameters of kind VW, VB, VWB, MW act on class probabilities f of shape (n, k).
_ACT: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "VW": lambda weight_nk, f_nk: weight_nk * f_nk,
    "VB": lambda bias_nk, f_nk: f_nk + bias_nk,
    "VWB": lambda both_n2k, f_nk: both_n2k[:, 0] * f_nk + both_n2k[:, 1],
    "MW": lambda matrix_nlk, f_nk: torch.einsum("nlk,nk->nl", matrix_nlk, f_nk),
}

# How those parameters are had from confusions: for MW the portrait is exact, for VW and VWB its
# diagonal, for VB how often each label is said.
_FIT: dict[str, Callable[[Tensor], Tensor]] = {
    "VW": fit_weights,
    "VB": fit_bias,
    "VWB": fit_weights_and_bias,
    "MW": matrix_logits,
}


class CrowdLayer(NoiseModel):
    """softmax(w_a * f), softmax(f + b_a), softmax(w_a * f + b_a) or softmax(W_a f).

    f are class probabilities, so at the identity start P(right) is only e / (e + K - 1); give
    `scale` to start from scale x identity, or use `start_from`. `pull` draws
    annotators towards their start (`AnnotatorTable`).

    Source: Rodrigues and Pereira 2018, Deep Learning from Crowds.
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
    ) -> None:
        super().__init__(n_annotators, n_classes)
        require_choice("kind", kind, list(_ACT))
        self.kind = kind
        start = _start(kind, n_classes, scale)
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
        """What the pull towards the start adds, on the annotations given."""
        return self.table.penalty(annotator_n)

    def _start_at(self, confusion_akl: Tensor) -> None:
        self.table.start_at(_FIT[self.kind](confusion_akl))


class OverCrowdLayer(CrowdLayer):
    """The crowd layer with one more softmax matrix per annotator on top.

    log P(y) = log sum_j softmax(W_a f)_j softmax_rows(V_a)[j, y], V_a starting at identity x
    `top_scale`. An ablation: as many matrices as CoNAL, none of them shared. `start_from` sets W_a
    and leaves V_a, so the portrait is then C_a softmax_rows(V_a), near to C_a only.

    Source: Chu, Ma and Wang 2021 (CoNAL), appendix C.
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
    ) -> None:
        super().__init__(
            n_annotators,
            n_classes,
            kind="MW",
            scale=scale,
            prior_precision=prior_precision,
            sparse=sparse,
        )
        top = top_scale * torch.eye(n_classes)
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
        """What the pull of both matrices adds."""
        return super().penalty(annotator_n) + self.top.penalty(annotator_n)


def _start(kind: str, n_classes: int, scale: float) -> Tensor:
    ones, zeros = torch.full((n_classes,), scale), torch.zeros(n_classes)
    return {
        "VW": ones,
        "VB": zeros,
        "VWB": torch.stack([ones, zeros]),
        "MW": scale * torch.eye(n_classes),
    }[kind]
