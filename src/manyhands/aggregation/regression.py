"""What every aggregator of numbers shares."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from scipy import special

from manyhands.aggregation.base import Aggregator, ItemTotal, Parameters
from manyhands.aggregation.evidence import CROWD_LABELS, Evidence, Quality, nothing_known
from manyhands.aggregation.sums import annotator_sums, item_sums
from manyhands.annotations import Annotations, Kind
from manyhands.core.arrays import AnyArray, Floats
from manyhands.evaluation.scores import LEVEL


class RegressionParameters(Parameters):
    """Parameters of a model of numbers; `between` is the variance between the items' values."""

    between: float


R = TypeVar("R", bound=RegressionParameters)


@dataclass(frozen=True)
class LabelSummary(RegressionParameters):
    """The mean of all labels, the variance between items and the variance within an item."""

    centre: float
    between: float
    within: float


@dataclass(frozen=True, kw_only=True)
class RegressionAggregator(Aggregator[R]):
    """An aggregator of numbers."""

    kind: ClassVar[Kind] = "numbers"

    def estimate_annotators(
        self, evidence: Evidence, parameters: R, total: ItemTotal
    ) -> tuple[Quality, Mapping[str, AnyArray]]:
        """Quality, bias and noise of every annotator.

        Quality is the share of an annotator's variance that is signal, between / (between +
        noise^2). Noise is the deviation of their labels from the consensus after their bias is
        subtracted, shrunk towards the crowd's noise with the weight of two labels. The interval
        comes from the chi-square distribution of a variance.
        """
        ann, between = evidence.annotations, parameters.between
        n_a = ann.labels_per_annotator
        bias_a = total(_distance_sums) / (n_a + CROWD_LABELS)
        square_a = total(_square_sums, bias_a)
        crowd = square_a.sum() / max(ann.n_annotations, 1)
        sum_a, free_a = square_a + CROWD_LABELS * crowd, n_a + CROWD_LABELS
        noise2_a = sum_a / free_a
        interval = partial(_signal_interval, between, sum_a, free_a)
        quality = Quality(between / (between + noise2_a), interval)
        return quality, parameters.annotator_traits() or {
            "bias": bias_a,
            "noise": np.sqrt(noise2_a),
        }


def _distance_sums(evidence: Evidence, estimates: Mapping[str, Any]) -> Floats:
    """Sums over annotators of how far their labels are above the consensus."""
    ann = evidence.annotations
    return annotator_sums(ann, ann.label - estimates["values"][ann.item])


def _square_sums(evidence: Evidence, estimates: Mapping[str, Any], bias_a: Floats) -> Floats:
    """Sums over annotators of the squared distance to the consensus, beside their bias."""
    ann = evidence.annotations
    off_n = ann.label - estimates["values"][ann.item] - bias_a[ann.annotator]
    return annotator_sums(ann, off_n**2 + (estimates["spread"] ** 2)[ann.item])


def summarise(annotations: Annotations) -> LabelSummary:
    """Mean and variances of all labels by the usual analysis of variance."""
    return summarise_evidence(Evidence(annotations, nothing_known()))


def summarise_evidence(evidence: Evidence) -> LabelSummary:
    """The same of labels that may be in parts."""
    n_labels = evidence.annotations.n_annotations
    sums = evidence.total(_label_sums)
    centre = sums.label / n_labels
    total = evidence.total(squared_distances, centre) / n_labels
    within = sums.square / sums.free if sums.free else total / 2
    # Labels that are all equal still need a scale: that of the labels themselves.
    floor = 1e-9 * (total or centre**2 or 1.0)
    between = total - min(within, total)
    return LabelSummary(centre, max(between, floor), max(within, floor))


class _LabelSums(NamedTuple):
    """The sum of labels, of their squared distances to the mean of their item, and its freedom."""

    label: float
    square: float
    free: float


def _label_sums(evidence: Evidence) -> _LabelSums:
    ann = evidence.annotations
    n_i = ann.labels_per_item
    mean_i = item_sums(ann, ann.label) / np.maximum(n_i, 1)
    square = float(((ann.label - mean_i[ann.item]) ** 2).sum())
    return _LabelSums(float(ann.label.sum()), square, float((n_i - 1).clip(min=0).sum()))


def squared_distances(evidence: Evidence, centre: float) -> float:
    """The sum of squared distances of labels to a number."""
    return float(((evidence.annotations.label - centre) ** 2).sum())


def value_estimates(
    evidence: Evidence, value_i: Floats, variance_i: Floats, between: float
) -> dict[str, Any]:
    """The fields of a consensus of numbers that describe items, with known truths put in."""
    known = evidence.is_known
    if known.any():
        value_i = np.where(known, evidence.known, value_i)
        variance_i = np.where(known, 0.0, variance_i)
    return {
        "values": value_i,
        "spread": np.sqrt(variance_i),
        "signal_share": between / (between + variance_i),
    }


def _signal_interval(between: float, sum_a: Floats, free_a: AnyArray) -> tuple[Floats, Floats]:
    tail = (1.0 - LEVEL) / 2.0
    most_a, least_a = (
        sum_a / (2.0 * special.gammaincinv(free_a / 2.0, p)) for p in (tail, 1.0 - tail)
    )
    return between / (between + most_a), between / (between + least_a)
