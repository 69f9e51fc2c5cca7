"""Annotators for cross-fitting: confusions that leave the belief about the item itself out."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats

_STEPS = 10  # of EM for skill and spam
_FIRST_SPAM = 0.2
_SPAM_LABELS, _SKILLED_LABELS = 0.5, 2.0  # pseudo-labels of an annotator
_RIGHT, _ANY = 0.5, 0.05  # pseudo-labels of the shared confusion: of each class, and of each pair
_LABEL = 0.5  # pseudo-labels of each class in the frequencies of an annotator


@dataclass(frozen=True)
class CrowdLabels:
    """Labels of items that all have some, and sums over them in time that grows with the labels."""

    annotations: Annotations

    @cached_property
    def pairs(self) -> tuple[Floats, Floats]:
        """For every label: how often its annotator labelled its item, and gave this very label.

        Both have shape (n, 1), and both are 1 unless somebody labelled an item twice.
        """
        ann = self.annotations
        pair_n = ann.item.astype(np.int64) * ann.n_annotators + ann.annotator
        return _repeats(pair_n), _repeats(pair_n * ann.n_classes + ann.label)

    def votes(self) -> Floats:
        """How often each label was given to each item, shape (i, l)."""
        ann = self.annotations
        place_n = ann.item.astype(np.int64) * ann.n_classes + ann.label
        votes = np.bincount(place_n, minlength=ann.n_items * ann.n_classes)
        return votes.reshape(ann.n_items, ann.n_classes).astype(np.float64)

    def counts(self, belief_ik: Floats) -> Floats:
        """How often each annotator gave each label to items of each class, shape (a, k, l)."""
        ann = self.annotations
        n_annotators, n_classes = ann.n_annotators, ann.n_classes
        place_n = ann.annotator.astype(np.int64) * n_classes + ann.label
        counts_akl = np.empty((n_annotators, n_classes, n_classes))
        for k in range(n_classes):
            weight_n = belief_ik[ann.item, k]
            found = np.bincount(place_n, weight_n, minlength=n_annotators * n_classes)
            counts_akl[:, k] = found.reshape(n_annotators, n_classes)
        return counts_akl

    def sum_by_item(self, value_nk: Floats) -> Floats:
        """Sums over the labels of every item, shape (i, k)."""
        return np.add.reduceat(value_nk, self.annotations.item_offsets[:-1], axis=0)

    def left_out(self, belief_ik: Floats, prior_akl: Floats, strength: float) -> Floats:
        """The log-probability of every label under each class, without its item, shape (n, k).

        ::

            C_a^{-i}[k, l] = (n_a[k, l] - own labels of i + strength M_a[k, l]) / sum over l
        """
        ann = self.annotations
        counts_akl = self.counts(belief_ik)
        pair_n1, same_n1 = self.pairs
        own_nk = belief_ik[ann.item]
        above_nk = counts_akl[ann.annotator, :, ann.label] - same_n1 * own_nk
        above_nk = np.maximum(above_nk, 0) + strength * prior_akl[ann.annotator, :, ann.label]
        below_nk = counts_akl.sum(axis=2)[ann.annotator] - pair_n1 * own_nk
        return np.asarray(np.log(above_nk) - np.log(np.maximum(below_nk, 0) + strength))

    def confusions(self, belief_ik: Floats, strength: float) -> Floats:
        """The confusion of every annotator, with the prior of `skill_and_spam`, (a, k, l)."""
        counts_akl = self.counts(belief_ik)
        prior_akl, _ = skill_and_spam(counts_akl)
        counts_akl = counts_akl + strength * prior_akl
        return np.asarray(counts_akl / counts_akl.sum(axis=2, keepdims=True))


def skill_and_spam(counts_akl: Floats) -> tuple[Floats, Floats]:
    """A prior confusion of every annotator (a, k, l), and the share of their labels that is spam.

    A label comes from a confusion G that all share, or, with probability sigma_a, from the label
    frequencies u_a of the annotator, whatever the class is::

        M_a = (1 - sigma_a) G + sigma_a 1 u_a'

    G and sigma are estimated by EM with weak priors: a shared confusion is more often right.
    """
    said_al = counts_akl.sum(axis=1) + _LABEL
    said_al /= said_al.sum(axis=1, keepdims=True)
    shared_kl = _shared(counts_akl)
    spam_a = np.full(len(counts_akl), _FIRST_SPAM)
    total_a = counts_akl.sum(axis=(1, 2))
    for _ in range(_STEPS):
        skilled_akl = (1 - spam_a)[:, None, None] * shared_kl
        from_spam_akl = spam_a[:, None, None] * said_al[:, None, :]
        share_akl = from_spam_akl / (skilled_akl + from_spam_akl)
        spam_a = (counts_akl * share_akl).sum(axis=(1, 2)) + _SPAM_LABELS
        spam_a /= total_a + _SPAM_LABELS + _SKILLED_LABELS
        shared_kl = _shared(counts_akl * (1 - share_akl))
    prior_akl = (1 - spam_a)[:, None, None] * shared_kl + spam_a[:, None, None] * said_al[:, None]
    return prior_akl, spam_a


def _shared(counts_akl: Floats) -> Floats:
    counts_kl = counts_akl.sum(axis=0)
    counts_kl = counts_kl + _RIGHT * np.eye(len(counts_kl)) + _ANY
    return np.asarray(counts_kl / counts_kl.sum(axis=1, keepdims=True))


def _repeats(code_n: AnyArray) -> Floats:
    _, inverse_n, count = np.unique(code_n, return_inverse=True, return_counts=True)
    return np.asarray(count[inverse_n], dtype=np.float64)[:, None]
