"""Labels that are sets: each class of a set is a label of its own, which applies or does not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from manyhands.aggregation import Consensus, SetConsensus, aggregate
from manyhands.aggregation.set_consensus import decide, independent_confidence, separator_of
from manyhands.annotations import Annotations
from manyhands.annotations.set_cells import cells_of_members
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError
from manyhands.selection.label_pool import (
    LabelPool,
    Pool,
    choose_asked,
    pool_of,
    with_classifier,
)


@dataclass(frozen=True, eq=False)
class SetPool(Pool):
    """The probabilities that classes apply (i, k), and a pool of labels for every class."""

    by_class: tuple[LabelPool, ...]

    @property
    def parts(self) -> tuple[LabelPool, ...]:
        """See `Pool.parts`."""
        return self.by_class

    def with_beliefs(self, beliefs: Sequence[Floats]) -> Self:
        """See `Pool.with_beliefs`."""
        pairs = zip(self.by_class, beliefs, strict=True)
        by_class = tuple(part.with_beliefs([each]) for part, each in pairs)
        applies_ik = np.stack([each[:, 1] for each in beliefs], axis=1)
        return replace(self, belief_ik=applies_ik, by_class=by_class)

    def believed(self, rows: AnyArray) -> tuple[AnyArray, Floats]:
        """See `Pool.believed`."""
        applies_ik, names = self.belief_ik[rows], self.annotations.classes.tolist()
        members = decide(applies_ik)[0]
        cells = cells_of_members(members, names, separator_of(self.annotations))
        return cells, independent_confidence(applies_ik)


def set_pool(
    ann: Annotations,
    probabilities: Any,
    consensus: Consensus | None,
    costs: Mapping[Any, float] | None,
    fewest_first: bool,
) -> SetPool:
    """The pool of labels that are sets; see `make_pool`."""
    classifier_ik = None if probabilities is None else _checked(ann, probabilities)
    if consensus is None:
        consensus = (
            aggregate(ann) if classifier_ik is None else _with_classifier(ann, classifier_ik)
        )
    applies_ik = consensus.probabilities
    shape = () if applies_ik is None else applies_ik.shape
    is_of_sets = consensus.annotations.kind == "multilabel"
    if not is_of_sets or shape != (ann.n_items, ann.n_classes):
        raise DataError("the consensus must be of sets, and of the same items and labels")
    asked = choose_asked(ann, consensus, costs, fewest_first)
    by_class = tuple(
        pool_of(
            ann.of_class(name), _both(applies_ik, k), asked,
            None if classifier_ik is None else _both(classifier_ik, k),
        )
        for k, name in enumerate(ann.classes.tolist())
    )  # fmt: skip
    return SetPool(ann, np.asarray(applies_ik), *asked, by_class)


def _both(applies_ik: Any, k: int) -> Floats:
    """The probabilities that class k does not apply and that it does, (i, 2)."""
    applies_i = np.asarray(applies_ik)[:, k]
    return np.stack([1.0 - applies_i, applies_i], axis=1)


def _checked(ann: Annotations, probabilities: Any) -> Floats:
    p_ik = np.asarray(probabilities, dtype=np.float64)
    if p_ik.shape != (ann.n_items, ann.n_classes):
        raise DataError(
            f"probabilities have shape {p_ik.shape}; give a row for each of {ann.n_items} items "
            f"and a column for each of {ann.n_classes} classes"
        )
    if not ((p_ik >= 0) & (p_ik <= 1)).all():
        raise DataError("probabilities must be numbers from 0 to 1")
    return p_ik


def _with_classifier(ann: Annotations, classifier_ik: Floats) -> SetConsensus:
    """The consensus of labels and a classifier, class by class."""
    found = [
        with_classifier(ann.of_class(name), _both(classifier_ik, k)).probabilities
        for k, name in enumerate(ann.classes.tolist())
    ]
    applies_ik = np.stack([np.asarray(each)[:, 1] for each in found], axis=1)
    return SetConsensus.from_probabilities(ann, applies_ik)
