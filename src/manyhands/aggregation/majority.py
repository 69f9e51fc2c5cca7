"""The majority: every label has the same weight."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from manyhands.aggregation.base import ClassAggregator
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.parameters import Parameters
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats


@dataclass(frozen=True)
class MajorityParameters(Parameters):
    """How often each class was said of all items together."""

    label_distribution_k: Floats


@dataclass(frozen=True, kw_only=True)
class Majority(ClassAggregator[MajorityParameters]):
    """The probability of a class is its share of the item's labels.

    ::

        p(z_i = k) = #{n of i: y_n = k} / #{n of i}

    An item without labels gets the label distribution of the whole crowd. A tie goes to the class
    that is more probable over all items, then to the first; the column `tied` marks ties.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_arrays([1, 1, 1], ["u", "v", "w"], ["cat", "dog", "cat"])
    >>> Majority().fit(ann).labels.tolist()
    ['cat']
    """

    name: ClassVar[str] = "majority"
    parameters_type: ClassVar[type[Parameters]] = MajorityParameters

    def _fit(self, evidence: Evidence, start: MajorityParameters | None) -> Consensus:
        parameters = MajorityParameters(_overall_distribution(evidence.annotations))
        return self._consensus(evidence, parameters, self._estimate_items(evidence, parameters))

    def _estimate_items(self, evidence: Evidence, parameters: MajorityParameters) -> dict[str, Any]:
        return {"probabilities": _item_distributions(evidence, parameters.label_distribution_k)}


def majority_posterior(evidence: Evidence) -> Floats:
    """Label distributions of items, 1 for known truths: where iterative models start."""
    return _item_distributions(evidence, _overall_distribution(evidence.annotations))


def _item_distributions(evidence: Evidence, overall_k: Floats) -> Floats:
    counts_ik = evidence.annotations.label_counts()
    n_i = counts_ik.sum(axis=1, keepdims=True)
    np.divide(counts_ik, n_i, out=counts_ik, where=n_i > 0)
    counts_ik[n_i[:, 0] == 0] = overall_k
    return evidence.clamp(counts_ik)


def _overall_distribution(annotations: Annotations) -> Floats:
    total_k = np.bincount(annotations.label, minlength=annotations.n_classes)
    return np.asarray(total_k / max(annotations.n_annotations, 1))
