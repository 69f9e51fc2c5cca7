"""E- and M-step of Dawid-Skene for large crowds: tables have only rows that labels use.

Most annotators of a large crowd gave few labels, so that most rows (annotator, label) of a table of
confusions are the prior alone. Here tables hold the rows that occur, and a step takes as long as
the labels, however many classes there are. The others follow from the prior and the row sums.

Tables hold probabilities. The E-step multiplies them, unless an item has so many labels that a
product might be no normal float: then it adds their logarithms.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.confusion_loops import rows_of_labels
from manyhands.aggregation.kernels.confusion_pass import (
    FEW_ANNOTATORS,
    ConfusionPass,
    ConfusionStep,
    Expectation,
    columns_of,
    normal_crowd,
)
from manyhands.aggregation.kernels.row_loops import share_rows
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.kernels import even_ranges, run_blocks

_SMALLER = 2  # tables of rows are worth their while if they are smaller by this factor
_ROWS_PER_BLOCK = 1 << 13  # threads cost more than they save on fewer
_MAX_BLOCKS = 16
_LOG_RANGE = 650.0  # products of numbers above 0 are normal floats if their logs stay within
_MAX_TOGETHER = 128  # annotators


@dataclass(frozen=True)
class LabelRows:
    """The rows (annotator, label) that occur among labels.

    `row_r` numbers them in the table of all rows, in ascending order. `place_n` has the place of
    the row of every label, and annotator `a` has the rows from `starts_a[a]` to `starts_a[a + 1]`.
    """

    n_annotators: int
    n_labels: int
    row_r: AnyArray
    place_n: AnyArray

    @classmethod
    def of(cls, annotations: Annotations) -> "LabelRows":
        """Those of some labels."""
        ann = annotations
        row_n = rows_of_labels(ann.annotator, ann.label, ann.n_annotators, ann.n_classes)
        if ann.n_annotators * ann.n_classes > 4 * len(row_n):
            row_r, place_n = np.unique(row_n, return_inverse=True)
        else:
            used = np.zeros(ann.n_annotators * ann.n_classes, dtype=bool)
            used[row_n] = True
            row_r = np.flatnonzero(used)
            place_n = (np.cumsum(used) - 1)[row_n]
        places = place_n.reshape(-1).astype(np.int32)
        return cls(ann.n_annotators, ann.n_classes, row_r.astype(np.int64), places)

    @cached_property
    def starts_a(self) -> AnyArray:
        """Where the rows of annotators begin."""
        edges = np.arange(self.n_annotators + 1) * self.n_labels
        return np.searchsorted(self.row_r, edges).astype(np.int64)

    @cached_property
    def number_r(self) -> AnyArray:
        """Numbers from 0, as many as there are rows and annotators."""
        return np.arange(max(len(self.row_r), self.n_annotators), dtype=np.int32)

    @cached_property
    def label_r(self) -> AnyArray:
        """The labels of the rows."""
        return (self.row_r % self.n_labels).astype(np.int32)

    def tables(self, n_classes: int) -> tuple[Floats, Floats]:
        """Memory for confusions (r, k) and the sums that they are divided by (a, k)."""
        return np.empty((len(self.row_r), n_classes)), np.empty((self.n_annotators, n_classes))

    def scattered(self, values_rk: Floats) -> Floats:
        """Rows in a table (a, l, k) of all annotators, where the others are 0."""
        table = np.zeros((self.n_annotators * self.n_labels, values_rk.shape[1]))
        table[self.row_r] = values_rk
        return table.reshape(self.n_annotators, self.n_labels, -1)


@dataclass(frozen=True)
class RowConfusions:
    """Confusions of rows that occur; an array of numpy made of it has the logs of all rows.

    No logarithm of a confusion is below `least`.
    """

    rows: LabelRows
    share_rk: Floats
    total_ak: Floats
    pseudo_lk: Floats
    least: float

    @property
    def log_rk(self) -> Floats:
        """The log-confusions of the rows that occur."""
        return np.log(self.share_rk)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        log_alk = np.log(self.pseudo_lk) - np.log(self.total_ak)[:, None]
        n_classes = log_alk.shape[2]
        log_alk.reshape(-1, n_classes)[self.rows.row_r] = self.log_rk
        return np.asarray(log_alk, dtype=dtype)


@dataclass(frozen=True)
class UsedRows:
    """Log-confusions of the rows that the labels of one part use, in their order."""

    log_rk: Floats

    @staticmethod
    def own_pass(evidence: Evidence) -> "RowPass":
        """The pass over the labels of this part."""
        return RowPass(evidence, LabelRows.of(evidence.annotations))


@dataclass(frozen=True)
class RowExpectation:
    """An `Expectation` whose counts are those of the rows that occur."""

    compute_posterior: Callable[[], Floats]
    mass_k: Floats
    counts_rk: Floats
    log_likelihood: float
    rows: LabelRows

    @cached_property
    def posterior_ik(self) -> Floats:
        """The posterior of items."""
        return self.compute_posterior()

    @property
    def counts_alk(self) -> Floats:
        """The soft counts of annotators."""
        return self.rows.scattered(self.counts_rk)


class RowPass(ConfusionPass):
    """The E-step of confusion models, with tables of the rows that occur."""

    def __init__(self, evidence: Evidence, rows: LabelRows) -> None:
        self._n_classes = evidence.annotations.n_classes
        shape = (len(rows.row_r), 1, self._n_classes)
        self._prepare(evidence, rows.place_n, shape, posterior=False, counts=True)
        self._rows = rows
        self._tables: list[tuple[Floats, Floats]] = []
        ann = evidence.annotations
        self._most_labels = int(np.diff(ann.item_offsets).max(initial=0))
        self._busiest = int(np.bincount(ann.annotator).max(initial=0))

    def _as_rows(self, log_prior_ik: Floats, log_confusion_alk: Any) -> tuple[Floats, Floats, bool]:
        table = log_confusion_alk
        least = getattr(table, "least", None)  # of `RowConfusions`
        if least is not None and -least * self._most_labels < _LOG_RANGE:
            return np.exp(log_prior_ik), table.share_rk, True
        log_rk = getattr(table, "log_rk", None)  # of `RowConfusions`, `UsedRows`
        if log_rk is None:
            log_alk = np.asarray(table)
            log_rk = log_alk.reshape(-1, log_alk.shape[2])[self._rows.row_r]
        return log_prior_ik, log_rk, False

    def fit_confusions(self, expected: Expectation, pseudo_alk: Floats) -> ConfusionStep:
        """The M-step; see `fit_confusions`. It writes the tables of the step before the last one.

        To get new memory of the system takes longer than the step.
        """
        if len(pseudo_alk) > 1 or (pseudo_alk <= 0.0).any():
            return super().fit_confusions(expected, pseudo_alk)
        counts_rk = cast(RowExpectation, expected).counts_rk
        into = self._tables.pop(0) if len(self._tables) > 1 else self._rows.tables(self._n_classes)
        self._tables.append(into)
        return fit_rows(self._rows, counts_rk, pseudo_alk[0], into, self._busiest)

    def crowd_confusion(self, expected: Expectation, strength: float) -> Floats:
        """The confusion of an average annotator, (l, k); see `crowd_confusion`."""
        return normal_crowd(
            crowd_sums(self._rows, cast(RowExpectation, expected).counts_rk, strength), strength
        )

    def _expectation(
        self, posterior: Callable[[], Floats], mass_k: Floats, counts: Floats, total: float
    ) -> Expectation:
        n_classes = len(mass_k)
        return RowExpectation(posterior, mass_k, counts.reshape(-1, n_classes), total, self._rows)


def rows_worth_it(annotations: Annotations) -> LabelRows | None:
    """The rows that occur among labels, if tables of them are much smaller than those of all."""
    cells = annotations.n_annotators * annotations.n_classes
    if annotations.n_annotations >= _SMALLER * cells:
        return None
    rows = LabelRows.of(annotations)
    return rows if _SMALLER * (len(rows.row_r) + rows.n_annotators) <= cells else None


def fit_rows(
    rows: LabelRows,
    counts_rk: Floats,
    pseudo_lk: Floats,
    into: tuple[Floats, Floats],
    busiest: float | None = None,
) -> ConfusionStep:
    """C[a,k,l] ~ counts + pseudo of the rows that occur, and the log-prior of all.

    No annotator has more labels than `busiest`, if it is known.
    """
    counts, pseudo_lk = np.ascontiguousarray(counts_rk), np.ascontiguousarray(pseudo_lk)
    (share_rk, total_ak), n_classes = into, counts.shape[1]
    columns = columns_of(n_classes, few=rows.n_annotators < FEW_ANNOTATORS)
    at_least = max(1, rows.n_annotators * _ROWS_PER_BLOCK // max(len(counts), 1))
    chunks = even_ranges(rows.n_annotators, _MAX_BLOCKS, at_least=at_least)
    most = float(counts.sum()) if busiest is None else busiest
    low, high = np.log(pseudo_lk.min()), np.log(most + pseudo_lk.sum())
    together = int(np.clip(_LOG_RANGE / max(-low, high, 1.0), 1, _MAX_TOGETHER))

    def work(chunk: tuple[int, int]) -> float:
        return share_rows(
            *chunk, together, rows.starts_a, rows.number_r, rows.label_r, counts.reshape(-1),
            pseudo_lk.reshape(-1), share_rk.reshape(-1), total_ak.reshape(-1), columns,
        )  # fmt: skip

    log_prior = sum(run_blocks(work, chunks))
    table = RowConfusions(rows, share_rk, total_ak, pseudo_lk, float(low - high))
    return ConfusionStep(cast(Floats, table), log_prior)


def crowd_sums(rows: LabelRows, counts_rk: Floats, strength: float) -> Floats:
    """The sums (l, k) over annotators that the crowd's confusion is made of."""
    n_classes, of_r = counts_rk.shape[1], rows.row_r // rows.n_labels
    found = np.empty((rows.n_labels, n_classes))
    for k in range(n_classes):
        n_a = np.bincount(of_r, counts_rk[:, k], minlength=rows.n_annotators)
        share_r = counts_rk[:, k] / (n_a + strength)[of_r]
        found[:, k] = np.bincount(rows.label_r, share_r, minlength=rows.n_labels)
    return found
