"""What network and labels believe together about numbers, and what they say of people."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from manyhands.aggregation import Consensus, Quality
from manyhands.aggregation.quality import CROWD_LABELS
from manyhands.aggregation.sums import annotator_sums, item_sums
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.estimators.posterior import NEEDS_FEATURES
from manyhands.estimators.target_scaler import TargetScaler
from manyhands.evaluation.scores import LEVEL
from manyhands.noise import RegressionLayer

_LEAST = 1e-3  # labels that a prior is taken to be worth, so that intervals end


@dataclass(frozen=True)
class People:
    """Everybody's scale, bias and precision, in standardised numbers, and how sure of them."""

    scale_a: Floats
    bias_a: Floats
    precision_a: Floats
    layer: RegressionLayer
    unit: TargetScaler

    @property
    def error_variance(self) -> float:
        """The variance of the network's error: on items it learnt by heart it is not less."""
        return self.layer.new_error_variance


def people_of(layer: RegressionLayer, unit: TargetScaler, n_new: int) -> People:
    """The annotators of a layer, and so many average ones behind them."""
    known = layer.profile
    average = {"scale": 1.0, "bias": 0.0, "precision": 1.0 / float(layer.crowd_variance)}
    scale_a, bias_a, precision_a = (
        np.append(known[name], np.full(n_new, value)) for name, value in average.items()
    )
    return People(scale_a, bias_a, precision_a, layer, unit)


def regression_posterior(
    annotations: Annotations, value_i: Floats, people: People
) -> tuple[Floats, Floats]:
    """Mean and variance of every item's number, given network and standardised labels.

    ::

        precision_i = 1 / v + sum_n precision_a scale_a^2
        mean_i = f(x_i) + sum_n precision_a scale_a (y_n - scale_a f(x_i) - bias_a) / precision_i
    """
    who, item = annotations.annotator, annotations.item
    scale_n, weight_n = people.scale_a[who], people.precision_a[who] * people.scale_a[who]
    off_n = annotations.label - scale_n * value_i[item] - people.bias_a[who]
    precision_i = 1.0 / people.error_variance + item_sums(annotations, weight_n * scale_n)
    mean_i = value_i + item_sums(annotations, weight_n * off_n) / precision_i
    return mean_i, 1.0 / precision_i


def regression_consensus(annotations: Annotations, value_i: Floats, people: People) -> Consensus:
    """Network and labels as a consensus, in the unit of the labels.

    Quality is the share of signal in an annotator's labels:
    scale_a^2 between / (scale_a^2 between + noise_a^2), with the variance between the items.
    """
    unit, plain = people.unit, people.unit.without(annotations)
    mean_i, variance_i = regression_posterior(plain, value_i, people)
    between = float(np.var(mean_i) + np.mean(variance_i))
    labels_a = annotations.labels_per_annotator
    signal_a = people.scale_a**2 * between

    least_a, most_a = _noise_ends(people.precision_a, labels_a)
    return Consensus.from_values(
        annotations,
        unit.told(mean_i),
        unit.size**2 * variance_i,
        between=unit.size**2 * between,
        quality=Quality.from_interval(
            signal_a / (signal_a + 1.0 / people.precision_a),
            signal_a / (signal_a + most_a),
            signal_a / (signal_a + least_a),
        ),
        annotator_traits=_traits(plain, mean_i, people),
        cannot_continue=NEEDS_FEATURES,
    )


def _traits(annotations: Annotations, mean_i: Floats, people: People) -> dict[str, AnyArray]:
    """Bias, scale and noise in the unit of the labels, each with its 95 % interval.

    A label is centre + scale (z - centre) + bias + noise, with the centre of all labels. The
    intervals take the items' numbers as they are.
    """
    layer, size, labels_a = people.layer, people.unit.size, annotations.labels_per_annotator
    wide = special.ndtri((1.0 + LEVEL) / 2.0)
    square_a = annotator_sums(annotations, mean_i[annotations.item] ** 2)
    seen = {
        "bias": ("B", labels_a, people.bias_a, size),
        "scale": ("S", square_a, people.scale_a, 1.0),
    }
    traits: dict[str, AnyArray] = {}
    for name, (kind, weight_a, value_a, unit) in seen.items():
        prior = max(layer.strengths[f"{name}_strength"], _LEAST) / float(layer.crowd_variance)
        doubt_a = (people.precision_a * weight_a + prior) ** -0.5
        reach_a = wide * doubt_a * (kind in layer.kind)  # a model without it holds it for certain
        traits |= {
            name: unit * value_a,
            f"{name}_low": unit * (value_a - reach_a),
            f"{name}_high": unit * (value_a + reach_a),
        }
    least_a, most_a = _noise_ends(people.precision_a, labels_a)
    return traits | {
        "noise": size * people.precision_a**-0.5,
        "noise_low": size * np.sqrt(least_a),
        "noise_high": size * np.sqrt(most_a),
    }


def _noise_ends(precision_a: Floats, labels_a: AnyArray) -> tuple[Floats, Floats]:
    """Ends of the interval of a variance, by its chi-square distribution."""
    free_a, tail = labels_a + CROWD_LABELS, (1.0 - LEVEL) / 2.0
    least_a, most_a = (
        free_a / precision_a / (2.0 * special.gammaincinv(free_a / 2.0, share))
        for share in (1.0 - tail, tail)
    )
    middle_a = 1.0 / precision_a
    return np.minimum(least_a, middle_a), np.maximum(most_a, middle_a)
