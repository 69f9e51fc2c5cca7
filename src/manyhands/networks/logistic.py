"""Multinomial logistic regression, as a network."""

from torch import Tensor, nn

from manyhands.networks.flat import flat
from manyhands.networks.sizes import require_size


class LogisticRegression(nn.Module):
    """One linear map to the class logits, which starts at zero; inputs are flattened.

    The loss is convex in the weights, so the start does not change the optimum. At zero all classes
    are equally probable, and no seed is needed. Chen et al. 2020 (SpeeLFC) use it on the 124
    features of the music genres.

    >>> import torch
    >>> LogisticRegression(124, 10)(torch.ones(1, 124)).softmax(dim=1)[0, 0].item()
    0.10000000149011612
    """

    def __init__(self, n_features: int, n_classes: int) -> None:
        super().__init__()
        require_size("n_features", n_features)
        require_size("n_classes", n_classes)
        self.n_features, self.n_classes = n_features, n_classes
        self.settings = {"n_features": n_features, "n_classes": n_classes}
        self.linear = nn.Linear(n_features, n_classes)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, inputs_b: Tensor) -> Tensor:
        """Logits of the classes, shape (b, k)."""
        logits_bk: Tensor = self.linear(flat(inputs_b, self.n_features))
        return logits_bk
