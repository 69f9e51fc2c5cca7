"""E- and M-step of confusion models: one fused pass over the item-sorted labels.

The pass computes each item's posterior and, while its labels are still in cache, adds that
posterior to the counts of the annotators who gave them. Confusions are stored (annotator, label,
class) here, so that both the gather and the scatter touch one short contiguous row.

Classes may be divided into M subtypes with confusions of their own. Then columns k stand for the
subtypes of the first class, those of the second and so on; labels and known truths are classes.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from manyhands.aggregation.cost import require_confusions
from manyhands.aggregation.evidence import Evidence, majority_posterior
from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.kernels import even_blocks, kernel, run_blocks
from manyhands.core.prefetch import prefetch

TINY = 1e-300  # log(0) would turn sums into NaN; no real probability is this small
_AHEAD = 20  # labels between the prefetch of a row and its use
_MAX_BLOCKS = 16
_MAX_BUFFER = 1 << 28  # bytes of partial counts


class Expectation(Protocol):
    """The result of an E-step: posterior, its sum per class, soft counts, log-likelihood."""

    @property
    def posterior_ik(self) -> Floats:
        """The posterior of items."""

    @property
    def mass_k(self) -> Floats:
        """The posterior summed over items."""

    @property
    def counts_alk(self) -> Floats:
        """The soft counts of annotators."""

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the labels."""


@dataclass(frozen=True)
class HostExpectation:
    """An `Expectation` of arrays."""

    posterior_ik: Floats
    mass_k: Floats
    counts_alk: Floats
    log_likelihood: float


@dataclass(frozen=True)
class ConfusionStep:
    """The result of an M-step: the log-confusions and their log-prior (up to a constant)."""

    log_confusion_alk: Floats
    log_prior: float


class ConfusionPass:
    """The E-step of confusion models over one set of annotations, with its reusable buffers.

    With `n_subtypes` above 1 the columns of all its arrays are subtypes of classes.
    """

    def __init__(self, evidence: Evidence, n_subtypes: int = 1) -> None:
        ann = evidence.annotations
        self.evidence = evidence
        self._offsets = ann.item_offsets
        n_columns = ann.n_classes * n_subtypes
        shape_alk = (ann.n_annotators, ann.n_classes, n_columns)
        require_confusions(ann, copies=2 * n_subtypes)
        n_blocks = ann.n_annotations // (8 * max(ann.n_annotators * ann.n_classes, 1))
        most = _MAX_BUFFER // (8 * max(math.prod(shape_alk), 1))
        n_blocks = max(1, min(n_blocks, _MAX_BLOCKS, most))
        self._expect = _expect_two_classes if shape_alk[1:] == (2, 2) else _expect_classes
        self._blocks = even_blocks(self._offsets, n_blocks)
        self._posterior_ik = np.empty((ann.n_items, n_columns))
        self._mass_bk = np.empty((len(self._blocks), n_columns))
        self._counts_balk = np.empty((len(self._blocks), *shape_alk))

    def __call__(self, log_prior_k: Floats, log_confusion_alk: Floats) -> Expectation:
        """Posterior, counts and log-likelihood under these parameters; buffers are reused.

        The class prior may also be given per item, shape (i, k), such as a classifier's output.
        """
        ann, known = self.evidence.annotations, self.evidence.known
        log_prior_ik = np.atleast_2d(log_prior_k)

        def work(block: int) -> float:
            counts, mass = self._counts_balk[block], self._mass_bk[block]
            counts.fill(0.0)
            mass.fill(0.0)
            return self._expect(
                *self._blocks[block],
                self._offsets,
                ann.annotator,
                ann.label,
                known,
                log_prior_ik,
                log_confusion_alk,
                self._posterior_ik,
                counts,
                mass,
            )

        return self._total(run_blocks(work, range(len(self._blocks))))

    def count(self, posterior_ik: Floats) -> Expectation:
        """The counts of a given posterior, such as the initial one."""
        ann = self.evidence.annotations
        self._posterior_ik[:] = posterior_ik

        def work(block: int) -> float:
            counts, mass = self._counts_balk[block], self._mass_bk[block]
            counts.fill(0.0)
            mass.fill(0.0)
            return _count_classes(
                *self._blocks[block],
                self._offsets,
                ann.annotator,
                ann.label,
                self._posterior_ik,
                counts,
                mass,
            )

        return self._total(run_blocks(work, range(len(self._blocks))))

    def majority(self) -> Floats:
        """Label distributions of items: where iterative models start."""
        return majority_posterior(self.evidence)

    def fit_confusions(self, expected: Expectation, pseudo_alk: Floats) -> ConfusionStep:
        """The M-step of an expectation of this pass; see the function of this name."""
        return fit_confusions(expected.counts_alk, pseudo_alk)

    def _total(self, parts: list[float]) -> Expectation:
        total_alk = self._counts_balk[0]

        def add(annotators: tuple[int, int]) -> None:
            chunk = slice(*annotators)
            for counts_alk in self._counts_balk[1:]:
                total_alk[chunk] += counts_alk[chunk]

        run_blocks(add, even_blocks(np.arange(len(total_alk) + 1), _MAX_BLOCKS))
        return HostExpectation(self._posterior_ik, self._mass_bk.sum(axis=0), total_alk, sum(parts))


def fit_confusions(counts_alk: Floats, pseudo_alk: Floats) -> ConfusionStep:
    """Log C[a,k,l] with C ~ counts + pseudo, and the log-prior sum pseudo * log C.

    `pseudo_alk` holds pseudo-counts per annotator, or one set (1, l, k) for all of them.
    """
    log_confusion_alk = np.empty_like(counts_alk)

    def work(chunk: tuple[int, int]) -> float:
        return _normalise_counts(*chunk, counts_alk, pseudo_alk, log_confusion_alk)

    chunks = even_blocks(np.arange(len(counts_alk) + 1), _MAX_BLOCKS)
    return ConfusionStep(log_confusion_alk, sum(run_blocks(work, chunks)))


@kernel
def normalise_scores(score: Floats, known: int) -> float:
    """Turn log-scores into a posterior in place, and return the log of their sum.

    A known class (not -1) gets probability 1, and its own log-score is returned.
    """
    if known >= 0:
        log_sum = score[known]
        score[:] = 0.0
        score[known] = 1.0
        return float(log_sum)
    top = score[0]
    for k in range(1, len(score)):
        top = max(top, score[k])
    total = 0.0
    for k in range(len(score)):
        score[k] = np.exp(score[k] - top)
        total += score[k]
    for k in range(len(score)):
        score[k] /= total
    return float(top + np.log(total))


@kernel
def _normalise_columns(score: Floats, known: int, n_subtypes: int) -> float:
    """`normalise_scores` of classes or of their subtypes; `known` is a class."""
    if known < 0 or n_subtypes == 1:
        return normalise_scores(score, known)
    begin = known * n_subtypes
    end = begin + n_subtypes
    log_sum = normalise_scores(score[begin:end], -1)
    score[:begin] = 0.0
    score[end:] = 0.0
    return log_sum


@kernel
def _expect_classes(
    first: int,
    last: int,
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    known: Codes,
    log_prior: Floats,
    log_confusion: Floats,
    posterior: Floats,
    counts: Floats,
    mass: Floats,
) -> float:
    n_labels, n_classes = log_confusion.shape[1], log_prior.shape[1]
    n_subtypes = n_classes // n_labels
    log_rows, count_rows = log_confusion.reshape(-1), counts.reshape(-1)
    score = np.empty(n_classes)
    total = 0.0
    final = offsets[last] - 1
    for i in range(first, last):
        prior = log_prior[i if len(log_prior) > 1 else 0]
        for k in range(n_classes):
            score[k] = prior[k]
        for n in range(offsets[i], offsets[i + 1]):
            later = min(n + _AHEAD, final)
            ahead = np.int64((np.int64(annotator[later]) * n_labels + label[later]) * n_classes)
            prefetch(log_rows, ahead)
            prefetch(log_rows, ahead + n_classes - 1)
            prefetch(count_rows, ahead)
            prefetch(count_rows, ahead + n_classes - 1)
            row = np.uint64((np.int64(annotator[n]) * n_labels + label[n]) * n_classes)
            for k in range(n_classes):
                score[k] += log_rows[row + np.uint64(k)]
        total += _normalise_columns(score, known[i] if len(known) else -1, n_subtypes)
        for k in range(n_classes):
            posterior[i, k] = score[k]
            mass[k] += score[k]
        for n in range(offsets[i], offsets[i + 1]):
            row = np.uint64((np.int64(annotator[n]) * n_labels + label[n]) * n_classes)
            for k in range(n_classes):
                count_rows[row + np.uint64(k)] += score[k]
    return total


@kernel
def _expect_two_classes(
    first: int,
    last: int,
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    known: Codes,
    log_prior: Floats,
    log_confusion: Floats,
    posterior: Floats,
    counts: Floats,
    mass: Floats,
) -> float:
    """The same with both classes in registers: twice as fast, and two classes are frequent."""
    log_rows, count_rows = log_confusion.reshape(-1), counts.reshape(-1)
    total = mass_0 = mass_1 = 0.0
    final = offsets[last] - 1
    for i in range(first, last):
        prior = log_prior[i if len(log_prior) > 1 else 0]
        score_0, score_1 = prior[0], prior[1]
        for n in range(offsets[i], offsets[i + 1]):
            later = min(n + _AHEAD, final)
            ahead = np.int64(4) * annotator[later] + 2 * label[later]
            prefetch(log_rows, ahead)
            prefetch(count_rows, ahead)
            row = np.uint64(np.int64(4) * annotator[n] + 2 * label[n])
            score_0 += log_rows[row]
            score_1 += log_rows[row + np.uint64(1)]
        if len(known) and known[i] >= 0:
            class_1 = float(known[i])
            class_0 = 1.0 - class_1
            total += score_1 if known[i] == 1 else score_0
        else:
            lower = np.exp(-abs(score_0 - score_1))
            total += max(score_0, score_1) + np.log1p(lower)
            # Not 1 minus the other: that would lose the digits of a small probability.
            class_0 = (1.0 if score_0 > score_1 else lower) / (1.0 + lower)
            class_1 = (lower if score_0 > score_1 else 1.0) / (1.0 + lower)
        posterior[i, 0], posterior[i, 1] = class_0, class_1
        mass_0 += class_0
        mass_1 += class_1
        for n in range(offsets[i], offsets[i + 1]):
            row = np.uint64(np.int64(4) * annotator[n] + 2 * label[n])
            count_rows[row] += class_0
            count_rows[row + np.uint64(1)] += class_1
    mass[0], mass[1] = mass_0, mass_1
    return total


@kernel
def _count_classes(
    first: int,
    last: int,
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    posterior: Floats,
    counts: Floats,
    mass: Floats,
) -> float:
    n_classes = posterior.shape[1]
    for i in range(first, last):
        for k in range(n_classes):
            mass[k] += posterior[i, k]
        for n in range(offsets[i], offsets[i + 1]):
            cell = counts[annotator[n], label[n]]
            for k in range(n_classes):
                cell[k] += posterior[i, k]
    return 0.0


@kernel
def _normalise_counts(
    first: int, last: int, counts: Floats, pseudo: Floats, log_confusion: Floats
) -> float:
    n_labels, n_classes = counts.shape[1], counts.shape[2]
    total = np.empty(n_classes)
    log_prior = 0.0
    for a in range(first, last):
        prior = pseudo[a if len(pseudo) > 1 else 0]
        total[:] = 0.0
        for label in range(n_labels):
            for k in range(n_classes):
                total[k] += counts[a, label, k] + prior[label, k]
        for label in range(n_labels):
            for k in range(n_classes):
                if total[k] > 0.0:
                    share = (counts[a, label, k] + prior[label, k]) / total[k]
                else:
                    share = 1.0 / n_labels
                log_confusion[a, label, k] = np.log(max(share, TINY))
                log_prior += prior[label, k] * log_confusion[a, label, k]
    return log_prior
