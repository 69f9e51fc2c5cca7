"""The softmax crowd layer: one softmax per annotator, trained with a masked cross-entropy."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from manyhands.core.settings import require_choice
from manyhands.noise.crowd_layer import CrowdLayer

TARGETS = ("labels", "softened")


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
