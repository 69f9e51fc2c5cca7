"""A linear classifier on the features of a kernel, as a network."""

from typing import Any

import torch
from torch import Tensor, nn

from manyhands.networks.derived_network import DerivedNetwork
from manyhands.networks.flat import flat
from manyhands.networks.logistic import LogisticRegression
from manyhands.networks.sizes import require_size


class KernelClassifier(DerivedNetwork):
    """Logistic regression on the values of a radial kernel at some landmarks.

    ::

        logits(x) = V k(x) + v,    k_m(x) = exp(-gamma |x - landmark_m|^2)

    Landmarks, gamma and V are set by the solver and not learnt by gradient. Unused landmarks have
    V = 0. The computation is in double precision, because the kernels of close landmarks are nearly
    equal and V is large. The given logistic regression only sets the size of the inputs.

    >>> network = KernelClassifier(LogisticRegression(5, 3), 100, 3, n_landmarks=7)
    >>> network(torch.zeros(2, 5)).shape
    torch.Size([2, 3])
    """

    landmark: Tensor
    gamma: Tensor

    def __init__(
        self, network: LogisticRegression, n_annotators: int, n_classes: int, *, n_landmarks: int
    ) -> None:
        super().__init__(network)
        require_size("n_landmarks", n_landmarks)
        self.n_features = network.n_features
        self.register_buffer("landmark", torch.zeros(n_landmarks, network.n_features).double())
        self.register_buffer("gamma", torch.ones(()).double())
        self.linear = nn.Linear(n_landmarks, n_classes).double()
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    @property
    def settings(self) -> dict[str, Any]:
        """See `DerivedNetwork.settings`."""
        return {"n_landmarks": len(self.landmark)}

    def forward(self, inputs_b: Tensor) -> Tensor:
        """Logits of the classes, shape (b, k)."""
        features_bj = flat(inputs_b, self.n_features).double()
        kernel_bm = torch.exp(-self.gamma * torch.cdist(features_bj, self.landmark).square())
        logits_bk: Tensor = self.linear(kernel_bm).float()
        return logits_bk
