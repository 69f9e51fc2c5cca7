"""The softmax crowd layer: one softmax per annotator, trained with a masked cross-entropy."""

from typing import Literal

from torch import Tensor
from torch.nn import functional

from manyhands.core.settings import require_choice
from manyhands.noise.crowd_layer import CrowdLayer

TARGETS = ("labels", "softened")


class SoftmaxCrowdLayer(CrowdLayer):
    """softmax(W_a f) for each annotator, with a cross-entropy over the labels there are.

    The paper can be read in two ways. `target="labels"`: the softmax is on the layer's output and
    the target is the label said. `target="softened"`: the one-hot labels are put through a
    softmax too, so that the target of label y is softmax(one-hot(y)), e / (e + K - 1) on y.

    Source: softmax-CrowdLayer with sharpness-aware minimisation, LeWiDi.
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
    ) -> None:
        super().__init__(
            n_annotators,
            n_classes,
            kind="MW",
            scale=scale,
            prior_precision=prior_precision,
            sparse=sparse,
        )
        require_choice("target", target, TARGETS)
        self.target = target

    def log_likelihood(self, log_label_nl: Tensor, label_n: Tensor) -> Tensor:
        """Minus the cross-entropy of every annotation against its target."""
        if self.target == "labels":
            return super().log_likelihood(log_label_nl, label_n)
        soft_nl = functional.one_hot(label_n, self.n_classes).to(log_label_nl).softmax(dim=-1)
        return (soft_nl * log_label_nl).sum(dim=-1)
