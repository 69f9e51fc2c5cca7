"""A network that compares two items by the score that another network gives each of them."""

import torch
from torch import Tensor, nn

from manyhands.core.errors import DataError
from manyhands.core.settings import require

PREFIX = "pair:"  # before the name of the network that scores one item


class PairNetwork(nn.Module):
    """Logits of left, right and, with three classes, tie, from the scores of two items.

    ::

        logits = (x / 2, -x / 2, tau),  x = score(left) - score(right)

    so that the probabilities are those of Bradley-Terry, with ties those of Davidson. Swapping the
    two items swaps the first two probabilities exactly. Inputs have shape (b, 2, ...). `mean` and
    `deviation` scale the features of an item before they are scored.

    >>> network = PairNetwork(nn.Linear(3, 1), n_classes=2)
    >>> network(torch.zeros(4, 2, 3)).softmax(dim=1).tolist()[0]
    [0.5, 0.5]
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, scorer: nn.Module, n_classes: int, n_features: int = 1) -> None:
        super().__init__()
        require(n_classes in (2, 3), "n_classes", "2 (left, right) or 3 (and tie)", n_classes)
        self.scorer, self.n_classes = scorer, n_classes
        self.tau = nn.Parameter(torch.zeros(n_classes - 2))
        self.register_buffer("mean", torch.zeros(n_features))
        self.register_buffer("deviation", torch.ones(n_features))

    def scores(self, inputs_b: Tensor) -> Tensor:
        """The score of every item, shape (b,)."""
        scores: Tensor = self.scorer((inputs_b - self.mean) / self.deviation)
        return scores.reshape(len(inputs_b))

    def forward(self, inputs_b: Tensor) -> Tensor:
        """Logits of the classes, shape (b, k)."""
        if inputs_b.ndim < 3 or inputs_b.shape[1] != 2:
            raise DataError(
                f"a pair of items has the shape (2, ...); got {tuple(inputs_b.shape[1:])}"
            )
        half_b = (self.scores(inputs_b[:, 0]) - self.scores(inputs_b[:, 1])) / 2.0
        ties = self.tau.expand(len(half_b), self.n_classes - 2)
        return torch.cat([torch.stack([half_b, -half_b], dim=1), ties], dim=1)

    def set_scaling(self, mean: Tensor, deviation: Tensor) -> None:
        """Take features as they are from now on, where scaled ones were trained on."""
        self.mean.copy_(mean)
        self.deviation.copy_(deviation)
