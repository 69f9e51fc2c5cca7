"""The majority: every label counts the same."""

from dataclasses import dataclass
from typing import Any

from manyhands.aggregation.base import ClassAggregator
from manyhands.aggregation.beliefs import label_shares, overall_shares
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.evidence import Evidence
from manyhands.core.arrays import Floats


@dataclass(frozen=True, kw_only=True)
class Majority(ClassAggregator[Floats]):
    """The probability of a class is its share of the item's labels.

    ::

        p(z_i = k) = #{n of i: y_n = k} / #{n of i}

    An item without labels gets the shares of the whole crowd. A tie goes to the class that is
    more probable over all items, then to the first; the column `tied` shows it.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_arrays([1, 1, 1], ["u", "v", "w"], ["cat", "dog", "cat"])
    >>> Majority().fit(ann).labels.tolist()
    ['cat']
    """

    def _fit(self, evidence: Evidence, start: Floats | None) -> Consensus:
        shares_k = overall_shares(evidence.annotations)
        return self._consensus(evidence, shares_k, self._beliefs(evidence, shares_k))

    def _beliefs(self, evidence: Evidence, parameters: Floats) -> dict[str, Any]:
        return {"probabilities": evidence.clamp(label_shares(evidence.annotations, parameters))}

    def _with_unseen_annotators(self, parameters: Floats, n_new: int) -> Floats:
        return parameters


def majority_posterior(evidence: Evidence) -> Floats:
    """Label shares with known truths put in: where the iterative models start."""
    ann = evidence.annotations
    return evidence.clamp(label_shares(ann, overall_shares(ann)))
