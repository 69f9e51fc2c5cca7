"""The level of a network that gives numbers: where all its predictions stand together."""

import numpy as np

from manyhands.aggregation.sums import item_sums
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.noise import NumberLayer


def best_shift(layer: NumberLayer, annotations: Annotations, value_i: Floats) -> float:
    """What to add to every f(x_i) for the labels to be most probable, annotators as they are.

    The log density of an item's labels (`NumberLayer.log_likelihood`) is quadratic in it, so::

        c = sum_i pull_i / (1 + v S_i)  /  sum_i S_i / (1 + v S_i)
        pull_i = sum_n precision_a scale_a (y_n - scale_a f - bias_a)
        S_i = sum_n precision_a scale_a^2
    """
    held, who = layer.portrait, annotations.annotator
    scale_n, weight_n = held["scale"][who], held["precision"][who]
    variance = layer.error_variance
    if layer.precision == "equal":  # labels weigh alike in training, and items have no error
        weight_n, variance = np.ones_like(weight_n), 0.0
    off_n = annotations.label - scale_n * value_i[annotations.item] - held["bias"][who]
    pull_i = item_sums(annotations, weight_n * scale_n * off_n)
    size_i = item_sums(annotations, weight_n * scale_n**2)
    share_i = 1.0 / (1.0 + variance * size_i)
    whole = float((size_i * share_i).sum())
    return float((pull_i * share_i).sum()) / whole if whole > 0 else 0.0
