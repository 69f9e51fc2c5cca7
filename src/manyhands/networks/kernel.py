"""A linear classifier on a kernel's features, as a network."""

from typing import Any

import torch
from torch import Tensor, nn

from manyhands.networks.flat import flat
from manyhands.networks.logistic import LogisticRegression
from manyhands.networks.sizes import require_size


class KernelClassifier(nn.Module):
    """Logistic regression on the features of a radial kernel, by its values at some landmarks.

    ::

        logits(x) = V k(x) + v,    k_m(x) = exp(-gamma |x - landmark_m|^2)

    Landmarks, gamma and V are put in once and not learnt by gradient; landmarks that are not needed
    have a V of 0. All is in double precision: kernels of near landmarks are nearly equal, and V
    large. It is made of the logistic regression for the same inputs, which is where it takes their
    size from.
    """

    landmark: Tensor
    gamma: Tensor

    def __init__(
        self, network: LogisticRegression, n_annotators: int, n_classes: int, *, n_landmarks: int
    ) -> None:
        super().__init__()
        require_size("n_landmarks", n_landmarks)
        self.asked_for, self.n_features = type(network).__name__, network.n_features
        self.register_buffer("landmark", torch.zeros(n_landmarks, network.n_features).double())
        self.register_buffer("gamma", torch.ones(()).double())
        self.linear = nn.Linear(n_landmarks, n_classes).double()
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    @property
    def settings(self) -> dict[str, Any]:
        """What makes the same of the network asked for, but for the weights."""
        return {"n_landmarks": len(self.landmark)}

    def forward(self, inputs_b: Tensor) -> Tensor:
        """Logits of the classes, shape (b, k)."""
        features_bj = flat(inputs_b, self.n_features).double()
        near_bm = torch.exp(-self.gamma * torch.cdist(features_bj, self.landmark).square())
        logits_bk: Tensor = self.linear(near_bm).float()
        return logits_bk
