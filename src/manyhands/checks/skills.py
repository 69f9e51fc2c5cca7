"""How far every annotator follows the others, beyond what chance would give.

Each label is compared with the others' consensus of its item (most of them for classes, their
mean rank for numbers), which the annotator had no part in. Were the annotator's labels dealt out
to their own items at random, the comparison would have a known mean and variance whatever the
annotator's habits: nobody who likes one class is accused for that alone.
"""

from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Annotations
from manyhands.checks.others import Cells, majority_of_others, mean_of_others
from manyhands.core.arrays import AnyArray, Bools, Floats


@dataclass(frozen=True)
class Skills:
    """Per annotator: what was compared, and how much more they follow the others than chance.

    compared_a   labels that could be compared
    excess_a     sum of agreement (or of products) above chance
    variance_a   variance of the excess if labels were dealt out at random
    room_a       the excess of somebody who says exactly what the others say
    varied_a     whether labels and items vary enough for a normal approximation
    """

    compared_a: Floats
    excess_a: Floats
    variance_a: Floats
    room_a: Floats
    varied_a: Bools

    @property
    def z_a(self) -> Floats:
        """The excess in standard deviations; 0 where labels never vary."""
        varies = self.variance_a > 1e-9
        scale = np.sqrt(np.where(varies, self.variance_a, 1.0))
        return np.asarray(np.where(varies, self.excess_a / scale, 0.0))

    @property
    def crowd(self) -> float:
        """The skill of the crowd as one: 0 is chance, 1 is perfect agreement."""
        room = float(self.room_a.sum())
        return float(self.excess_a.sum()) / room if room > 0 else 0.0


def class_skills(annotations: Annotations, cells: Cells) -> Skills:
    """Skills from agreement with the majority of the others.

    With n_k labels of class k among N, and m_k items of which the others say k:
    chance = sum_k n_k m_k / N, room = N - sum_k m_k^2 / N, and
    variance = (sum n m - sum n m^2 / N - sum n^2 m / N + (sum n m)^2 / N^2) / (N - 1).
    """
    others = majority_of_others(annotations, cells)
    known = others >= 0
    owner, own, others = annotations.annotator[known], annotations.label[known], others[known]
    n_annotators, n_classes = annotations.n_annotators, max(annotations.n_classes, 1)
    base = owner.astype(np.int64) * n_classes
    key, place = np.unique(np.concatenate([base + own, base + others]), return_inverse=True)
    said = np.bincount(place[: len(owner)], minlength=len(key)).astype(np.float64)
    heard = np.bincount(place[len(owner) :], minlength=len(key)).astype(np.float64)

    def total(weight: AnyArray) -> Floats:
        sums = np.bincount(key // n_classes, weights=weight, minlength=n_annotators)
        return np.asarray(sums, dtype=np.float64)

    compared = np.bincount(owner, minlength=n_annotators).astype(np.float64)
    agreed = np.bincount(owner, weights=own == others, minlength=n_annotators)
    n = np.maximum(compared, 1.0)
    both = total(said * heard)
    off = total(said * heard**2) / n + total(said**2 * heard) / n
    variance = (both - off + (both / n) ** 2) / np.maximum(n - 1.0, 1.0)
    room = compared - total(heard**2) / n
    return Skills(compared, agreed - both / n, np.maximum(variance, 0.0), room, variance >= 2.0)


def number_skills(annotations: Annotations, rank_n: Floats) -> Skills:
    """Skills from the covariance of an annotator's ranks with the mean rank of the others."""
    others_n = mean_of_others(annotations, rank_n)
    known = ~np.isnan(others_n)
    owner, own, others = annotations.annotator[known], rank_n[known], others_n[known]

    def total(weight: AnyArray) -> Floats:
        return np.asarray(np.bincount(owner, weight, annotations.n_annotators), dtype=np.float64)

    compared = total(np.ones(len(owner)))
    n = np.maximum(compared, 1.0)
    own_off = own - (total(own) / n)[owner]
    others_off = others - (total(others) / n)[owner]
    room = total(others_off**2)
    variance = total(own_off**2) * room / np.maximum(n - 1.0, 1.0)
    varied = variance > 1e-4 * room  # ranks lie between 0 and 1: a deviation of 0.01
    return Skills(compared, total(own_off * others_off), variance, room, varied)
