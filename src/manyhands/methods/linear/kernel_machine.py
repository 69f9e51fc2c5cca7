"""Personal classifiers on the features of a radial kernel, approximated by landmarks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from scipy.spatial.distance import pdist
from sklearn.kernel_approximation import Nystroem
from torch import Tensor, nn

from manyhands.annotations import Annotations
from manyhands.core.settings import generator, require
from manyhands.engine.inputs import Inputs
from manyhands.methods.base import About, Method, Paper
from manyhands.methods.full_batch import FullBatchFit, FullBatchMethod
from manyhands.methods.linear.base import as_features, labelled_items
from manyhands.methods.linear.personal import fit_personal
from manyhands.networks.mlp import flat
from manyhands.networks.sizes import require_size

_MAX_MEASURED = 1000  # items whose distances are measured
_MAX_SEED = 2**31


class KernelClassifier(nn.Module):
    """Logistic regression on the values of a radial kernel at some landmarks.

    ::

        logits(x) = V k(x) + v,    k_m(x) = exp(-gamma |x - landmark_m|^2)

    Landmarks, gamma and V are set once and not learnt by gradient; unused landmarks have V = 0.
    It computes in double precision: the kernels of close landmarks are almost equal, and V is
    large.
    """

    landmark: Tensor
    gamma: Tensor

    def __init__(self, n_features: int, n_classes: int, n_landmarks: int) -> None:
        super().__init__()
        require_size("n_landmarks", n_landmarks)
        sizes = {"n_features": n_features, "n_classes": n_classes, "n_landmarks": n_landmarks}
        self.settings, self.n_features = sizes, n_features
        self.register_buffer("landmark", torch.zeros(n_landmarks, n_features).double())
        self.register_buffer("gamma", torch.ones(()).double())
        self.linear = nn.Linear(n_landmarks, n_classes).double()
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, inputs_b: Tensor) -> Tensor:
        """Logits of the classes, shape (b, k)."""
        features_bj = flat(inputs_b, self.n_features).double()
        near_bm = torch.exp(-self.gamma * torch.cdist(features_bj, self.landmark).square())
        logits_bk: Tensor = self.linear(near_bm).float()
        return logits_bk


def fit_kernel_map(features: Any, *, n_landmarks: int = 300, seed: int = 0) -> Nystroem:
    """Fit the Nystroem map of a radial kernel as wide as the median distance between items.

    Dot products of its features phi are exp(-gamma |x - x'|^2), exactly so for the landmarks::

        phi(x) = M k(x),    k_m(x) = exp(-gamma |x - landmark_m|^2),    M = (k(landmarks))^-1/2
        gamma = 1 / (2 width^2),    width = median |x_i - x_i'|

    The landmarks are items drawn at random, or all items if there are at most `n_landmarks`.
    """
    require(n_landmarks >= 1, "n_landmarks", ">= 1", n_landmarks)
    features_ij = as_features(features)
    rng = generator(seed, "kernel map")
    some = rng.permutation(len(features_ij))[:_MAX_MEASURED]
    distances = pdist(features_ij[some])
    width = float(np.median(distances)) if len(distances) else 0.0
    gamma = 1.0 / (2.0 * width**2) if width > 0 else 1.0
    return Nystroem(
        gamma=gamma,
        n_components=min(n_landmarks, len(features_ij)),
        random_state=int(rng.integers(_MAX_SEED)),
    ).fit(features_ij)


@dataclass(frozen=True)
class KernelPersonal(FullBatchMethod):
    """Personal classifiers on the features of a radial kernel.

    The landmarks of the kernel are labelled items drawn by the seed. If there are at most
    `n_landmarks` labelled items, all of them are landmarks and the kernel is exact. See
    `fit_kernel_map` and `fit_personal`; `settings` are passed to the latter.
    """

    n_landmarks: int = 300
    settings: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=lambda: {"epochs": 1000})
    network_class = KernelClassifier

    def fit(
        self, inputs: Inputs, annotations: Annotations, *, max_iter: int, seed: int
    ) -> FullBatchFit:
        """See `FullBatchMethod.fit`."""
        features_ij, labelled = labelled_items(inputs, annotations)
        kernel_map = fit_kernel_map(features_ij, n_landmarks=self.n_landmarks, seed=seed)
        mapped_im = kernel_map.transform(features_ij)
        fit = fit_personal(mapped_im, labelled, max_iter=max_iter, **self.settings)
        missing = ((0, self.n_landmarks - len(kernel_map.components_)), (0, 0))  # 0 and unused
        landmark_mj = np.pad(kernel_map.components_, missing)
        weight_mk = np.pad(kernel_map.normalization_.T @ fit.weights.coefficient_jk, missing)
        n_features, n_classes = landmark_mj.shape[1], weight_mk.shape[1]
        network = self.build_network(
            {"n_features": n_features, "n_classes": n_classes, "n_landmarks": self.n_landmarks},
            {
                "landmark": landmark_mj,
                "gamma": kernel_map.gamma,
                "linear.weight": weight_mk.T,
                "linear.bias": fit.weights.intercept_k,
            },
        )
        return FullBatchFit(network, fit.confusion_akl, fit.objective)


ROWS: dict[str, Method] = {
    "pc-gp": KernelPersonal(
        paper=Paper(preset="p1/sentiment", model={"n_landmarks": 1000}),
        about=About(
            source="Kajino, Tsuboi and Kashima 2012, on a kernel's features",
            equation="pc on phi(x), phi(x) . phi(x') = exp(-gamma |x - x'|^2)",
            cost="a pass over the labels with landmarks x K each",
            when="as pc, where no linear boundary separates the classes",
        ),
    ),
}
