"""What the linear methods share: the classifier that they learn, and its network."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.linalg import helmert

from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.core.kernels import kernel
from manyhands.engine.inputs import Inputs
from manyhands.methods.full_batch import FullBatchFit, FullBatchMethod, feature_matrix
from manyhands.networks import LogisticRegression


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
class LinearFit:
    """A linear classifier, the confusions of the annotators, and the objective of every step."""

    weights: LinearWeights
    confusion_akl: Floats
    objective: tuple[float, ...]
    converged: bool


@dataclass(frozen=True)
class LinearMethod(FullBatchMethod):
    """A logistic regression with annotators. The solution does not depend on the seed.

    `settings` are passed to the solver, which takes features, annotations and `max_iter`. Items
    without labels are left out.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=lambda: {"epochs": 1000})
    network_class = LogisticRegression
    solve: ClassVar[Callable[..., LinearFit]]

    def fit(
        self, inputs: Inputs, annotations: Annotations, *, max_iter: int, seed: int
    ) -> FullBatchFit:
        """See `FullBatchMethod.fit`."""
        features_ij, labelled = labelled_items(inputs, annotations)
        fit = self.solve(features_ij, labelled, max_iter=max_iter, **self.settings)
        coefficient_jk, intercept_k = fit.weights.coefficient_jk, fit.weights.intercept_k
        n_features, n_classes = coefficient_jk.shape
        network = self.build_network(
            {"n_features": n_features, "n_classes": n_classes},
            {"linear.weight": coefficient_jk.T, "linear.bias": intercept_k},
        )
        return FullBatchFit(network, fit.confusion_akl, fit.objective)


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


def labelled_items(inputs: Inputs, annotations: Annotations) -> tuple[Floats, Annotations]:
    """The features and the labels of the items that have labels."""
    labelled = np.flatnonzero(annotations.labels_per_item > 0)
    features_ij = feature_matrix(inputs, torch.from_numpy(labelled))
    if not np.isfinite(features_ij).all():
        raise DataError("features: some are not finite; fill them or leave their items out")
    return features_ij, annotations[labelled]


def random_confusions(attentive_a: Floats, n_classes: int) -> Floats:
    """Confusions of annotators who attend this often and otherwise give any label, (a, k, l)."""
    right_akl = attentive_a[:, None, None] * np.eye(n_classes)
    return np.asarray(right_akl + (1.0 - attentive_a)[:, None, None] / n_classes)
