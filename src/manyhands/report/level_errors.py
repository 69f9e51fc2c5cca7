"""How many levels the labels of annotators are off, where classes have an order."""

from dataclasses import dataclass

import numpy as np

from manyhands.aggregation import Consensus
from manyhands.core.arrays import Bools, Floats
from manyhands.report.shown import percent

WEAK = 0.5  # of how far labels at random would be off


@dataclass(frozen=True)
class LevelErrors:
    """The expected distance of the labels of annotators from the true level, in levels.

    `chance_a` is the distance of labels that are drawn at random: every level as often as the
    annotator says it, whatever the item. `near` is the expected share of items whose consensus is
    right or one level off.
    """

    off_a: Floats
    chance_a: Floats
    near: float

    @property
    def is_weak_a(self) -> Bools:
        """Annotators who are more than half as far off as labels at random."""
        return np.asarray(self.off_a > WEAK * self.chance_a)

    def text(self, annotator: int) -> str:
        """How far off an annotator is, in words."""
        off, chance = float(self.off_a[annotator]), float(self.chance_a[annotator])
        return (
            f"expected to be off by {off:.1f} levels on average, more than half of the "
            f"{chance:.1f} levels of labels at random"
        )

    @property
    def of_consensus(self) -> str:
        """How near the consensus is, in words."""
        return f"right or one level off for {percent(self.near)}"


def level_errors(consensus: Consensus) -> LevelErrors | None:
    """The errors of annotators in levels; None if classes have no order.

    >>> import manyhands as mh
    >>> labels = [["bad", "bad", "good"], ["fair", "fair", "bad"], ["good", "good", "bad"]]
    >>> rows = [(i, a, label) for i, row in enumerate(labels) for a, label in enumerate(row)]
    >>> levels = ["bad", "fair", "good"]
    >>> ann = mh.Annotations.from_arrays(*zip(*rows), kind="ordinal", levels=levels)
    >>> level_errors(mh.aggregate(ann, method="majority")).off_a.round(2).tolist()
    [0.56, 0.56, 1.11]
    """
    ann, p_ik = consensus.annotations, consensus.probabilities
    if not ann.ordered or p_ik is None:
        return None
    n_k, n_a = ann.n_classes, np.maximum(ann.labels_per_annotator, 1)
    distance_kl = np.abs(np.subtract.outer(np.arange(n_k), np.arange(n_k))).astype(np.float64)
    off_il = p_ik @ distance_kl
    off_n = off_il[ann.item, ann.label]
    truth_ak = np.zeros((ann.n_annotators, n_k))
    np.add.at(truth_ak, ann.annotator, p_ik[ann.item])
    said_ak = np.zeros((ann.n_annotators, n_k))
    np.add.at(said_ak, (ann.annotator, ann.label), 1.0)
    chance_a = ((truth_ak / n_a[:, None]) @ distance_kl * said_ak / n_a[:, None]).sum(axis=1)
    labelled = ann.labels_per_item > 0
    near_kl = (distance_kl <= 1).astype(np.float64)
    near_i = (p_ik * near_kl[p_ik.argmax(axis=1)]).sum(axis=1)
    return LevelErrors(
        np.bincount(ann.annotator, off_n, ann.n_annotators) / n_a,
        chance_a,
        float(near_i[labelled].mean()) if labelled.any() else 0.0,
    )
