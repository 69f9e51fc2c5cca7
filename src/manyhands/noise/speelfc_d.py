"""SpeeLFC-D: right or wrong by the annotator's ability and the item's difficulty."""

import math
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.noise.base import AnnotatorTable, NoiseModel


class SpeeLFCD(NoiseModel):
    """P(right) = sigmoid(alpha_a beta_i), beta_i = l1 + l2 sigmoid(g(x_i)), errors uniform.

    P(y) = p f_y + (1 - p) (1 - f_y) / (K - 1), with g a second small network on the features. It
    wants a learning rate of its own (1e-4 in the paper): its parameters are `difficulty`.

    Source: Chen et al. 2020 (SpeeLFC).
    """

    needs_features = True
    relative_rates: ClassVar[Mapping[str, float]] = {"difficulty": 0.1}

    def __init__(
        self,
        n_annotators: int,
        n_classes: int,
        *,
        n_features: int,
        n_hidden: int = 32,
        alpha: float = 0.028,
        l1: float = 0.001,
        l2: float = 100.0,
        sparse: bool = False,
    ) -> None:
        super().__init__(n_annotators, n_classes)
        require(n_features >= 1, "n_features", ">= 1", n_features)
        require(l1 >= 0, "l1", ">= 0", l1)
        require(l2 > 0, "l2", "> 0", l2)
        self.l1, self.l2 = l1, l2
        self._middling = l1 + l2 / 2
        self.alpha = AnnotatorTable(n_annotators, torch.tensor(alpha), sparse=sparse)
        self.difficulty = nn.Sequential(
            nn.Linear(n_features, n_hidden), nn.ReLU(), nn.Linear(n_hidden, 1)
        )

    def forward(
        self,
        log_class_bk: Tensor,
        row_n: Tensor,
        annotator_n: Tensor,
        features_b: Tensor | None = None,
    ) -> Tensor:
        """See `NoiseModel.forward`; without features every item is of middling difficulty."""
        if features_b is None:
            beta_n = torch.full((), self._middling, device=log_class_bk.device)
        else:
            if len(features_b) != len(log_class_bk):
                raise DataError("features and class probabilities are of different items")
            beta_b = self.l1 + self.l2 * self.difficulty(features_b.flatten(1)).squeeze(1).sigmoid()
            beta_n = beta_b.index_select(0, row_n)
        x_n1 = (self.alpha(annotator_n) * beta_n).unsqueeze(1)
        log_class_nk = log_class_bk.index_select(0, row_n)
        log_right = functional.logsigmoid(x_n1) + log_class_nk
        if self.n_classes == 1:
            return log_class_nk
        log_other_nk = log_complement(log_class_nk)
        log_wrong = functional.logsigmoid(-x_n1) - math.log(self.n_classes - 1) + log_other_nk
        return torch.logaddexp(log_right, log_wrong)

    def _start_at(self, confusion_akl: Tensor) -> None:
        """alpha_a = logit(mean_k C_a[k, k]) / beta of middling difficulty."""
        right_a = confusion_akl.diagonal(dim1=1, dim2=2).mean(dim=1)
        self.alpha.start_at(right_a.logit() / self._middling)


def log_complement(log_class_nk: Tensor) -> Tensor:
    """log(1 - f_k) as the log-sum of the other classes, exact where f_k is near 1."""
    n_classes = log_class_nk.shape[-1]
    own = torch.eye(n_classes, dtype=torch.bool, device=log_class_nk.device)
    spread = log_class_nk.unsqueeze(-2).expand(-1, n_classes, n_classes)
    return torch.logsumexp(spread.masked_fill(own, -math.inf), dim=-1)
