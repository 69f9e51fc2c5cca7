"""What network and labels together say about numbers, and about the annotators who gave them."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from manyhands.aggregation import Consensus, Quality
from manyhands.aggregation.quality import CROWD_LABELS
from manyhands.aggregation.sums import annotator_sums, item_sums
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.engine.task import NEEDS_FEATURES, TargetScaler
from manyhands.evaluation.scores import LEVEL
from manyhands.noise import RegressionLayer

_MIN_PRIOR = 1e-3  # labels that a prior is worth at least, so that intervals are finite


@dataclass(frozen=True)
class AnnotatorParameters:
    """The scale, bias and precision of every annotator, for standardised labels."""

    scale_a: Floats
    bias_a: Floats
    precision_a: Floats
    layer: RegressionLayer
    scaler: TargetScaler

    @property
    def error_variance(self) -> float:
        """The variance of the network's error, at least that on validation items."""
        return self.layer.new_error_variance


def annotators_of(
    layer: RegressionLayer, scaler: TargetScaler, n_unseen: int
) -> AnnotatorParameters:
    """The annotators of a layer, followed by `n_unseen` average ones."""
    known = layer.profile
    average = {"scale": 1.0, "bias": 0.0, "precision": 1.0 / float(layer.crowd_variance)}
    scale_a, bias_a, precision_a = (
        np.append(known[name], np.full(n_unseen, value)) for name, value in average.items()
    )
    return AnnotatorParameters(scale_a, bias_a, precision_a, layer, scaler)


def regression_posterior(
    annotations: Annotations, value_i: Floats, annotators: AnnotatorParameters
) -> tuple[Floats, Floats]:
    """Mean and variance of every item's number, given network and standardised labels.

    ::

        precision_i = 1 / v + sum_n precision_a scale_a^2
        mean_i = f(x_i) + sum_n precision_a scale_a (y_n - scale_a f(x_i) - bias_a) / precision_i
    """
    who, item = annotations.annotator, annotations.item
    scale_n = annotators.scale_a[who]
    weight_n = annotators.precision_a[who] * annotators.scale_a[who]
    off_n = annotations.label - scale_n * value_i[item] - annotators.bias_a[who]
    precision_i = 1.0 / annotators.error_variance + item_sums(annotations, weight_n * scale_n)
    mean_i = value_i + item_sums(annotations, weight_n * off_n) / precision_i
    return mean_i, 1.0 / precision_i


def regression_consensus(
    annotations: Annotations, value_i: Floats, annotators: AnnotatorParameters
) -> Consensus:
    """Network and labels as a consensus, in the unit of the labels.

    Quality is the share of signal in an annotator's labels:
    scale_a^2 between / (scale_a^2 between + noise_a^2), with the variance between the items.
    """
    scaler = annotators.scaler
    standardised = scaler.transform_labels(annotations)
    mean_i, variance_i = regression_posterior(standardised, value_i, annotators)
    between = float(np.var(mean_i) + np.mean(variance_i))
    signal_a = annotators.scale_a**2 * between
    least_a, most_a = _noise_interval(annotators.precision_a, annotations.labels_per_annotator)
    return Consensus.from_values(
        annotations,
        scaler.inverse_transform(mean_i),
        scaler.scale**2 * variance_i,
        between=scaler.scale**2 * between,
        quality=Quality.from_interval(
            signal_a / (signal_a + 1.0 / annotators.precision_a),
            signal_a / (signal_a + most_a),
            signal_a / (signal_a + least_a),
        ),
        annotator_traits=_traits(standardised, mean_i, annotators),
        cannot_continue=NEEDS_FEATURES,
    )


def _traits(
    annotations: Annotations, mean_i: Floats, annotators: AnnotatorParameters
) -> dict[str, AnyArray]:
    """Bias, scale and noise in the unit of the labels, each with its 95 % interval.

    A label is mean + scale (z - mean) + bias + noise, with the mean of all labels. The intervals
    treat the items' numbers as given.
    """
    layer, size, labels_a = (
        annotators.layer,
        annotators.scaler.scale,
        annotations.labels_per_annotator,
    )
    wide = special.ndtri((1.0 + LEVEL) / 2.0)
    square_a = annotator_sums(annotations, mean_i[annotations.item] ** 2)
    seen = {
        "bias": ("B", labels_a, annotators.bias_a, size),
        "scale": ("S", square_a, annotators.scale_a, 1.0),
    }
    traits: dict[str, AnyArray] = {}
    for name, (kind, weight_a, value_a, unit) in seen.items():
        prior = max(layer.strengths[f"{name}_strength"], _MIN_PRIOR) / float(layer.crowd_variance)
        doubt_a = (annotators.precision_a * weight_a + prior) ** -0.5
        reach_a = wide * doubt_a * (kind in layer.kind)  # a model without it is certain of it
        traits |= {
            name: unit * value_a,
            f"{name}_low": unit * (value_a - reach_a),
            f"{name}_high": unit * (value_a + reach_a),
        }
    least_a, most_a = _noise_interval(annotators.precision_a, labels_a)
    return traits | {
        "noise": size * annotators.precision_a**-0.5,
        "noise_low": size * np.sqrt(least_a),
        "noise_high": size * np.sqrt(most_a),
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
