"""Doctor net for numbers: a head per annotator says the number its annotator would."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from manyhands.networks.annotator_heads import AnnotatorHeads


class RegressionHeads(AnnotatorHeads):
    """One head per annotator on what a network gives its last linear layer.

    ::

        mu_a(x) = W_a h(x) + b_a
        f(x) = sum_a w_a mu_a(x) + shift

    Weights are equal for all but those `left_out`, who gave no labels. As heads are linear, their
    average is one head: a prediction costs the same for any crowd. The `shift` is 0 until
    `shift_by` tells another (`weighted`).

    >>> net = RegressionHeads(nn.Linear(4, 1), n_annotators=100)
    >>> net(torch.zeros(2, 4)).shape, net.heads.weight.shape
    (torch.Size([2, 1]), torch.Size([100, 5]))
    """

    shift: Tensor

    def __init__(
        self,
        network: nn.Module,
        n_annotators: int,
        n_classes: int = 0,
        *,
        weighted: bool = False,
        left_out: Sequence[int] = (),
    ) -> None:
        super().__init__(network, n_annotators, 1, weighted=weighted, left_out=left_out)
        self.register_buffer("shift", torch.zeros(()), persistent=weighted)

    def shift_by(self, shift: float) -> None:
        """Add this to the average of the heads from now on."""
        self.shift.fill_(shift)

    def means(self, features_bh: Tensor, row_n: Tensor, annotator_n: Tensor) -> Tensor:
        """mu_a(x) of some pairs of item and annotator, shape (n,)."""
        head_nh: Tensor = self.heads(annotator_n).squeeze(1)
        return (head_nh * features_bh.index_select(0, row_n)).sum(dim=1)

    def average(self, features_bh: Tensor) -> Tensor:
        """The prediction for what the heads see, shape (b, 1)."""
        head_h = self.log_weight.exp() @ self.heads.weight
        return (features_bh @ head_h + self.shift).unsqueeze(1)
