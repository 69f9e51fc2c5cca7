"""What the linear methods share: features of labelled items, and the network of the solution."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch

from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.engine.inputs import Inputs
from manyhands.methods.full_batch import FullBatchFit, FullBatchMethod, feature_matrix
from manyhands.methods.linear.weights import LinearWeights
from manyhands.networks import LogisticRegression


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
