"""SpeeLFC-D: right or wrong by the ability of the annotator and the difficulty of the item."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.noise.annotator_table import AnnotatorTable
from manyhands.noise.base import NoiseModel


class SpeeLFCD(NoiseModel):
    """A label is right with a probability that depends on annotator and item; errors are uniform.

    ::

        p = sigmoid(alpha_a beta_i),    beta_i = l1 + l2 sigmoid(g(x_i))
        P(y) = p f_y + (1 - p) (1 - f_y) / (K - 1)

    g is a network with one hidden layer on the features of the item. It is the submodule
    `difficulty` and needs a smaller learning rate than the rest (1e-4 in the paper).

    Settings
    --------
    n_features:
        numbers in the features of one item.
    n_hidden:
        hidden units of g.
    alpha:
        ability of every annotator at the start.
    l1, l2:
        least beta and its range.
    sparse:
        whether gradients are sparse (`AnnotatorTable`).
    device, dtype:
        of the parameters, as in torch's modules.

    Source: Chen et al. 2020 (SpeeLFC).

    >>> layer = SpeeLFCD(n_annotators=100, n_classes=3, n_features=5)
    >>> log_class, row, annotator = torch.zeros(2, 3).log_softmax(-1), [0, 0, 1], [7, 9, 7]
    >>> layer(log_class, torch.tensor(row), torch.tensor(annotator), torch.ones(2, 5)).shape
    torch.Size([3, 3])
    """

    needs_features = True
    learning_rate_multipliers: ClassVar[Mapping[str, float]] = {"difficulty": 0.1}

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
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n_annotators, n_classes)
        require(n_features >= 1, "n_features", ">= 1", n_features)
        require(l1 >= 0, "l1", ">= 0", l1)
        require(l2 > 0, "l2", "> 0", l2)
        self.l1, self.l2 = l1, l2
        self._middle_beta = l1 + l2 / 2
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        start = torch.full((), float(alpha), **factory)
        self.alpha = AnnotatorTable(n_annotators, start, sparse=sparse)
        self.difficulty = nn.Sequential(
            nn.Linear(n_features, n_hidden, **factory),
            nn.ReLU(),
            nn.Linear(n_hidden, 1, **factory),
        )

    def forward(
        self,
        log_class_bk: Tensor,
        row_n: Tensor,
        annotator_n: Tensor,
        features_b: Tensor | None = None,
    ) -> Tensor:
        """See `NoiseModel.forward`; without features every item has a beta of l1 + l2 / 2."""
        if features_b is None:
            beta_n = log_class_bk.new_full((), self._middle_beta)
        else:
            if len(features_b) != len(log_class_bk):
                raise DataError(
                    f"features of {len(features_b)} items and class probabilities of "
                    f"{len(log_class_bk)}; both must be of the same items"
                )
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

    def _init_from(self, confusion_akl: Tensor) -> None:
        """alpha_a = logit(mean_k C_a[k, k]) / (l1 + l2 / 2)."""
        right_a = confusion_akl.diagonal(dim1=1, dim2=2).mean(dim=1)
        self.alpha.restart(right_a.logit() / self._middle_beta)


def log_complement(log_class_nk: Tensor) -> Tensor:
    """log(1 - f_k) as the log-sum of the other classes, exact for f_k near 1."""
    n_classes = log_class_nk.shape[-1]
    own = torch.eye(n_classes, dtype=torch.bool, device=log_class_nk.device)
    others_nkl = log_class_nk.unsqueeze(-2).expand(-1, n_classes, n_classes)
    return torch.logsumexp(others_nkl.masked_fill(own, -math.inf), dim=-1)
