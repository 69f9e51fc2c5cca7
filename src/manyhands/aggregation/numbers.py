"""Mean and median of numbers, and what every aggregator of numbers shares."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy import special

from manyhands.aggregation.base import Aggregator
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.quality import CROWD_LABELS, Quality
from manyhands.aggregation.sums import annotator_sums, item_sums
from manyhands.annotations import Annotations, Kind
from manyhands.core.arrays import Floats
from manyhands.evaluation.scores import LEVEL

P = TypeVar("P")


@dataclass(frozen=True)
class NumberSummary:
    """What the whole table tells: its centre, the variance between items and within one."""

    centre: float
    between: float
    within: float


@dataclass(frozen=True, kw_only=True)
class _PlainAverage(Aggregator[NumberSummary]):
    """One value per item from its own labels alone."""

    kind: ClassVar[Kind] = "numbers"

    def _fit(self, evidence: Evidence, start: NumberSummary | None) -> Consensus:
        summary = summarise(evidence.annotations)
        beliefs = self._beliefs(evidence, summary)
        return regression_consensus(self, evidence, summary, summary.between, beliefs)

    def _beliefs(self, evidence: Evidence, parameters: NumberSummary) -> dict[str, Any]:
        ann = evidence.annotations
        n_i = ann.labels_per_item
        value_i = np.where(n_i > 0, self._centres(ann), parameters.centre)
        off_i = item_sums(ann, (ann.label - value_i[ann.item]) ** 2)
        # One label's worth of the crowd's variance keeps a lone label from looking certain.
        variance_i = (off_i + parameters.within) / np.maximum(n_i, 1) ** 2
        variance_i = np.where(n_i > 0, variance_i, parameters.between + parameters.within)
        return regression_beliefs(evidence, value_i, variance_i, parameters.between)

    def _with_unseen_annotators(self, parameters: NumberSummary, n_new: int) -> NumberSummary:
        return parameters

    @abstractmethod
    def _centres(self, annotations: Annotations) -> Floats:
        """The value of every item that has labels."""


@dataclass(frozen=True, kw_only=True)
class Mean(_PlainAverage):
    """The mean of an item's labels; spread is its standard error.

    With s^2 the variance within items::

        spread_i^2 = (sum_n (y_n - mean_i)^2 + s^2) / n_i^2

    >>> from manyhands.annotations import Annotations
    >>> Mean().fit(Annotations.from_arrays([1, 1], ["u", "v"], [0.5, 1.0])).labels.tolist()
    [0.75]
    """

    def _centres(self, annotations: Annotations) -> Floats:
        n_i = np.maximum(annotations.labels_per_item, 1)
        return np.asarray(item_sums(annotations, annotations.label) / n_i)


@dataclass(frozen=True, kw_only=True)
class Median(_PlainAverage):
    """The median of an item's labels, which a few wild labels do not move.

    The spread is that of `Mean`, taken around the median.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_arrays([1, 1, 1], ["u", "v", "w"], [0.5, 0.75, 99.0])
    >>> Median().fit(ann).labels.tolist()
    [0.75]
    """

    def _centres(self, annotations: Annotations) -> Floats:
        order = np.lexsort((annotations.label, annotations.item))
        label = np.append(annotations.label[order], 0.0)
        start, n_i = annotations.item_offsets[:-1], annotations.labels_per_item
        low, high = start + np.maximum(n_i - 1, 0) // 2, start + n_i // 2
        return np.asarray((label[low] + label[np.minimum(high, len(label) - 1)]) / 2)


def summarise(annotations: Annotations) -> NumberSummary:
    """Centre and variances by the usual analysis of variance."""
    n_i = annotations.labels_per_item
    mean_i = item_sums(annotations, annotations.label) / np.maximum(n_i, 1)
    off_n = (annotations.label - mean_i[annotations.item]) ** 2
    free = max(int((n_i - 1).clip(min=0).sum()), 1)
    total = float(np.var(annotations.label))
    repeated = bool((n_i > 1).any())
    within = float(off_n.sum() / free) if repeated else total / 2
    # Labels that are all equal still need a scale: that of the labels themselves.
    floor = 1e-9 * (total or float(np.abs(annotations.label).max()) ** 2 or 1.0)
    between = total - min(within, total)
    return NumberSummary(float(annotations.label.mean()), max(between, floor), max(within, floor))


def regression_beliefs(
    evidence: Evidence, value_i: Floats, variance_i: Floats, between: float
) -> dict[str, Any]:
    """Item-side fields of a consensus of numbers, with known truths put in."""
    known = evidence.is_known
    if known.any():
        value_i = np.where(known, evidence.known, value_i)
        variance_i = np.where(known, 0.0, variance_i)
    return {
        "values": value_i,
        "spread": np.sqrt(variance_i),
        "signal_share": between / (between + variance_i),
    }


def regression_consensus(
    method: Aggregator[P],
    evidence: Evidence,
    parameters: P,
    between: float,
    beliefs: Mapping[str, Any],
    objective: tuple[float, ...] = (),
    converged: bool = True,
) -> Consensus:
    """A consensus of numbers with every annotator's bias, noise and quality.

    Quality is the share of an annotator's variance that is signal, between / (between + noise^2).
    Noise is the deviation of their labels from the consensus once their bias is taken off, drawn
    towards the crowd's by two labels; the interval comes from the chi-square distribution of a
    variance.
    """
    ann = evidence.annotations
    value_i, variance_i = beliefs["values"], beliefs["spread"] ** 2
    off_n = ann.label - value_i[ann.item]
    n_a = ann.labels_per_annotator
    bias_a = annotator_sums(ann, off_n) / (n_a + CROWD_LABELS)
    square_a = annotator_sums(ann, (off_n - bias_a[ann.annotator]) ** 2 + variance_i[ann.item])
    crowd = square_a.sum() / max(ann.n_annotations, 1)
    sum_a, free_a = square_a + CROWD_LABELS * crowd, n_a + CROWD_LABELS
    noise2_a = sum_a / free_a

    def interval() -> tuple[Floats, Floats]:
        tail = (1.0 - LEVEL) / 2.0
        most, least = (
            sum_a / (2.0 * special.gammaincinv(free_a / 2.0, p)) for p in (tail, 1.0 - tail)
        )
        return between / (between + most), between / (between + least)

    return Consensus(
        method=method,
        evidence=evidence,
        parameters=parameters,
        quality=Quality(between / (between + noise2_a), interval),
        annotator_traits=method._annotator_traits(parameters)
        or {"bias": bias_a, "noise": np.sqrt(noise2_a)},
        objective=objective,
        converged=converged,
        **beliefs,
    )
