"""The Crowd Mixture Model, by gradient: annotations come from M groups, people need no names."""

import math

import torch
from torch import Tensor, nn

from manyhands.core.settings import require
from manyhands.noise.base import NoiseModel


class Mixture(NoiseModel):
    """log P(y | x) = log sum_mk alpha_m f_k(x) beta_m[k, y].

    The likelihood depends on the counts of labels only: annotators are not told apart. With
    `n_features` the shares depend on the item, alpha_m(x) = softmax(linear(x)): a mixture of
    experts. Groups start at different accuracies between `lowest` and `highest`.

    Source: the likelihood (eq. 4) of Mena and Nanculef (Crowd Mixture Model), maximised directly.
    """

    def __init__(
        self,
        n_annotators: int,
        n_classes: int,
        *,
        n_groups: int = 3,
        n_features: int | None = None,
        lowest: float = 0.4,
        highest: float = 0.9,
    ) -> None:
        super().__init__(n_annotators, n_classes)
        require(n_groups >= 1, "n_groups", ">= 1", n_groups)
        require(0 < lowest <= highest < 1, "lowest, highest", "in order within 0..1",
                (lowest, highest))  # fmt: skip
        accuracies = torch.linspace(highest, lowest, n_groups).tolist()
        diagonals = [math.log(p * max(n_classes - 1, 1) / (1 - p)) for p in accuracies]
        self.beta = nn.Parameter(torch.stack([d * torch.eye(n_classes) for d in diagonals]))
        self.alpha = nn.Parameter(torch.zeros(n_groups))
        self.expert = None if n_features is None else nn.Linear(n_features, n_groups)

    def forward(
        self,
        log_class_bk: Tensor,
        row_n: Tensor,
        annotator_n: Tensor,
        features_b: Tensor | None = None,
    ) -> Tensor:
        """See `NoiseModel.forward`; who gave a label does not matter."""
        log_beta_mkl = self.beta.log_softmax(dim=-1)
        log_group_bml = torch.logsumexp(
            log_class_bk[:, None, :, None] + log_beta_mkl.unsqueeze(0), dim=2
        )
        log_alpha_bm = self.log_shares(features_b)
        return torch.logsumexp(log_alpha_bm.unsqueeze(-1) + log_group_bml, dim=1)[row_n]

    def log_shares(self, features_b: Tensor | None = None) -> Tensor:
        """Log alpha_m, shape (1, m), or (b, m) where the shares depend on the item."""
        logits = self.alpha.unsqueeze(0)
        if self.expert is not None and features_b is not None:
            logits = logits + self.expert(features_b.flatten(1))
        return logits.log_softmax(dim=-1)

    @torch.no_grad()
    def group_confusion(self) -> Tensor:
        """The confusion of every group, shape (m, k, l)."""
        return self.beta.softmax(dim=-1)
