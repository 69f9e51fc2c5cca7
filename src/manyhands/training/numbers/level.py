"""What labels say of a network as a whole: its level, and how far off it is."""

import math

import numpy as np
from scipy.optimize import minimize_scalar

from manyhands.aggregation.sums import item_sums
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.noise import NumberLayer

_LOG_VARIANCES = math.log(1e-4), math.log(1e2)  # of the network's error, standardised


def best_shift(layer: NumberLayer, annotations: Annotations, value_i: Floats) -> float:
    """What to add to every f(x_i) for the labels to be most probable, annotators as they are.

    The log density of an item's labels (`NumberLayer.log_likelihood`) is quadratic in it, so::

        c = sum_i pull_i / (1 + v S_i)  /  sum_i S_i / (1 + v S_i)
        pull_i = sum_n precision_a scale_a (y_n - scale_a f - bias_a)
        S_i = sum_n precision_a scale_a^2
    """
    pull_i, size_i = _sums(layer, annotations, value_i)
    # With equal precisions labels weigh alike in training, and items have no error of their own.
    variance = 0.0 if layer.precision == "equal" else layer.error_variance
    share_i = 1.0 / (1.0 + variance * size_i)
    whole = float((size_i * share_i).sum())
    return float((pull_i * share_i).sum()) / whole if whole > 0 else 0.0


def best_error(layer: NumberLayer, annotations: Annotations, value_i: Floats) -> float:
    """The variance v of the network's error under which the labels are most probable.

    Up to what does not depend on it, the log density of an item's labels is

    ::

        v pull_i^2 / 2 (1 + v S_i) - log(1 + v S_i) / 2
    """
    pull_i, size_i = _sums(layer, annotations, value_i)

    def minus_log(log_variance: float) -> float:
        variance = math.exp(log_variance)
        weigh_i = 1.0 + variance * size_i
        return float((np.log(weigh_i) - variance * pull_i**2 / weigh_i).sum()) / 2.0

    found = minimize_scalar(minus_log, bounds=_LOG_VARIANCES, method="bounded")
    return math.exp(float(found.x))


def _sums(layer: NumberLayer, annotations: Annotations, value_i: Floats) -> tuple[Floats, Floats]:
    """pull_i and S_i of every item."""
    held, who = layer.portrait, annotations.annotator
    scale_n = held["scale"][who]
    weight_n = held["precision"][who] * scale_n
    off_n = annotations.label - scale_n * value_i[annotations.item] - held["bias"][who]
    return item_sums(annotations, weight_n * off_n), item_sums(annotations, weight_n * scale_n)
