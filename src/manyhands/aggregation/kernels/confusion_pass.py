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
from typing import Protocol

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
from manyhands.core.arrays import Floats
from manyhands.core.kernels import LABELS_PER_BLOCK, even_blocks, even_ranges, run_blocks
from manyhands.core.row_vectors import Columns

_FEW_COLUMNS = 16  # a loop is compiled for each number of columns up to this one
_FEW_LABELS = 5_000  # for which no loop is compiled
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
        self.evidence = evidence
        n_columns = ann.n_classes * n_subtypes
        shape_alk = (ann.n_annotators, ann.n_classes, n_columns)
        require_confusions(ann, copies=2 * n_subtypes)
        self._row_n = rows_of_labels(ann.annotator, ann.label, ann.n_annotators, ann.n_classes)
        self._blocks = even_blocks(ann.item_offsets, _n_blocks(ann.n_annotations, shape_alk))
        few = n_columns <= _FEW_COLUMNS and ann.n_annotations >= _FEW_LABELS
        self._columns: Columns = (0,) * n_columns if few else np.zeros(n_columns)
        self._none_ik = np.empty((0, n_columns))
        self._posterior_ik = np.empty((ann.n_items if posterior else 0, n_columns))
        self._mass_bk = np.empty((len(self._blocks), n_columns))
        self._counts_balk = np.empty((len(self._blocks), *(shape_alk if counts else (0, 0, 0))))

    def __call__(self, log_prior_k: Floats, log_confusion_alk: Floats) -> Expectation:
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

    def _expect(
        self,
        log_prior_ik: Floats,
        log_confusion_alk: Floats,
        posterior_ik: Floats,
        counts_balk: Floats,
    ) -> list[float]:
        ann, known = self.evidence.annotations, self.evidence.known
        n_subtypes = log_prior_ik.shape[1] // ann.n_classes
        log_rows = np.ascontiguousarray(log_confusion_alk, dtype=np.float64).reshape(-1)
        log_prior = np.ascontiguousarray(log_prior_ik, dtype=np.float64).reshape(-1)

        def work(block: int) -> float:
            return expect_items(
                *self._blocks[block],
                ann.item_offsets,
                self._row_n,
                known,
                n_subtypes,
                log_prior,
                log_rows,
                posterior_ik.reshape(-1),
                counts_balk[block].reshape(-1),
                self._mass_bk[block],
                self._columns,
            )

        return run_blocks(work, range(len(self._blocks)))

    def _total(self, parts: list[float], posterior: Callable[[], Floats]) -> Expectation:
        total_alk = self._counts_balk[0]
        if len(self._blocks) > 1:
            flat_bc = self._counts_balk.reshape(len(self._blocks), -1)
            pieces = even_ranges(total_alk.size, _MAX_BLOCKS, at_least=_CELLS_PER_BLOCK)
            run_blocks(lambda piece: add_blocks(*piece, flat_bc), pieces)
        return HostExpectation(posterior, self._mass_bk.sum(axis=0), total_alk, sum(parts))


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
    log_confusion_alk = np.empty_like(counts_alk)
    cells = max(math.prod(counts_alk.shape[1:]), 1)
    at_least = max(8, _CELLS_PER_BLOCK // cells)  # a chunk has a table of its own
    chunks = even_ranges(len(counts_alk), _MAX_BLOCKS, at_least=at_least)

    def work(chunk: tuple[int, int]) -> float:
        return normalise_counts(*chunk, counts_alk, pseudo_alk, log_confusion_alk)

    return ConfusionStep(log_confusion_alk, sum(run_blocks(work, chunks)))
