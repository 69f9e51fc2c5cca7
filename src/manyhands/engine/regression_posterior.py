"""What network and labels together say about numbers, the network and the annotators.

Labels are standardised. With the number z_i = f(x_i) + error of variance v, and its labels
y_n = scale_a z_i + bias_a + noise of precision_a, every label has the residual
r_n = y_n - scale_a f(x_i) - bias_a and the weight w_n = precision_a scale_a.
"""

from collections.abc import Mapping

import numpy as np
from scipy import special
from scipy.stats import norm

from manyhands.aggregation import Consensus, Quality
from manyhands.aggregation.evidence import CROWD_LABELS
from manyhands.aggregation.sums import annotator_sums, item_sums
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.engine.task import NEEDS_FEATURES, TargetScaler
from manyhands.evaluation.scores import LEVEL
from manyhands.noise import RegressionLayer
from manyhands.noise.regression import LEAST_VARIANCE

Profile = Mapping[str, Floats]  # scale, bias and precision of every annotator
_MIN_PRIOR = 1e-3  # labels that a prior is worth at least, so that intervals are finite


def best_shift(
    layer: RegressionLayer,
    annotations: Annotations,
    value_i: Floats,
    weight_i: Floats | None = None,
) -> float:
    """What to add to every f(x_i) for the labels to be most probable, annotators as they are.

    The log density of an item's labels (`RegressionLayer.joint_log_prob`) is quadratic in it, so,
    with items that count alike or by their weights::

        c = sum_i pull_i / (1 + v S_i)  /  sum_i S_i / (1 + v S_i)
        pull_i = sum_n w_n r_n,   S_i = sum_n w_n scale_n
    """
    weight_n, scale_n, off_n = _residuals(layer.profile, annotations, value_i)
    pull_i = item_sums(annotations, weight_n * off_n)
    size_i = item_sums(annotations, weight_n * scale_n)
    # With equal precisions labels weigh alike in training, and items have no error of their own.
    variance = layer.error_variance if layer.precision == "own" else 0.0
    share_i = (1.0 if weight_i is None else weight_i) / (1.0 + variance * size_i)
    whole = float((size_i * share_i).sum())
    return float((pull_i * share_i).sum()) / whole if whole > 0 else 0.0


def best_size(layer: RegressionLayer, annotations: Annotations) -> float:
    """What to multiply every f(x_i) by, and divide scales by, for the prior to be best.

    The labels do not tell: scale_a f is the same. sum_a (scale_a / c - 1)^2, over those who gave
    labels, is least at c = sum_a scale_a^2 / sum_a scale_a.
    """
    scale_a = layer.profile["scale"][annotations.labels_per_annotator > 0]
    total = float(scale_a.sum())
    if "S" not in layer.kind or total <= 0:
        return 1.0
    return float((scale_a**2).sum()) / total


def expected_error(layer: RegressionLayer, annotations: Annotations, value_i: Floats) -> float:
    """The variance v of the network's error as the labels of items tell it, without a bias.

    Labels of an item share its error and nothing else, whatever the noises are::

        v = sum_i num_i / sum_i den_i
        num_i = sum over pairs w_n r_n w_m r_m,  den_i = sum over pairs w_n scale_n w_m scale_m

    Where no item has two labels, the noises are believed: num_i = sum_n w_n^2 r_n^2 - w_n scale_n.
    Of this estimate, with its standard error, the mean over v > 0 is given: where labels are few or
    noisy it may itself be 0 or less, on which nobody should rely.
    """
    weight_n, scale_n, off_n = _residuals(layer.profile, annotations, value_i)
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


def share_noise(layer: RegressionLayer, annotations: Annotations, value_i: Floats) -> None:
    """Set one noise for all annotators, and the network's error, from what labels of an item share.

    v = sum of r_n r_m over pairs of labels of an item / that of scale_n scale_m, between 0 and the
    mean square; the noise is the rest of the mean square. Where no item has two labels, half of the
    mean square is the network's error.
    """
    profile = layer.profile
    _, scale_n, off_n = _residuals(profile, annotations, value_i)
    pairs = [
        float((item_sums(annotations, each_n) ** 2).sum() - (each_n**2).sum())
        for each_n in (off_n, scale_n)
    ]
    square, scale2 = float((off_n**2).mean()), float((scale_n**2).mean())
    error = pairs[0] / pairs[1] if pairs[1] > 0 else square / 2 / scale2
    error = min(max(error, 0.0), square / scale2)
    layer.init_from_profile(
        precision_a=1.0 / max(square - scale2 * error, LEAST_VARIANCE),
        error_variance=max(error, LEAST_VARIANCE),
        bias_a=profile["bias"],
        scale_a=profile["scale"],
    )


def regression_consensus(
    layer: RegressionLayer, scaler: TargetScaler, annotations: Annotations, value_i: Floats
) -> Consensus:
    """Network and labels as a consensus, in the unit of the labels.

    ::

        precision_i = 1 / v + sum_n w_n scale_n,   mean_i = f(x_i) + sum_n w_n r_n / precision_i

    Quality is the share of signal in an annotator's labels:
    scale_a^2 between / (scale_a^2 between + noise_a^2), with the variance between the items.
    Annotators whom the layer does not know come last, and are average ones.
    """
    n_unseen = annotations.n_annotators - layer.n_annotators
    average = {"scale": 1.0, "bias": 0.0, "precision": 1.0 / float(layer.crowd_variance)}
    known = layer.profile
    profile = {
        name: np.append(known[name], np.full(n_unseen, value)) for name, value in average.items()
    }
    standardised = scaler.transform_labels(annotations)
    weight_n, scale_n, off_n = _residuals(profile, standardised, value_i)
    precision_i = 1.0 / layer.new_error_variance + item_sums(annotations, weight_n * scale_n)
    mean_i = value_i + item_sums(annotations, weight_n * off_n) / precision_i
    variance_i = 1.0 / precision_i
    between = float(np.var(mean_i) + np.mean(variance_i))
    signal_a = profile["scale"] ** 2 * between
    least_a, most_a = _noise_interval(profile["precision"], annotations.labels_per_annotator)
    return Consensus.from_values(
        annotations,
        scaler.inverse_transform(mean_i),
        scaler.scale**2 * variance_i,
        between=scaler.scale**2 * between,
        quality=Quality.from_interval(
            signal_a / (signal_a + 1.0 / profile["precision"]),
            signal_a / (signal_a + most_a),
            signal_a / (signal_a + least_a),
        ),
        annotator_traits=_traits(layer, scaler.scale, profile, annotations, mean_i),
        cannot_continue=NEEDS_FEATURES,
    )


def _traits(
    layer: RegressionLayer,
    unit: float,
    profile: Profile,
    annotations: Annotations,
    mean_i: Floats,
) -> dict[str, AnyArray]:
    """Bias, scale and noise in the unit of the labels, each with its 95 % interval.

    A label is mean + scale (z - mean) + bias + noise, with the mean of all labels. The intervals
    treat the items' numbers as given.
    """
    labels_a, precision_a = annotations.labels_per_annotator, profile["precision"]
    wide = special.ndtri((1.0 + LEVEL) / 2.0)
    square_a = annotator_sums(annotations, mean_i[annotations.item] ** 2)
    traits: dict[str, AnyArray] = {}
    for name, kind, weight_a, size in (
        ("bias", "B", labels_a, unit),
        ("scale", "S", square_a, 1.0),
    ):
        prior = max(layer.strengths[f"{name}_strength"], _MIN_PRIOR) / float(layer.crowd_variance)
        doubt_a = (precision_a * weight_a + prior) ** -0.5
        reach_a = wide * doubt_a * (kind in layer.kind)  # a model without it is certain of it
        value_a = profile[name]
        traits |= {
            name: size * value_a,
            f"{name}_low": size * (value_a - reach_a),
            f"{name}_high": size * (value_a + reach_a),
        }
    least_a, most_a = _noise_interval(precision_a, labels_a)
    return traits | {
        "noise": unit * precision_a**-0.5,
        "noise_low": unit * np.sqrt(least_a),
        "noise_high": unit * np.sqrt(most_a),
    }


def _noise_interval(precision_a: Floats, labels_a: AnyArray) -> tuple[Floats, Floats]:
    """The interval of a variance, by its chi-square distribution."""
    free_a, tail = labels_a + CROWD_LABELS, (1.0 - LEVEL) / 2.0
    least_a, most_a = (
        free_a / precision_a / (2.0 * special.gammaincinv(free_a / 2.0, share))
        for share in (1.0 - tail, tail)
    )
    middle_a = 1.0 / precision_a
    return np.minimum(least_a, middle_a), np.maximum(most_a, middle_a)


def _residuals(
    profile: Profile, annotations: Annotations, value_i: Floats
) -> tuple[Floats, Floats, Floats]:
    """Weight, scale and residual of every label."""
    who = annotations.annotator
    scale_n = profile["scale"][who]
    off_n = annotations.label - scale_n * value_i[annotations.item] - profile["bias"][who]
    return profile["precision"][who] * scale_n, scale_n, off_n
