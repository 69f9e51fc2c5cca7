"""Passes of the mixture model: an E-step that ignores annotators, and likelihoods of groups."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.confusion_loops import TINY
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Codes, Floats, Offsets
from manyhands.core.kernels import kernel, label_blocks, run_blocks
from manyhands.core.limits import product, require_memory

_MANY_CLASSES = 100


@dataclass(frozen=True)
class PatternExpectation:
    """Posterior by pattern (r, k), its sum over items, label counts, the log-likelihood."""

    posterior_rk: Floats
    mass_k: Floats
    counts_lk: Floats
    log_likelihood: float


class LabelPatterns:
    """The E-step of a model in which all labels come from one confusion.

    ::

        log p(y_i) = log sum_k pi_k prod_l B[k,l]^(number of labels l of item i)

    Items with the same label counts, and the same known truth if any, share a pattern `r`: five
    labels of two classes have six patterns, however many items there are.
    """

    def __init__(self, table: Codes, n_r: AnyArray) -> None:
        """Of distinct rows of label counts and the known truth (-1: none), and their numbers."""
        self.table, self.n_r = table, n_r.astype(np.float64)
        counts_rl = self.dense_counts_rl
        # Of many classes few are said of an item.
        self._counts_rl = csr_array(counts_rl) if counts_rl.shape[1] >= _MANY_CLASSES else counts_rl
        self._known = np.flatnonzero(table[:, -1] >= 0)
        self._known_class = table[self._known, -1]

    @classmethod
    def of(cls, evidence: Evidence) -> "LabelPatterns":
        """The patterns of items."""
        return cls.with_items(evidence)[0]

    @classmethod
    def with_items(cls, evidence: Evidence) -> tuple["LabelPatterns", AnyArray]:
        """The patterns of items, and the pattern of each item."""
        ann = evidence.annotations
        known_i = evidence.known if len(evidence.known) else np.full(ann.n_items, -1)
        table = np.column_stack([ann.label_counts().astype(np.int32), known_i.astype(np.int32)])
        row_r, pattern_i, n_r = _distinct(table)
        return cls(row_r, n_r), pattern_i

    def __add__(self, other: "LabelPatterns") -> "LabelPatterns":
        """The patterns of the items of both."""
        table = np.concatenate([self.table, other.table])
        need = product(*table.shape, of="patterns of labels x classes")
        require_memory("mixture", 4.0 * table.nbytes, need, "merge rare classes, or try one-coin")
        row_r, index, _ = _distinct(table)
        n = np.concatenate([self.n_r, other.n_r])
        return LabelPatterns(row_r, np.bincount(index, n, len(row_r)))

    @property
    def dense_counts_rl(self) -> Floats:
        """The number of labels of each class in every pattern."""
        return self.table[:, :-1].astype(np.float64)

    @property
    def majority_rk(self) -> Floats:
        """The label distribution of every pattern, 1 for known truths.

        A pattern without labels has that of all labels.
        """
        share_rk = self.dense_counts_rl
        n_labels = share_rk.sum(axis=1, keepdims=True)
        overall_k = self.n_r @ share_rk
        np.divide(share_rk, n_labels, out=share_rk, where=n_labels > 0)
        share_rk[n_labels[:, 0] == 0] = overall_k / max(overall_k.sum(), 1.0)
        share_rk[self._known] = 0.0
        share_rk[self._known, self._known_class] = 1.0
        return share_rk

    def __call__(self, log_prior_k: Floats, log_confusion_lk: Floats) -> PatternExpectation:
        """Posterior, counts and log-likelihood under these parameters."""
        score_rk = log_prior_k + self._counts_rl @ log_confusion_lk
        log_sum_r = logsumexp(score_rk, axis=1)
        posterior_rk = np.exp(score_rk - log_sum_r[:, None])
        posterior_rk /= posterior_rk.sum(axis=1, keepdims=True)
        log_sum_r[self._known] = score_rk[self._known, self._known_class]
        posterior_rk[self._known] = 0.0
        posterior_rk[self._known, self._known_class] = 1.0
        weighted_rk = self.n_r[:, None] * posterior_rk
        return PatternExpectation(
            posterior_rk,
            weighted_rk.sum(axis=0),
            self._counts_rl.T @ weighted_rk,
            float(self.n_r @ log_sum_r),
        )


def group_log_likelihoods(
    annotations: Annotations, posterior_ik: Floats, confusion_mlk: Floats
) -> Floats:
    """sum_n log sum_k q_ik beta_m[k, y_n] over the labels n of annotator a, shape (a, m)."""
    ann = annotations
    confusion_lmk = confusion_mlk.transpose(1, 0, 2).copy()
    blocks = label_blocks(ann.item_offsets)
    log_likelihood_bam = np.zeros((len(blocks), ann.n_annotators, len(confusion_mlk)))

    def work(block: int) -> None:
        _add_block(
            *blocks[block],
            ann.item_offsets,
            ann.annotator,
            ann.label,
            posterior_ik,
            confusion_lmk,
            log_likelihood_bam[block],
        )

    run_blocks(work, range(len(blocks)))
    return np.asarray(log_likelihood_bam.sum(axis=0))


def _distinct(table: Codes) -> tuple[Codes, AnyArray, AnyArray]:
    """The distinct rows in sorted order, the index of each row among them, and their counts.

    `numpy.unique` by rows gives the same and is far slower.
    """
    order = np.lexsort(table.T)
    ranked = table[order]
    new = np.ones(len(table), dtype=bool)
    new[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    index = np.empty(len(table), dtype=np.int64)
    index[order] = np.cumsum(new) - 1
    return ranked[new], index, np.bincount(index, minlength=int(new.sum()))


@kernel
def _add_block(
    first: int,
    last: int,
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    posterior: Floats,
    confusion: Floats,
    log_likelihood: Floats,
) -> None:
    n_groups, n_classes = confusion.shape[1], confusion.shape[2]
    for i in range(first, last):
        for n in range(offsets[i], offsets[i + 1]):
            for m in range(n_groups):
                p_label = 0.0
                for k in range(n_classes):
                    p_label += posterior[i, k] * confusion[label[n], m, k]
                log_likelihood[annotator[n], m] += np.log(max(p_label, TINY))
