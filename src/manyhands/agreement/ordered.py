"""The order of classes, and the weights of agreement that follow from it."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from manyhands.annotations import Annotations, Vocabulary
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.limits import product, require_memory
from manyhands.core.settings import require, require_choice

Weights = Literal["linear", "quadratic", "ordinal"]
WEIGHTS = ("linear", "quadratic", "ordinal")


def in_order(annotations: Annotations, order: Sequence[Any] | None) -> AnyArray:
    """The codes of class labels, 0 for the lowest class of the order; by default their codes."""
    if order is None:
        return annotations.label
    place_k = Vocabulary.of(list(order), "class").codes(annotations.classes.tolist())
    complete = sorted(place_k.tolist()) == list(range(annotations.n_classes))
    listed = ", ".join(map(str, annotations.classes.tolist()))
    require(complete, "order", f"all classes once ({listed})", list(order))
    return np.asarray(place_k[annotations.label])


def weight_matrix(weights: Weights | None, n_classes: int) -> Floats | None:
    """How far two classes agree, by their places in the order; None for all or nothing.

    With a distance d between places and K classes::

        linear = 1 - d / (K - 1),   quadratic = 1 - d^2 / (K - 1)^2
        ordinal = 1 - d (d + 1) / (K (K - 1))        (Gwet 2014)

    >>> weight_matrix("linear", 3).tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    """
    if weights is None:
        return None
    require_choice("weights", weights, WEIGHTS)
    require_memory(
        "weighted agreement", 24.0 * n_classes**2, product(n_classes, n_classes, of="classes"),
        "leave the weights out",
    )  # fmt: skip
    place = np.arange(n_classes, dtype=np.float64)
    distance = np.abs(place[:, None] - place[None, :])
    longest = max(n_classes - 1.0, 1.0)
    if weights == "linear":
        return np.asarray(1.0 - distance / longest)
    if weights == "quadratic":
        return np.asarray(1.0 - distance**2 / longest**2)
    return np.asarray(1.0 - distance * (distance + 1.0) / (n_classes * longest))
