"""A kernel as features: linear models on them are kernel models."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel

from manyhands.core.arrays import Floats
from manyhands.core.seeds import generator
from manyhands.core.settings import require
from manyhands.methods.linear.weights import as_features

_MEASURED = 1000  # items whose distances are looked at
_MOST_SEED = 2**31


@dataclass(frozen=True)
class KernelMap:
    """Features whose dot products are exp(-gamma |x - x'|^2), exactly so for the landmarks.

    ::

        phi(x) = M k(x),    k_m(x) = exp(-gamma |x - landmark_m|^2),    M = (k(landmarks))^-1/2
    """

    landmark_mj: Floats
    mixing_mm: Floats
    gamma: float

    def __call__(self, features: Any) -> Floats:
        """The mapped features, shape (i, m)."""
        near_im = rbf_kernel(as_features(features), self.landmark_mj, gamma=self.gamma)
        return np.asarray(near_im @ self.mixing_mm.T)


def fit_kernel_map(features: Any, *, n_landmarks: int = 300, seed: int = 0) -> KernelMap:
    """The Nystroem map of a radial kernel as wide as the median distance between items.

    ::

        gamma = 1 / (2 width^2),    width = median |x_i - x_i'|

    Landmarks are items drawn at random, all of them where there are no more than `n_landmarks`.
    """
    require(n_landmarks >= 1, "n_landmarks", ">= 1", n_landmarks)
    features_ij = as_features(features)
    rng = generator(seed, "kernel map")
    some = rng.permutation(len(features_ij))[:_MEASURED]
    distances = pdist(features_ij[some])
    width = float(np.median(distances)) if len(distances) else 0.0
    gamma = 1.0 / (2.0 * width**2) if width > 0 else 1.0
    made = Nystroem(
        gamma=gamma,
        n_components=min(n_landmarks, len(features_ij)),
        random_state=int(rng.integers(_MOST_SEED)),
    ).fit(features_ij)
    return KernelMap(made.components_, made.normalization_, gamma)
