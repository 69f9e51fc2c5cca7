"""E- and M-step of confusion models: one fused pass over the item-sorted labels.

Confusions are stored (annotator, label, class) here, so that a label reads one short contiguous row
and adds to another one; see `confusion_loops`.

Classes may be divided into M subtypes with confusions of their own. Then columns k stand for the
subtypes of the first class, those of the second and so on; labels and known truths are classes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from manyhands.aggregation.cost import require_confusions
from manyhands.aggregation.evidence import Evidence, majority_posterior
from manyhands.aggregation.kernels.confusion_loops import (
    add_blocks,
    count_items,
    expect_items,
    normalise_counts,
    rows_of_labels,
)
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.kernels import LABELS_PER_BLOCK, even_blocks, even_ranges, run_blocks
from manyhands.core.row_vectors import Columns

_FEW_COLUMNS = 16  # a loop is compiled for each number of columns up to this one
FEW_LABELS = 5_000  # for which no loop is compiled
FEW_ANNOTATORS = 1_000  # the same
_CELLS_PER_BLOCK = 1 << 15  # entries of confusions; threads cost more than they save on fewer
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
    """An `Expectation` of arrays; the posterior is computed when it is asked for."""

    compute_posterior: Callable[[], Floats]
    mass_k: Floats
    counts_alk: Floats
    log_likelihood: float

    @cached_property
    def posterior_ik(self) -> Floats:
        """The posterior of items."""
        return self.compute_posterior()


@dataclass(frozen=True)
class ConfusionStep:
    """The result of an M-step: the log-confusions and their log-prior (up to a constant)."""

    log_confusion_alk: Floats
    log_prior: float


class ConfusionPass:
    """The E-step of confusion models over one set of annotations, with its reusable buffers.

    With `n_subtypes` above 1 the columns of all its arrays are subtypes of classes. Without
    `posterior`, that of a step is computed again where it is asked for: a fit asks for the last one
    only. Without `counts` there is only the posterior.
    """

    def __init__(
        self,
        evidence: Evidence,
        n_subtypes: int = 1,
        *,
        posterior: bool = True,
        counts: bool = True,
    ) -> None:
        ann = evidence.annotations
        require_confusions(ann, copies=2 * n_subtypes)
        row_n = rows_of_labels(ann.annotator, ann.label, ann.n_annotators, ann.n_classes)
        shape_alk = (ann.n_annotators, ann.n_classes, ann.n_classes * n_subtypes)
        self._prepare(evidence, row_n, shape_alk, posterior, counts)

    def _prepare(
        self,
        evidence: Evidence,
        row_n: AnyArray,
        shape_alk: tuple[int, int, int],
        posterior: bool,
        counts: bool,
    ) -> None:
        """Buffers for tables of this shape, of which a label uses the row that it is given."""
        ann, n_columns = evidence.annotations, shape_alk[2]
        self.evidence, self._row_n = evidence, row_n
        self._blocks = even_blocks(ann.item_offsets, _n_blocks(ann.n_annotations, shape_alk))
        self._columns = columns_of(n_columns, few=ann.n_annotations < FEW_LABELS)
        self._none_ik = np.empty((0, n_columns))
        self._posterior_ik = np.empty((ann.n_items if posterior else 0, n_columns))
        self._mass_bk = np.empty((len(self._blocks), n_columns))
        self._counts_balk = np.empty((len(self._blocks), *(shape_alk if counts else (0, 0, 0))))

    def __call__(self, log_prior_k: Floats, log_confusion_alk: Any) -> Expectation:
        """Posterior, counts and log-likelihood under these parameters; buffers are reused.

        The class prior may also be given per item, shape (i, k), such as a classifier's output.
        """
        parameters = (np.atleast_2d(log_prior_k), log_confusion_alk)
        parts = self._expect(*parameters, self._posterior_ik, self._counts_balk)
        if len(self._posterior_ik):
            return self._total(parts, lambda: self._posterior_ik)

        def compute() -> Floats:
            posterior_ik = np.empty((self.evidence.annotations.n_items, self._none_ik.shape[1]))
            none_balk = np.empty((len(self._blocks), 0, 0, 0))
            self._expect(*parameters, posterior_ik, none_balk)
            return posterior_ik

        return self._total(parts, compute)

    def count(self, posterior_ik: Floats) -> Expectation:
        """The counts of a given posterior, such as the initial one."""
        offsets = self.evidence.annotations.item_offsets
        flat = np.ascontiguousarray(posterior_ik, dtype=np.float64).reshape(-1)

        def work(block: int) -> float:
            counts, mass = self._counts_balk[block].reshape(-1), self._mass_bk[block]
            count_items(
                *self._blocks[block], offsets, self._row_n, flat, counts, mass, self._columns
            )
            return 0.0

        return self._total(run_blocks(work, range(len(self._blocks))), lambda: posterior_ik)

    def majority(self) -> Floats:
        """Label distributions of items: where iterative models start."""
        return majority_posterior(self.evidence)

    def fit_confusions(self, expected: Expectation, pseudo_alk: Floats) -> ConfusionStep:
        """The M-step of an expectation of this pass; see the function of this name."""
        return fit_confusions(expected.counts_alk, pseudo_alk)

    def crowd_confusion(self, expected: Expectation, strength: float) -> Floats:
        """The confusion of an average annotator in an expectation; see the function."""
        return crowd_confusion(expected.counts_alk, strength)

    def _expect(
        self,
        log_prior_ik: Floats,
        log_confusion_alk: Any,
        posterior_ik: Floats,
        counts_balk: Floats,
    ) -> list[float]:
        ann, known = self.evidence.annotations, self.evidence.known
        n_subtypes = log_prior_ik.shape[1] // ann.n_classes
        prior_ik, rows, products = self._as_rows(log_prior_ik, log_confusion_alk)
        rows = np.ascontiguousarray(rows, dtype=np.float64).reshape(-1)
        prior = np.ascontiguousarray(prior_ik, dtype=np.float64).reshape(-1)

        def work(block: int) -> float:
            return expect_items(
                *self._blocks[block],
                ann.item_offsets,
                self._row_n,
                known,
                n_subtypes,
                prior,
                rows,
                products,
                posterior_ik.reshape(-1),
                counts_balk[block].reshape(-1),
                self._mass_bk[block],
                self._columns,
            )

        return run_blocks(work, range(len(self._blocks)))

    def _as_rows(self, log_prior_ik: Floats, log_confusion_alk: Any) -> tuple[Floats, Floats, bool]:
        """Prior and rows of the table, and whether they are probabilities, not logarithms."""
        return log_prior_ik, log_confusion_alk, False

    def _total(self, parts: list[float], posterior: Callable[[], Floats]) -> Expectation:
        total_alk = self._counts_balk[0]
        if len(self._blocks) > 1:
            flat_bc = self._counts_balk.reshape(len(self._blocks), -1)
            pieces = even_ranges(total_alk.size, _MAX_BLOCKS, at_least=_CELLS_PER_BLOCK)
            run_blocks(lambda piece: add_blocks(*piece, flat_bc), pieces)
        return self._expectation(posterior, self._mass_bk.sum(axis=0), total_alk, sum(parts))

    def _expectation(
        self, posterior: Callable[[], Floats], mass_k: Floats, counts: Floats, total: float
    ) -> Expectation:
        return HostExpectation(posterior, mass_k, counts, total)


def _n_blocks(n_labels: int, shape_alk: tuple[int, int, int]) -> int:
    """How many blocks of items have counts of their own.

    Every block costs a table of counts to clear and to add. Their number is a power of two, so that
    no core waits for a last one, and depends on the data alone.
    """
    cells = max(math.prod(shape_alk), 1)
    most = min(_MAX_BLOCKS, n_labels // LABELS_PER_BLOCK, _MAX_BUFFER // (8 * cells))
    wanted = max(n_labels // (2 * cells), 2 if n_labels >= cells else 1)
    return 1 << (max(1, min(most, wanted)).bit_length() - 1)


def fit_confusions(counts_alk: Floats, pseudo_alk: Floats) -> ConfusionStep:
    """Log C[a,k,l] with C ~ counts + pseudo, and the log-prior sum pseudo * log C.

    `pseudo_alk` holds pseudo-counts per annotator, or one set (1, l, k) for all of them.
    """
    counts, pseudo = (np.ascontiguousarray(each) for each in (counts_alk, pseudo_alk))
    log_confusion_alk = np.empty(counts.shape)
    n_annotators, n_labels, n_classes = counts.shape
    at_least = max(8, _CELLS_PER_BLOCK // max(n_labels * n_classes, 1))  # they have a buffer each
    chunks = even_ranges(n_annotators, _MAX_BLOCKS, at_least=at_least)
    columns = columns_of(n_classes, few=n_annotators < FEW_ANNOTATORS)

    def work(chunk: tuple[int, int]) -> float:
        return normalise_counts(
            *chunk, n_labels, counts.reshape(-1), pseudo.reshape(-1),
            log_confusion_alk.reshape(-1), columns,
        )  # fmt: skip

    return ConfusionStep(log_confusion_alk, sum(run_blocks(work, chunks)))


def columns_of(n_columns: int, *, few: bool) -> Columns:
    """What tells loops the number of columns; one is compiled for it unless the data are `few`."""
    return np.zeros(n_columns) if few or n_columns > _FEW_COLUMNS else (0,) * n_columns


def crowd_confusion(counts_alk: Floats, strength: float) -> Floats:
    """The confusion of an average annotator, (l, k), with one pseudo-label so that none is empty.

    P[k,l] ~ sum_a w_ak counts[a,k,l] / n_ak  with  w_ak = n_ak / (n_ak + strength)

    This is a mean over annotators, not over labels, so that a few busy annotators do not determine
    it. An annotator with few labels has less weight; beyond that the number of labels does not
    matter.
    """
    weight_ak = 1.0 / (counts_alk.sum(axis=1) + strength)
    return normal_crowd(np.einsum("alk,ak->lk", counts_alk, weight_ak), strength)


def normal_crowd(total_lk: Floats, strength: float) -> Floats:
    """That confusion from its sums over annotators."""
    raised_lk = total_lk + 1.0 / (len(total_lk) * (1.0 + strength))
    return np.asarray(raised_lk / raised_lk.sum(axis=0))
