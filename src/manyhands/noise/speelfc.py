"""SpeeLFC: a confusion per annotator, from free logits; with two regularised variants."""

import torch
from torch import Tensor

from manyhands.core.settings import require
from manyhands.noise.annotator_table import AnnotatorTable, unique_annotators
from manyhands.noise.base import NoiseModel, log_mixture
from manyhands.noise.initialisation import diagonal_logit

_FLOOR = 1e-6  # keeps the determinant of a batch with fewer items than classes above zero


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
    sparse:
        whether gradients are sparse (`AnnotatorTable`).
    device, dtype:
        of the parameters, as in torch's modules.

    Source: Chen et al. 2020 (SpeeLFC), whose matrices are transposed.

    >>> layer = SpeeLFC(n_annotators=100, n_classes=3, accuracy=0.8)
    >>> layer.confusion()[7].diagonal()
    tensor([0.8000, 0.8000, 0.8000])
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
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n_annotators, n_classes)
        require(0 < accuracy < 1, "accuracy", "between 0 and 1", accuracy)
        if diagonal is None:
            diagonal = diagonal_logit(accuracy, n_classes)
        start = diagonal * torch.eye(n_classes, device=device, dtype=dtype)
        self.table = AnnotatorTable(
            n_annotators, start, prior_precision=prior_precision, sparse=sparse
        )

    def log_confusion(self, annotator_n: Tensor) -> Tensor:
        """Log C of some annotators, with gradients, shape (n, k, l)."""
        log_confusion_nkl: Tensor = self.table(annotator_n).log_softmax(dim=-1)
        return log_confusion_nkl

    def forward(
        self,
        log_class_bk: Tensor,
        row_n: Tensor,
        annotator_n: Tensor,
        features_b: Tensor | None = None,
    ) -> Tensor:
        """See `NoiseModel.forward`."""
        log_confusion_nkl = self.log_confusion(annotator_n)
        return log_mixture(log_class_bk.index_select(0, row_n), log_confusion_nkl)

    def penalty(self, annotator_n: Tensor | None = None) -> Tensor:
        """Minus the log-prior per label (`AnnotatorTable.penalty`)."""
        return self.table.penalty(annotator_n)

    def _init_from(self, confusion_akl: Tensor) -> None:
        self.table.restart(confusion_akl.log())


class TraceReg(SpeeLFC):
    """SpeeLFC with the mean trace of the confusions as a penalty.

    ::

        penalty = strength x mean_a trace(C_a)

    Of the confusions that explain the labels equally well, the penalty prefers the least diagonal
    ones. Under diagonal dominance these are the true ones.

    Settings
    --------
    strength:
        weight of the mean trace in the loss.
    accuracy, diagonal, prior_precision, sparse, device, dtype:
        as in `SpeeLFC`.

    Source: Tanno et al. 2019.

    >>> TraceReg(n_annotators=100, n_classes=3, strength=1.0, accuracy=0.9).penalty()
    tensor(2.7000, grad_fn=<AddBackward0>)
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
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            n_annotators,
            n_classes,
            accuracy=accuracy,
            diagonal=diagonal,
            prior_precision=prior_precision,
            sparse=sparse,
            device=device,
            dtype=dtype,
        )
        require(strength >= 0, "strength", ">= 0", strength)
        self.strength = strength

    def penalty(self, annotator_n: Tensor | None = None) -> Tensor:
        """Strength x the mean trace over the given annotators, plus the log-prior's penalty."""
        who, _ = unique_annotators(annotator_n, self.n_annotators, self.table.weight.device)
        confusion_akl = self.table(who).softmax(dim=-1)
        trace = torch.einsum("akk->a", confusion_akl).mean()
        return self.strength * trace + super().penalty(annotator_n)


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

    def __init__(
        self,
        n_annotators: int,
        n_classes: int,
        *,
        volume: float = 0.01,
        accuracy: float = 0.9,
        diagonal: float | None = None,
        prior_precision: float = 0.0,
        sparse: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            n_annotators,
            n_classes,
            accuracy=accuracy,
            diagonal=diagonal,
            prior_precision=prior_precision,
            sparse=sparse,
            device=device,
            dtype=dtype,
        )
        require(volume >= 0, "volume", ">= 0", volume)
        self.volume = volume

    def class_penalty(self, log_class_bk: Tensor) -> Tensor:
        """-volume log det(F'F / b) of a batch."""
        f_bk = log_class_bk.exp()
        gram_kk = f_bk.T @ f_bk / len(f_bk)
        floor = _FLOOR * torch.eye(self.n_classes, device=gram_kk.device, dtype=gram_kk.dtype)
        return -self.volume * torch.logdet(gram_kk + floor)
