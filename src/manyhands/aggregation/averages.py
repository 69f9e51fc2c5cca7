"""Mean and median of numbers: one value per item from its own labels alone."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from manyhands.aggregation.base import Parameters
from manyhands.aggregation.em import EMRun
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.regression import (
    LabelSummary,
    RegressionAggregator,
    summarise_evidence,
    value_estimates,
)
from manyhands.aggregation.sums import item_sums
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats


@dataclass(frozen=True, kw_only=True)
class _Average(RegressionAggregator[LabelSummary]):
    parameters_type: ClassVar[type[Parameters]] = LabelSummary

    def fit_parameters(
        self, evidence: Evidence, start: LabelSummary | None = None
    ) -> EMRun[LabelSummary]:
        """Fit the model, from its own initial parameters or from the given ones."""
        return EMRun(summarise_evidence(evidence))

    def estimate_items(self, evidence: Evidence, parameters: LabelSummary) -> dict[str, Any]:
        """The fields of a `Consensus` that describe items, under these parameters."""
        ann = evidence.annotations
        n_i = ann.labels_per_item
        value_i = np.where(n_i > 0, self._average(ann), parameters.centre)
        off_i = item_sums(ann, (ann.label - value_i[ann.item]) ** 2)
        # One label's worth of the crowd's variance keeps a single label from looking certain.
        variance_i = (off_i + parameters.within) / np.maximum(n_i, 1) ** 2
        variance_i = np.where(n_i > 0, variance_i, parameters.between + parameters.within)
        return value_estimates(evidence, value_i, variance_i, parameters.between)

    @abstractmethod
    def _average(self, annotations: Annotations) -> Floats:
        """The value of every item that has labels."""


@dataclass(frozen=True, kw_only=True)
class Mean(_Average):
    """The mean of an item's labels; spread is its standard error.

    With s^2 the variance within items::

        spread_i^2 = (sum_n (y_n - mean_i)^2 + s^2) / n_i^2

    >>> from manyhands.annotations import Annotations
    >>> Mean().fit(Annotations.from_arrays([1, 1], ["u", "v"], [0.5, 1.0])).labels.tolist()
    [0.75]
    """

    name: ClassVar[str] = "mean"

    def _average(self, annotations: Annotations) -> Floats:
        n_i = np.maximum(annotations.labels_per_item, 1)
        return np.asarray(item_sums(annotations, annotations.label) / n_i)


@dataclass(frozen=True, kw_only=True)
class Median(_Average):
    """The median of an item's labels, which a few outliers do not move.

    The spread is that of `Mean`, computed around the median.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_arrays([1, 1, 1], ["u", "v", "w"], [0.5, 0.75, 99.0])
    >>> Median().fit(ann).labels.tolist()
    [0.75]
    """

    name: ClassVar[str] = "median"

    def _average(self, annotations: Annotations) -> Floats:
        order = np.lexsort((annotations.label, annotations.item))
        label = np.append(annotations.label[order], 0.0)
        start, n_i = annotations.item_offsets[:-1], annotations.labels_per_item
        low, high = start + np.maximum(n_i - 1, 0) // 2, start + n_i // 2
        return np.asarray((label[low] + label[np.minimum(high, len(label) - 1)]) / 2)
