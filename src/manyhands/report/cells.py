"""Labels beside the consensus: confusions that occur, counts by class, and what is right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.aggregation import Consensus
from manyhands.annotations import Annotations
from manyhands.annotations.grouping import group_offsets
from manyhands.annotations.set_cells import parse_set
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats, Offsets
from manyhands.evaluation import masi

NOTHING = "nothing"  # what is said in place of a class, or is true in place of one


@dataclass(frozen=True)
class ConfusionCells:
    """Counts of labels by annotator, consensus class and label; only those that occur, sorted."""

    annotator: Codes
    consensus: Codes
    label: Codes
    count: Offsets
    offsets: Offsets  # annotator a has the cells `offsets[a]:offsets[a + 1]`

    def of(self, annotator: int) -> slice:
        """The cells of an annotator."""
        return slice(int(self.offsets[annotator]), int(self.offsets[annotator + 1]))


def confusion_cells(consensus: Consensus) -> ConfusionCells:
    """How often each annotator gave each label to items of each consensus class.

    A set has a label for each class that it or the consensus has. A class that only one of the two
    has is confused with nothing, the last of `class_names`.
    """
    ann = consensus.annotations
    who, believed, said = _pairs(consensus)
    n_classes = max(len(class_names(consensus)), 1)
    key_n = (who.astype(np.int64) * n_classes + believed) * n_classes + said
    key, count = np.unique(key_n, return_counts=True)
    rest, label = np.divmod(key, n_classes)
    annotator, believed = np.divmod(rest, n_classes)
    annotator = annotator.astype(np.int32)
    offsets = group_offsets(annotator, ann.n_annotators)
    return ConfusionCells(annotator, believed.astype(np.int32), label.astype(np.int32), count,
                          offsets)  # fmt: skip


def _pairs(consensus: Consensus) -> tuple[AnyArray, AnyArray, AnyArray]:
    """The annotator, the consensus class and the label of everything that is confused."""
    ann = consensus.annotations
    if ann.kind != "multilabel":
        return ann.annotator, consensus_codes(consensus)[ann.item], ann.label
    said_nk, true_nk = ann.members, members_of(consensus)[ann.item]
    row, k = np.nonzero(said_nk | true_nk)
    nothing = ann.n_classes
    believed, label = np.where(true_nk[row, k], k, nothing), np.where(said_nk[row, k], k, nothing)
    return ann.annotator[row], believed, label


def class_names(consensus: Consensus) -> list[str]:
    """The names of the classes that labels are confused with; of sets also `NOTHING`."""
    names = [str(name) for name in consensus.annotations.classes]
    return [*names, NOTHING] if consensus.annotations.kind == "multilabel" else names


def consensus_codes(consensus: Consensus) -> Codes:
    """The class codes of the consensus labels."""
    classes = consensus.annotations.class_vocabulary
    assert classes is not None, "numbers have no codes"
    return np.asarray(classes.codes(consensus.labels.tolist()), dtype=np.int32)


def members_of(consensus: Consensus) -> Bools:
    """Which classes a consensus of sets finds to apply, shape (i, k)."""
    found: Any = consensus
    return np.asarray(found.members)


def said_counts(consensus: Consensus) -> Offsets:
    """How many labels have each class."""
    return np.asarray(consensus.annotations.label_counts().sum(axis=0), dtype=np.int64)


def believed_counts(consensus: Consensus) -> Offsets:
    """How many items are of each class by the consensus."""
    ann = consensus.annotations
    if ann.kind == "multilabel":
        return np.asarray(members_of(consensus).sum(axis=0), dtype=np.int64)
    return np.bincount(consensus_codes(consensus), minlength=ann.n_classes)


def is_right(consensus: Consensus, row: AnyArray, truths: Sequence[Any]) -> Bools:
    """Whether the consensus of some items is their truth; of sets the whole set."""
    vocabulary: Any = consensus.annotations.class_vocabulary
    if consensus.annotations.kind != "multilabel":
        return np.asarray(consensus_codes(consensus)[row] == vocabulary.codes(truths))
    found: Any = consensus
    names = [set(map(str, each)) for each in found.sets]
    pairs = zip(row.tolist(), truths, strict=True)
    right = [names[i] == set(parse_set(truth, vocabulary.separator)) for i, truth in pairs]
    return np.array(right, dtype=bool)


def disagreement(ann: Annotations, consensus: Consensus, used_n: Bools) -> Floats:
    """How far some labels are from a consensus: 0 or 1 for classes, 1 - MASI for sets.

    The consensus may be that of other labels of the same items.
    """
    item, label = ann.item[used_n], ann.label[used_n]
    if consensus.probabilities is None:
        square_n = (label - consensus.labels[item]) ** 2
        return np.asarray(square_n / max(float(np.var(ann.label)), 1e-300), dtype=np.float64)
    if ann.kind == "multilabel":
        return 1.0 - masi(ann.members[used_n], members_of(consensus)[item])
    return np.asarray(ann.classes[label] != consensus.labels[item], dtype=np.float64)


def probability_of_labels(consensus: Consensus) -> Floats:
    """How probable every label is to be right; of sets the mean over classes."""
    ann = consensus.annotations
    assert consensus.probabilities is not None, "numbers have no probabilities"
    p_nk = consensus.probabilities[ann.item]
    if ann.kind == "multilabel":
        return np.asarray(np.where(ann.members, p_nk, 1.0 - p_nk).mean(axis=1))
    return np.asarray(p_nk[np.arange(len(p_nk)), ann.label], dtype=np.float64)
