"""GeoCrowdNet: the likelihood of SpeeLFC, with the classes of the network spread apart."""

import torch
from torch import Tensor

from manyhands.core.settings import require
from manyhands.noise.speelfc import SpeeLFC

_FLOOR = 1e-6  # keeps the determinant of a batch with fewer items than classes above zero


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
