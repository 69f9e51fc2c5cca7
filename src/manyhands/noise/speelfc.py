"""SpeeLFC: an annotator's confusion is a row softmax of free logits."""

import torch
from torch import Tensor

from manyhands.core.settings import require
from manyhands.noise.base import AnnotatorTable, NoiseModel, distinct, log_mixture
from manyhands.noise.starts import diagonal_logit


class SpeeLFC(NoiseModel):
    """log P(y) = logsumexp_k [log f_k + log C_a[k, y]], C_a = row softmax of free logits.

    The start has `diagonal` on the diagonal and 0 beside it (1.4 - 1 and 4.7 - 1 in the paper's
    two experiments); by default it makes everybody right with probability `accuracy`, whatever
    the number of classes. `pull` draws annotators towards their start (`AnnotatorTable`).

    Source: Chen et al. 2020 (SpeeLFC), whose matrices are transposed.
    """

    def __init__(
        self,
        n_annotators: int,
        n_classes: int,
        *,
        accuracy: float = 0.7,
        diagonal: float | None = None,
        prior_precision: float = 0.0,
        sparse: bool = False,
    ) -> None:
        super().__init__(n_annotators, n_classes)
        require(0 < accuracy < 1, "accuracy", "between 0 and 1", accuracy)
        if diagonal is None:
            diagonal = diagonal_logit(accuracy, n_classes)
        start = diagonal * torch.eye(n_classes)
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
        log_confusion_nkl = self.table(annotator_n).log_softmax(dim=-1)
        return log_mixture(log_class_bk.index_select(0, row_n), log_confusion_nkl)

    def penalty(self, annotator_n: Tensor | None = None) -> Tensor:
        """What the pull towards the start adds, on the annotations given."""
        return self.table.penalty(annotator_n)

    def _start_at(self, confusion_akl: Tensor) -> None:
        self.table.start_at(confusion_akl.log())


class TraceReg(SpeeLFC):
    """SpeeLFC with the mean trace of the confusions added to the loss, times `strength`.

    penalty = strength x mean_a trace(C_a), minimised: of the confusions that explain the labels it
    prefers the least diagonal, which under diagonal dominance is the true one.

    Source: Tanno et al. 2019.
    """

    def __init__(
        self,
        n_annotators: int,
        n_classes: int,
        *,
        strength: float = 0.01,
        accuracy: float = 0.9,
        diagonal: float | None = None,
        prior_precision: float = 0.0,
        sparse: bool = False,
    ) -> None:
        super().__init__(
            n_annotators,
            n_classes,
            accuracy=accuracy,
            diagonal=diagonal,
            prior_precision=prior_precision,
            sparse=sparse,
        )
        require(strength >= 0, "strength", ">= 0", strength)
        self.strength = strength

    def penalty(self, annotator_n: Tensor | None = None) -> Tensor:
        """Strength x the mean trace over the annotators given, and the pull."""
        who, _ = distinct(annotator_n, self.n_annotators, self.table.weight.device)
        confusion_akl = self.table(who).softmax(dim=-1)
        trace = torch.einsum("akk->a", confusion_akl).mean()
        return self.strength * trace + super().penalty(annotator_n)
