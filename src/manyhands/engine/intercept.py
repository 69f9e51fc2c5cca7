"""What is said of a network as a whole: its level, its size, and how far off it is."""

import numpy as np
from scipy.stats import norm

from manyhands.aggregation.sums import item_sums
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.noise import RegressionLayer


def best_shift(layer: RegressionLayer, annotations: Annotations, value_i: Floats) -> float:
    """What to add to every f(x_i) for the labels to be most probable, annotators as they are.

    The log density of an item's labels (`RegressionLayer.joint_log_prob`) is quadratic in it, so::

        c = sum_i pull_i / (1 + v S_i)  /  sum_i S_i / (1 + v S_i)
        pull_i = sum_n precision_a scale_a (y_n - scale_a f - bias_a)
        S_i = sum_n precision_a scale_a^2
    """
    weight_n, scale_n, off_n = _parts(layer, annotations, value_i)
    pull_i = item_sums(annotations, weight_n * off_n)
    size_i = item_sums(annotations, weight_n * scale_n)
    # With equal precisions labels weigh alike in training, and items have no error of their own.
    variance = 0.0 if layer.precision == "equal" else layer.error_variance
    share_i = 1.0 / (1.0 + variance * size_i)
    whole = float((size_i * share_i).sum())
    return float((pull_i * share_i).sum()) / whole if whole > 0 else 0.0


def best_size(layer: RegressionLayer, annotations: Annotations) -> float:
    """What to multiply every f(x_i) by, and divide scales by, for the prior to be best.

    The labels do not tell: scale_a f is the same. sum_a (scale_a / c - 1)^2, over those who gave
    labels, is least at

    ::

        c = sum_a scale_a^2 / sum_a scale_a
    """
    scale_a = layer.profile["scale"][annotations.labels_per_annotator > 0]
    total = float(scale_a.sum())
    if "S" not in layer.kind or total <= 0:
        return 1.0
    return float((scale_a**2).sum()) / total


def expected_error(layer: RegressionLayer, annotations: Annotations, value_i: Floats) -> float:
    """The variance v of the network's error as the labels of items tell it, without a bias.

    Labels of an item share its error and nothing else, whatever the noises are. So, with
    r_n = y_n - scale_a f - bias_a and weights w_n = precision_a scale_a,

    ::

        v = sum_i num_i / sum_i den_i
        num_i = sum over pairs w_n r_n w_m r_m,  den_i = sum over pairs w_n scale_n w_m scale_m

    Where no item has two labels, the noises are believed: num_i = sum_n w_n^2 r_n^2 - w_n scale_n.
    Of this estimate, with its standard error, the mean over v > 0 is given: where labels are few or
    noisy it may itself be 0 or less, on which nobody should rely.
    """
    weight_n, scale_n, off_n = _parts(layer, annotations, value_i)
    pulls_n, sizes_n = weight_n * off_n, weight_n * scale_n
    single_i, own_i = item_sums(annotations, pulls_n**2), item_sums(annotations, sizes_n**2)
    num_i = item_sums(annotations, pulls_n) ** 2 - single_i
    den_i = item_sums(annotations, sizes_n) ** 2 - own_i
    if not (annotations.labels_per_item > 1).any():
        num_i, den_i = single_i - item_sums(annotations, sizes_n), own_i
    estimate = float(num_i.sum() / den_i.sum())
    doubt = float(np.sqrt(((num_i - estimate * den_i) ** 2).sum()) / den_i.sum())
    if doubt == 0:
        return max(estimate, 0.0)
    # exp(log pdf - log cdf): either alone is 0 where the estimate is far below 0
    at = estimate / doubt
    return estimate + doubt * float(np.exp(norm.logpdf(at) - norm.logcdf(at)))


def _parts(
    layer: RegressionLayer, annotations: Annotations, value_i: Floats
) -> tuple[Floats, Floats, Floats]:
    """precision_a scale_a, scale_a, and y_n - scale_a f - bias_a of every label."""
    validation, who = layer.profile, annotations.annotator
    scale_n = validation["scale"][who]
    off_n = annotations.label - scale_n * value_i[annotations.item] - validation["bias"][who]
    return validation["precision"][who] * scale_n, scale_n, off_n
