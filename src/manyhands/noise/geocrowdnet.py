"""GeoCrowdNet: SpeeLFC's likelihood, with the network's classes spread apart."""

import torch
from torch import Tensor

from manyhands.core.settings import require
from manyhands.noise.speelfc import SpeeLFC

_LEAST = 1e-6  # keeps the determinant of a batch with fewer items than classes above zero


class GeoCrowdNet(SpeeLFC):
    """SpeeLFC with -`volume` log det(F'F / b) added to the loss, F the class probabilities (b, k).

    Confusions and classes explain the labels in many ways; the one whose class probabilities span
    the largest volume is identified under mild conditions. The term costs K x K per item.

    Source: Ibrahim, Nguyen and Fu 2023, GeoCrowdNet(F).
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
    ) -> None:
        super().__init__(
            n_annotators,
            n_classes,
            accuracy=accuracy,
            diagonal=diagonal,
            prior_precision=prior_precision,
            sparse=sparse,
        )
        require(volume >= 0, "volume", ">= 0", volume)
        self.volume = volume

    def class_penalty(self, log_class_bk: Tensor) -> Tensor:
        """-volume log det(F'F / b) of a batch."""
        f_bk = log_class_bk.exp()
        gram_kk = f_bk.T @ f_bk / len(f_bk)
        floor = _LEAST * torch.eye(self.n_classes, device=gram_kk.device, dtype=gram_kk.dtype)
        return -self.volume * torch.logdet(gram_kk + floor)
