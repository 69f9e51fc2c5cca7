"""What runs on executors when annotators are in blocks: see `spark_rows`."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

import numpy as np
import pyarrow as pa

from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.row_pass import (
    LabelRows,
    RowExpectation,
    RowPass,
    UsedRows,
    crowd_sums,
    fit_rows,
)
from manyhands.core.arrays import AnyArray, Floats
from manyhands.scale.spark_parts import each_row

Batches = Iterable[pa.RecordBatch]
DRIVER = -1  # the block of sums that the driver asks for
_BLOCK_BYTES = 1 << 26  # of the confusions of a block
_PLAN = -2  # the part of the row that says which rows a block has


@dataclass(frozen=True)
class Blocks:
    """Annotator a is in block b if edge[b] <= a < edge[b + 1]."""

    edge: AnyArray
    n_classes: int

    @classmethod
    def of(cls, n_annotators: int, n_classes: int, at_least: int) -> "Blocks":
        """Blocks of about the same number of annotators, small enough for one task."""
        n_blocks = max(at_least, -(-8 * n_annotators * n_classes**2 // _BLOCK_BYTES))
        n_blocks = min(n_blocks, n_annotators)
        return cls(np.arange(n_blocks + 1) * n_annotators // n_blocks, n_classes)

    def divided(self, row_r: AnyArray, values_r: AnyArray) -> Iterator[tuple[int, AnyArray]]:
        """The values of the rows of each block."""
        ends = np.searchsorted(row_r, self.edge * self.n_classes)
        for block in range(len(self.edge) - 1):
            yield block, values_r[ends[block] : ends[block + 1]]

    def rows(self, block: int, row_r: AnyArray) -> LabelRows:
        """The rows of a block as those of its annotators."""
        first, last = self.edge[block : block + 2]
        none = np.zeros(0, dtype=np.int32)
        return LabelRows(int(last - first), self.n_classes, row_r - first * self.n_classes, none)


def used_rows(evidence: Evidence) -> AnyArray:
    """The rows that the labels of a part use."""
    return LabelRows.of(evidence.annotations).row_r


def expect_rows(
    evidence: Evidence, log_prior_k: Floats, log_rows: Floats
) -> tuple[AnyArray, RowExpectation]:
    """These rows, and their expectation in a part that has received their log-confusions."""
    rows = LabelRows.of(evidence.annotations)
    return rows.row_r, cast(
        RowExpectation, RowPass(evidence, rows)(log_prior_k, UsedRows(log_rows))
    )


def count_rows(
    evidence: Evidence, posterior: Callable[[Evidence], Floats], _: Floats
) -> tuple[AnyArray, RowExpectation]:
    """These rows, and their counts under a posterior."""
    rows = LabelRows.of(evidence.annotations)
    return rows.row_r, cast(RowExpectation, RowPass(evidence, rows).count(posterior(evidence)))


def _piece(block: int, part: int, cell: bytes) -> pa.RecordBatch:
    places = [pa.array([each], pa.int32()) for each in (block, part)]
    return pa.record_batch(
        [*places, pa.array([cell], pa.binary())], names=["block", "part", "cell"]
    )


def _row(block: int, plan: bytes, cell: bytes, sums: Any) -> pa.RecordBatch:
    cells = [pa.array([each], pa.binary()) for each in (plan, cell, pickle.dumps(sums))]
    return pa.record_batch(
        [pa.array([block], pa.int32()), *cells], names=["block", "plan", "cell", "sums"]
    )


def _bytes(array: AnyArray) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def rows_of_blocks(work: Any, blocks: Blocks) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Which rows of every block each part uses; a block without any is told too."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for row in each_row(batches):
            row_r = work(row)
            for block, own_r in blocks.divided(row_r, row_r):
                yield _piece(block, row["part"].as_py(), _bytes(own_r))

    return run


def plans(batches: Batches) -> Iterator[pa.RecordBatch]:
    """The rows of every block, and the places of those that each part uses."""
    for block, pieces in groupby(each_row(batches), lambda row: row["block"].as_py()):
        used = {row["part"].as_py(): np.frombuffer(row["cell"].as_buffer(), np.int64)
                for row in pieces}  # fmt: skip
        row_r = np.unique(np.concatenate(list(used.values())))
        places = {part: np.searchsorted(row_r, own_r).astype(np.int32)
                  for part, own_r in used.items() if len(own_r)}  # fmt: skip
        yield _piece(block, _PLAN, pickle.dumps((row_r, places)))


def counts_of_parts(work: Any, blocks: Blocks) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """The counts of every part, divided by blocks, and its sums for the driver."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for row in each_row(batches):
            part = row["part"].as_py()
            row_r, found = work(row, received(row))
            for block, counts in blocks.divided(row_r, found.counts_rk):
                if len(counts):
                    yield _piece(block, part, _bytes(counts))
            yield _piece(DRIVER, part, pickle.dumps((found.mass_k, found.log_likelihood)))

    return run


def received(row: dict[str, Any]) -> Floats:
    """The log-confusions that blocks sent to a part, in the order of its rows."""
    sent = row.get("sent")
    if sent is None or not sent.is_valid:
        return np.zeros(0)
    cells = sent.values.field("cell")
    return np.concatenate([np.frombuffer(each.as_buffer()) for each in cells])


def added(n_classes: int) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """The counts of every block, added in the order of parts."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for block, rows in groupby(each_row(batches), lambda row: row["block"].as_py()):
            if block == DRIVER:
                parts = [pickle.loads(row["cell"].as_py()) for row in rows]
                sums = sum(mass_k for mass_k, _ in parts), sum(each for _, each in parts)
                yield _row(block, b"", b"", sums)
                continue
            plan, places, counts_rk = b"", {}, np.zeros((0, n_classes))
            for row in rows:
                part = row["part"].as_py()
                if part == _PLAN:
                    plan = row["cell"].as_py()
                    row_r, places = pickle.loads(plan)
                    counts_rk = np.zeros((len(row_r), n_classes))
                else:
                    piece = np.frombuffer(row["cell"].as_buffer())
                    counts_rk[places[part]] += piece.reshape(-1, n_classes)
            yield _row(block, plan, _bytes(counts_rk), None)

    return run


def _of_blocks(batches: Batches, blocks: Blocks) -> Iterator[tuple[int, bytes, LabelRows, Floats]]:
    for row in each_row(batches):
        block, plan = row["block"].as_py(), row["plan"].as_py()
        if block != DRIVER:
            rows = blocks.rows(block, pickle.loads(plan)[0])
            table = np.frombuffer(row["cell"].as_buffer()).reshape(-1, blocks.n_classes)
            yield block, plan, rows, table


def fitted(blocks: Blocks, pseudo_lk: Floats) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Log-confusions from counts; their log-prior is for the driver."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for block, plan, rows, counts_rk in _of_blocks(batches, blocks):
            step = fit_rows(rows, counts_rk, pseudo_lk, rows.tables(blocks.n_classes))
            yield _row(
                block, plan, _bytes(cast(Any, step.log_confusion_alk).log_rk), step.log_prior
            )

    return run


def diagonals(blocks: Blocks, pseudo_lk: Floats) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """How often annotators are right about each class."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for block, _, rows, counts_rk in _of_blocks(batches, blocks):
            step = fit_rows(rows, counts_rk, pseudo_lk, rows.tables(blocks.n_classes))
            log_right_ak = np.einsum("akk->ak", np.asarray(step.log_confusion_alk))
            yield _row(block, b"", b"", np.exp(log_right_ak))

    return run


def crowd_of_blocks(
    blocks: Blocks, strength: float
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """The sums over annotators that the crowd's confusion is made of."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for block, _, rows, counts_rk in _of_blocks(batches, blocks):
            yield _row(block, b"", b"", crowd_sums(rows, counts_rk, strength))

    return run


def sent_rows(batches: Batches) -> Iterator[pa.RecordBatch]:
    """The rows of a table of blocks that each part uses."""
    for row in each_row(batches):
        row_r, places = pickle.loads(row["plan"].as_py())
        table = np.frombuffer(row["cell"].as_buffer()).reshape(max(len(row_r), 1), -1)
        for part, place in places.items():
            yield _piece(row["block"].as_py(), part, _bytes(table[place]))
