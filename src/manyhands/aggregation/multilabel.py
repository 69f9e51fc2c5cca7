"""What aggregators of sets of classes have in common, and the majority of every class."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from manyhands.aggregation.base import Aggregator, ItemTotal, P, Parameters
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.em import EMRun
from manyhands.aggregation.evidence import Evidence, Quality
from manyhands.aggregation.set_consensus import SetConsensus, set_quality
from manyhands.annotations import Annotations, Kind
from manyhands.core.arrays import AnyArray, Bools, Floats
from manyhands.core.limits import product, require_memory

_CELL = 8  # bytes


@dataclass(frozen=True, kw_only=True)
class SetAggregator(Aggregator[P]):
    """An aggregator of labels that are sets of classes."""

    kind: ClassVar[Kind] = "multilabel"
    consensus_type: ClassVar[type[Consensus]] = SetConsensus
    works_in_parts: ClassVar[bool] = False  # sets are coded once all labels are known
    item_tables: ClassVar[float] = 4.0  # of items x classes that are in memory
    annotator_tables: ClassVar[float] = 0.0  # of annotators x classes

    def require_affordable(self, annotations: Annotations) -> None:
        """Raise a `TooLargeError` if a fit would take too much memory."""
        n_items, n_annotators = annotations.n_items, annotations.n_annotators
        k = annotations.n_classes
        n_cells = (self.item_tables * n_items + self.annotator_tables * n_annotators) * k
        need = product(n_items + n_annotators, k, of="items and annotators x classes")
        require_memory(self.name, _CELL * n_cells, need, "merge rare classes")

    def estimate_annotators(
        self, evidence: Evidence, parameters: P, total: ItemTotal
    ) -> tuple[Quality, Mapping[str, AnyArray]]:
        """How well sets fit the consensus, and the traits of the model."""
        return total(_quality), parameters.annotator_traits()


def _quality(evidence: Evidence, estimates: Mapping[str, Any]) -> Quality:
    return set_quality(evidence, estimates["probabilities"])


@dataclass(frozen=True)
class SetShares(Parameters):
    """How often each class was said of all items together."""

    share_k: Floats


@dataclass(frozen=True, kw_only=True)
class MultilabelMajority(SetAggregator[SetShares]):
    """The probability that a class applies is the share of an item's labels that have it.

    ::

        p(z_ik = 1) = #{n of i: k in y_n} / #{n of i}

    An item without labels gets the shares of the whole crowd. The consensus of an item has the
    classes that more than half of its labels have. Where every label has one class, the
    probabilities are those of `Majority`.

    >>> from manyhands.annotations import Annotations
    >>> sets = [{"cat", "dog"}, {"cat"}, {"cat", "bird"}]
    >>> ann = Annotations.from_arrays([1, 1, 1], ["u", "v", "w"], sets)
    >>> MultilabelMajority().fit(ann).labels.tolist()
    ['cat']
    """

    name: ClassVar[str] = "multilabel-majority"
    parameters_type: ClassVar[type[Parameters]] = SetShares

    def fit_parameters(
        self, evidence: Evidence, start: SetShares | None = None
    ) -> EMRun[SetShares]:
        """Fit the model, from its own initial parameters or from the given ones."""
        ann = evidence.annotations
        return EMRun(SetShares(ann.label_counts().sum(axis=0) / max(ann.n_annotations, 1)))

    def estimate_items(self, evidence: Evidence, parameters: SetShares) -> dict[str, Any]:
        """The fields of a `SetConsensus` that describe items, under these parameters."""
        return {"probabilities": shares_of_items(evidence, parameters.share_k)}


def shares_of_items(evidence: Evidence, share_k: Floats | None = None) -> Floats:
    """The share of every item's labels that have a class, 1 or 0 for known truths, (i, k)."""
    ann = evidence.annotations
    counts_ik, n_i = ann.label_counts(), ann.labels_per_item[:, None]
    if share_k is None:
        share_k = counts_ik.sum(axis=0) / max(ann.n_annotations, 1)
    found_ik = np.where(n_i > 0, counts_ik / np.maximum(n_i, 1), share_k)
    return clamped(evidence, found_ik)


def clamped(evidence: Evidence, applies_ik: Floats) -> Floats:
    """The probabilities with 1 and 0 for the classes of known truths."""
    rows = np.flatnonzero(evidence.is_known)
    if len(rows) == 0:
        return applies_ik
    found_ik = applies_ik.copy()
    found_ik[rows] = known_members(evidence)[rows]
    return found_ik


def known_members(evidence: Evidence) -> Bools:
    """Which classes the known truth of an item has, shape (i, k); none for unknown ones."""
    sets: Any = evidence.annotations.class_vocabulary
    members_ik = np.zeros((evidence.annotations.n_items, evidence.annotations.n_classes), bool)
    rows = np.flatnonzero(evidence.is_known)
    members_ik[rows] = sets.member_sk[evidence.known[rows]]
    return members_ik
