"""Items that may be labelled, annotators who may be asked, and what is known of both."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from manyhands.aggregation import Consensus, DawidSkene, aggregate
from manyhands.aggregation.crowdlab import require_probabilities
from manyhands.aggregation.dawid_skene import ConfusionSteps
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats, object_array
from manyhands.core.errors import DataError
from manyhands.core.settings import require

MAX_ASKED = 64  # annotators whose every label is weighed
_PRIOR_LABELS = DawidSkene.prior_strength  # pseudo-labels per class of an average annotator
_EM_STEPS = 20


class Asked(NamedTuple):
    """Annotators who may be asked: names, codes in the annotations (-1 for new people), costs."""

    names: AnyArray
    person_r: Codes
    cost_r: Floats


@dataclass(frozen=True, eq=False)
class Pool(ABC):
    """Items with beliefs (i, k) about them, and annotators who may be asked.

    `person_r` is the code of annotator r in the annotations, -1 for people who have not labelled
    yet. `parts` are what labels are about: the class of an item, or each class of a set.
    """

    annotations: Annotations
    belief_ik: Floats
    asked: AnyArray
    person_r: Codes
    cost_r: Floats

    @property
    @abstractmethod
    def parts(self) -> "tuple[LabelPool, ...]":
        """What labels are about, each with a belief and a confusion of every annotator."""

    @abstractmethod
    def with_beliefs(self, beliefs: Sequence[Floats]) -> Self:
        """The same with other beliefs about the parts."""

    @abstractmethod
    def believed(self, rows: AnyArray) -> tuple[AnyArray, Floats]:
        """The most probable label of some items, and its probability."""

    @property
    def expected_accuracy(self) -> float:
        """The mean probability of what is most probable, over items and parts."""
        return float(np.mean([part.belief_ik.max(axis=1).mean() for part in self.parts]))

    def may_label(self, rows: AnyArray) -> Bools:
        """Which annotators have not labelled these items yet, shape (rows, r)."""
        free = np.ones((len(rows), len(self.asked)), dtype=bool)
        ann = self.annotations
        place_a = np.full(ann.n_annotators + 1, -1)
        place_a[self.person_r] = np.arange(len(self.asked))  # the last entry is of new people
        place_a[-1] = -1
        place_i = np.full(ann.n_items, -1)
        place_i[rows] = np.arange(len(rows))
        row_n, column_n = place_i[ann.item], place_a[ann.annotator]
        known = (row_n >= 0) & (column_n >= 0)
        free[row_n[known], column_n[known]] = False
        return free


@dataclass(frozen=True, eq=False)
class LabelPool(Pool):
    """Beliefs about the classes of items, and counts (r, k, l) of annotators who may be asked.

    The confusion of annotator r has a Dirichlet distribution with `counts_rkl`: labels given so
    far, weighed by the beliefs, and a prior of an average annotator.
    """

    counts_rkl: Floats
    average_kl: Floats
    classifier_ik: Floats | None = None

    @property
    def parts(self) -> "tuple[LabelPool, ...]":
        """See `Pool.parts`."""
        return (self,)

    @cached_property
    def confusion_rkl(self) -> Floats:
        """The mean confusion of every annotator."""
        return np.asarray(self.counts_rkl / self.counts_rkl.sum(axis=2, keepdims=True))

    def with_beliefs(self, beliefs: Sequence[Floats]) -> Self:
        """See `Pool.with_beliefs`."""
        (belief_ik,) = beliefs
        return replace(self, belief_ik=belief_ik)

    def believed(self, rows: AnyArray) -> tuple[AnyArray, Floats]:
        """See `Pool.believed`."""
        belief_ik = self.belief_ik[rows]
        return self.annotations.classes[belief_ik.argmax(axis=1)], belief_ik.max(axis=1)


def class_pool(
    ann: Annotations,
    probabilities: Any,
    consensus: Consensus | None,
    costs: Mapping[Any, float] | None,
    fewest_first: bool,
) -> LabelPool:
    """The pool of labels that are classes; see `make_pool`."""
    classifier_ik = None if probabilities is None else require_probabilities(ann, probabilities)
    if consensus is None:
        consensus = aggregate(ann) if classifier_ik is None else with_classifier(ann, classifier_ik)
    belief_ik = consensus.probabilities
    if belief_ik is None or belief_ik.shape != (ann.n_items, ann.n_classes):
        raise DataError("the consensus must be of classes, and of the same items and labels")
    asked = choose_asked(ann, consensus, costs, fewest_first)
    return pool_of(ann, belief_ik, asked, classifier_ik)


def pool_of(
    ann: Annotations, belief_ik: Floats, asked: Asked, classifier_ik: Floats | None
) -> LabelPool:
    """The pool of items with these beliefs, and of these annotators."""
    counts_rkl, average_kl = _profiles(ann, belief_ik, asked.person_r, classifier_ik is not None)
    return LabelPool(ann, belief_ik, *asked, counts_rkl, average_kl, classifier_ik)


def choose_asked(
    ann: Annotations, consensus: Consensus, costs: Mapping[Any, float] | None, fewest_first: bool
) -> Asked:
    """The annotators with the highest quality per cost, or with the fewest labels."""
    cost = checked_costs(costs, ann.annotators)
    person_r = ann.annotator_vocabulary.codes(cost)
    names = ann.annotators
    if costs is not None:  # a table of costs may have texts where the labels have numbers
        names = object_array(list(cost))
        names[person_r >= 0] = ann.annotators[person_r[person_r >= 0]]
    cost_r = np.array(list(cost.values()), dtype=np.float64)
    worth_r = _worth(ann, consensus, person_r, fewest_first) / cost_r
    best = np.sort(np.argsort(-worth_r, kind="stable")[:MAX_ASKED])
    return Asked(names[best], person_r[best], cost_r[best])


def with_classifier(ann: Annotations, classifier_ik: Floats) -> Consensus:
    """The consensus of labels and a classifier: Dawid-Skene with its probabilities as the prior."""
    steps = ConfusionSteps(ann, DawidSkene())
    log_class_ik = np.log(np.maximum(classifier_ik, np.finfo(np.float64).tiny))
    confusion_akl = steps.first
    for _ in range(_EM_STEPS):
        posterior_ik = steps.posterior(log_class_ik, confusion_akl)
        confusion_akl = steps.confusions(posterior_ik)
    return Consensus.from_probabilities(ann, posterior_ik, confusion=confusion_akl)


def checked_costs(costs: Mapping[Any, float] | None, annotators: AnyArray) -> dict[Any, float]:
    """The cost of a label of every annotator who may be asked; by default 1 for all."""
    if costs is None:
        return dict.fromkeys(annotators.tolist(), 1.0)
    if not costs:
        raise DataError("costs name nobody; give the cost of a label of every annotator to ask")
    for name, cost in costs.items():
        require(np.isfinite(cost) and cost > 0, f"the cost of {name}", "above 0", cost)
    return dict(costs)


def _worth(ann: Annotations, consensus: Consensus, person_r: Codes, fewest: bool) -> Floats:
    """How useful an annotator is at first sight, above 0; new people are as good as the average."""
    if fewest:
        worth_a = 1.0 / (1.0 + ann.labels_per_annotator)
        return np.where(person_r >= 0, worth_a[person_r], 1.0)
    quality_a = consensus.quality.value
    return np.where(person_r >= 0, quality_a[person_r], quality_a.mean()) + 1e-9


def _profiles(
    ann: Annotations, belief_ik: Floats, person_r: Codes, independent: bool
) -> tuple[Floats, Floats]:
    """Dirichlet counts (r, k, l) of annotators, and the confusion (k, l) of an average one.

    A label that alone decides the belief about its item always looks right. So it does not count,
    unless the belief comes from a classifier too, or no item has two labels.
    """
    n_classes = ann.n_classes
    counted_n = ann.labels_per_item[ann.item] > 1
    if independent or not counted_n.any():
        counted_n = np.ones_like(counted_n)
    place_a = np.full(ann.n_annotators + 1, len(person_r))
    place_a[person_r] = np.arange(len(person_r))
    row_n = place_a[ann.annotator[counted_n]]
    cell_n = row_n * n_classes + ann.label[counted_n]
    size = (len(person_r) + 1) * n_classes
    weight_nk = belief_ik[ann.item[counted_n]]
    counts_rkl = np.stack(
        [
            np.bincount(cell_n, weight_nk[:, k], size).reshape(-1, n_classes)
            for k in range(n_classes)
        ],
        axis=1,
    )
    average_kl = counts_rkl.sum(axis=0) + 1.0 / n_classes
    average_kl /= average_kl.sum(axis=1, keepdims=True)
    own_rkl = np.where((person_r >= 0)[:, None, None], counts_rkl[:-1], 0.0)
    return own_rkl + _PRIOR_LABELS * average_kl, average_kl
