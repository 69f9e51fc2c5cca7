"""What aggregation believes about items whose labels are sets of classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.evidence import Evidence, Quality, quality_of_counts
from manyhands.aggregation.kernels.set_pass import count_confirmed_sets
from manyhands.annotations import Annotations
from manyhands.annotations.set_cells import cells_of_members
from manyhands.core.arrays import AnyArray, Bools, Floats
from manyhands.core.errors import DataError
from manyhands.evaluation import SetScorecard, masi, set_scorecard

_EQUAL = 1e-9  # a probability that is so near to one half is a tie


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SetConsensus(Consensus):
    """The result of aggregating sets of classes; rows follow the items of `annotations`.

    `probabilities` (i, k) tell for every class whether it applies: rows do not sum to 1. `labels`
    are the sets of the classes that are more probable than not, as a table has them ("cat;dog"),
    and `sets` the same as sets of names. `confidence` is the probability that the whole set is
    right, `agreement` the mean MASI of an item's labels with it.

    The quality of an annotator is F1: twice the classes that they said and that apply, divided by
    the number of said and of true classes, over the items that others labelled too. A set without
    classes counts as one class of its own. Where every set has one class this is the share of right
    labels, as for classes.
    """

    set_confidence: Floats | None = None  # of the model; without it classes are independent

    @cached_property
    def members(self) -> Bools:
        """Which classes the consensus finds to apply, shape (i, k)."""
        return self._decided[0]

    @property
    def tied(self) -> Bools:
        """Items with a class that is as probable as not."""
        return self._decided[1]

    @cached_property
    def _decided(self) -> tuple[Bools, Bools]:
        return decide(self._applies)

    @property
    def _applies(self) -> Floats:
        assert self.probabilities is not None, "a consensus of sets holds probabilities"
        return self.probabilities

    @cached_property
    def labels(self) -> AnyArray:
        """The consensus of every item as it is written in a table."""
        names = self.annotations.classes.tolist()
        return cells_of_members(self.members, names, separator_of(self.annotations))

    @property
    def sets(self) -> list[frozenset[Any]]:
        """The consensus of every item as a set of names of classes."""
        names = self.annotations.classes.tolist()
        return [frozenset(names[k] for k in np.flatnonzero(row)) for row in self.members]

    @cached_property
    def confidence(self) -> Floats:
        """The probability that the whole set of an item is right."""
        if self.set_confidence is not None:
            return self.set_confidence
        return independent_confidence(self._applies)

    @cached_property
    def agreement(self) -> Floats:
        """The mean MASI of an item's labels with the consensus; NaN for an item without labels."""
        ann = self.annotations
        masi_n = masi(ann.members, self.members[ann.item])
        total_i = np.bincount(ann.item, weights=masi_n, minlength=ann.n_items)
        with np.errstate(invalid="ignore"):
            return np.asarray(total_i / ann.labels_per_item)

    @classmethod
    def from_probabilities(
        cls, annotations: Annotations, probabilities: Floats, **given: Any
    ) -> "SetConsensus":
        """A consensus from probabilities (i, k) that classes apply, which come from elsewhere."""
        shape = (annotations.n_items, annotations.n_classes)
        if probabilities.shape != shape:
            raise DataError(f"probabilities must have shape {shape}; got {probabilities.shape}")
        confusion = given.pop("confusion", None)
        traits = given.pop("annotator_traits", None) or {}
        evidence = Evidence(annotations, np.zeros(0, dtype=np.int32))
        return cls(
            annotations=annotations, quality=set_quality(evidence, probabilities),
            probabilities=probabilities, given_confusion=confusion, annotator_traits=traits,
            **given,
        )  # fmt: skip

    def item_columns(self) -> dict[str, AnyArray]:
        """The columns of the consensus table."""
        ann = self.annotations
        columns: dict[str, AnyArray] = {
            "item": ann.items, "label": self.labels, "confidence": self.confidence,
            "agreement": self.agreement, "n_annotations": ann.labels_per_item,
        }  # fmt: skip
        columns |= {f"p_{name}": self._applies[:, k] for k, name in enumerate(ann.classes)}
        return columns | {"tied": self.tied} | dict(self.item_traits)

    def annotator_columns(self) -> dict[str, AnyArray]:
        """The columns of the annotators table: per class how often they are right about it.

        `sensitivity_cat` is the probability that they say cat where it applies, `specificity_cat`
        that they do not say it where it does not.
        """
        ann = self.annotations
        columns: dict[str, AnyArray] = {
            "annotator": ann.annotators, "quality": self.quality.value,
            "quality_low": self.quality.low, "quality_high": self.quality.high,
            "n_annotations": ann.labels_per_annotator,
        }  # fmt: skip
        columns |= dict(self.annotator_traits)
        if self.confusion is not None:
            for k, name in enumerate(ann.classes):
                columns[f"sensitivity_{name}"] = self.confusion[:, k, 1, 1]
                columns[f"specificity_{name}"] = self.confusion[:, k, 0, 0]
        return columns

    def score(self, truth: Mapping[Any, Any]) -> SetScorecard:  # type: ignore[override]
        """How well the sets do on the items whose truth is given as {item: set}.

        Items whose truth was known beforehand do not count.
        """
        vocabulary: Any = self.annotations.class_vocabulary
        return set_scorecard(
            self.annotations.item_vocabulary, vocabulary.classes, vocabulary.separator,
            self.members, self._applies, self.evidence.without_known(truth),
        )  # fmt: skip

    def score_soft(self, truth: Any) -> Any:
        """Shares of labels are truths of classes: a `DataError`."""
        raise DataError("shares of labels are truths of single classes; these labels are sets")

    def calibrated(self, truth: Any) -> Any:
        """A temperature is for probabilities of single classes: a `DataError`."""
        raise DataError("only probabilities of single classes can be calibrated, not those of sets")


def decide(applies_ik: Floats) -> tuple[Bools, Bools]:
    """Which classes are more probable than not, and which items have a class that is neither.

    A tie goes to what is more probable over all items together.

    >>> members, tied = decide(np.array([[0.5, 0.9], [0.2, 0.5], [0.1, 0.7]]))
    >>> members.tolist(), tied.tolist()
    ([[False, True], [False, True], [False, True]], [True, True, False])
    """
    tied_ik = np.abs(applies_ik - 0.5) <= _EQUAL
    usual_k = applies_ik.mean(axis=0) > 0.5 if len(applies_ik) else np.zeros(0, dtype=bool)
    members_ik = np.where(tied_ik, usual_k, applies_ik > 0.5)
    return np.asarray(members_ik), np.asarray(tied_ik.any(axis=1))


def independent_confidence(applies_ik: Floats) -> Floats:
    """The probability of the most probable set, if classes are independent."""
    return np.asarray(np.maximum(applies_ik, 1.0 - applies_ik).prod(axis=1))


def set_quality(evidence: Evidence, applies_ik: Floats) -> Quality:
    """The quality of annotators; see `SetConsensus`."""
    ann, vocabulary = evidence.annotations, evidence.annotations.class_vocabulary
    sets: Any = vocabulary
    right_a, seen_a = count_confirmed_sets(
        ann.item_offsets, ann.annotator, ann.label, evidence.is_known, sets.member_sk,
        np.ascontiguousarray(applies_ik), ann.n_annotators,
    )  # fmt: skip
    return quality_of_counts(right_a, seen_a)


def separator_of(annotations: Annotations) -> str:
    """What is written between the classes of a set."""
    sets: Any = annotations.class_vocabulary
    return str(sets.separator)
