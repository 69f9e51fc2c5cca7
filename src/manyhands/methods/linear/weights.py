"""The linear classifier that every method of this folder learns, and its parametrisation."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import helmert

from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.core.kernels import kernel


@dataclass(frozen=True)
class LinearWeights:
    """A linear classifier: f_k(x) = softmax_k(sum_j x_j coefficient[j,k] + intercept[k]).

    >>> LinearWeights(np.array([[1.0, -1.0]]), np.zeros(2)).log_class([[0.0]]).tolist()
    [[-0.6931471805599453, -0.6931471805599453]]
    """

    coefficient_jk: Floats
    intercept_k: Floats

    def log_class(self, features: Any) -> Floats:
        """Log-probabilities of the classes, shape (i, k)."""
        features_ij = as_features(features)
        if features_ij.shape[1] != len(self.coefficient_jk):
            raise DataError(
                f"{features_ij.shape[1]} features per item where the weights are of "
                f"{len(self.coefficient_jk)}"
            )
        return log_softmax(features_ij @ self.coefficient_jk + self.intercept_k)


@dataclass(frozen=True)
class Contrasts:
    """Weights W (j, k) whose rows sum to 0, as W = V B^T with free contrasts V (j, k - 1).

    Adding one vector to the weights of all classes changes no probability, and the best penalised
    weights always sum to 0 over the classes. In V the optimum is unique, all classes are treated
    alike, and norms are kept: |W| = |V|. The last row of V belongs to the intercept.
    """

    n_classes: int

    @cached_property
    def basis_kc(self) -> Floats:
        """B: orthonormal columns, each summing to 0."""
        return np.ascontiguousarray(helmert(self.n_classes).T)

    def of(self, weights: LinearWeights) -> Floats:
        """V of these weights."""
        stacked_jk = np.vstack([weights.coefficient_jk, weights.intercept_k])
        return np.ascontiguousarray(stacked_jk @ self.basis_kc)

    def weights(self, contrast_jc: Floats) -> LinearWeights:
        """The weights of V."""
        stacked_jk = contrast_jc @ self.basis_kc.T
        return LinearWeights(stacked_jk[:-1], stacked_jk[-1])


def as_features(features: Any) -> Floats:
    """Features as finite 64-bit numbers, one row per item."""
    try:
        features_ij = np.ascontiguousarray(features, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("features must be numbers, a row of equal length per item") from None
    if features_ij.ndim != 2:
        raise DataError(f"features must have the shape (items, features); got {features_ij.shape}")
    if not np.isfinite(features_ij).all():
        row, column = np.argwhere(~np.isfinite(features_ij))[0]
        raise DataError(
            f"features: row {row}, column {column} is {features_ij[row, column]}; "
            "fill it or leave the item out"
        )
    return features_ij


def check_features(features: Any, annotations: Annotations) -> tuple[Floats, Annotations]:
    """Features and class labels of the same items; raise an error if they do not match."""
    features_ij = as_features(features)
    ann = annotations.as_kind("classes")
    if len(features_ij) != ann.n_items:
        raise DataError(f"{len(features_ij)} rows of features for {ann.n_items} items")
    if ann.n_annotations == 0:
        raise DataError("there is not a single label; nothing can be learnt")
    return features_ij, ann


def with_ones(features_ij: Floats) -> Floats:
    """The features with a last column of ones, for the intercept."""
    return np.hstack([features_ij, np.ones((len(features_ij), 1))])


@kernel
def log_softmax(score_ik: Floats) -> Floats:
    """Turn scores into log-probabilities, in place."""
    for i in range(score_ik.shape[0]):
        row = score_ik[i]
        top = row[0]
        for k in range(1, len(row)):
            top = max(top, row[k])
        total = 0.0
        for k in range(len(row)):
            total += np.exp(row[k] - top)
        shift = top + np.log(total)
        for k in range(len(row)):
            row[k] -= shift
    return score_ik
