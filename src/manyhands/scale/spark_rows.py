"""Confusions of so many annotators that they are divided among the executors too.

Annotators are divided into blocks, a row of a table each. A block has the rows (annotator, label)
that occur, and knows which of them each part of the labels uses. In an EM step the blocks send
their rows to the parts, which run the compiled loops and send counts back. Only the class prior,
the crowd's confusion and sums come to the driver.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.confusion_pass import ConfusionStep, Expectation, normal_crowd
from manyhands.aggregation.kernels.part_passes import PartConfusionPass
from manyhands.aggregation.kernels.row_pass import UsedRows
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import SettingError
from manyhands.scale.spark_blocks import (
    DRIVER,
    Blocks,
    added,
    count_rows,
    counts_of_parts,
    crowd_of_blocks,
    diagonals,
    expect_rows,
    fitted,
    plans,
    received,
    rows_of_blocks,
    sent_rows,
    used_rows,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from manyhands.scale.spark import SparkParts

_PIECE = "block int, part int, cell binary"
_TABLE = "block int, plan binary, cell binary, sums binary"
_KEPT = 3  # tables of steps


@dataclass(frozen=True)
class ClusterRows:
    """Log-confusions in a table of blocks; `keep` puts the rows that parts use beside labels."""

    table: "DataFrame"
    keep: Callable[[], "RowsOfParts"]

    def on_host(self) -> "RowsOfParts":
        """What stands for them when the fit is over."""
        return self.keep()


@dataclass(frozen=True)
class ClusterExpectation:
    """The sums of an `Expectation`; counts are in a table of blocks."""

    mass_k: Floats
    log_likelihood: float
    table: "DataFrame"


class SparkRowPass(PartConfusionPass):
    """The E- and M-step of Dawid-Skene with confusions in blocks of a Spark table."""

    def __init__(self, evidence: Evidence, parts: "SparkParts", n_tasks: int) -> None:
        ann = evidence.annotations
        self.evidence, self._parts, self._n_tasks = evidence, parts, n_tasks
        self._ranges = Blocks.of(ann.n_annotators, ann.n_classes, n_tasks)
        pieces = parts.table.drop("names").mapInArrow(
            rows_of_blocks(parts.work(used_rows, ()), self._ranges), _PIECE
        )
        self._plans = self._by_block(pieces).mapInArrow(plans, _PIECE).persist()
        self._kept: list[DataFrame] = []

    def __call__(self, log_prior_k: Floats, log_confusion_alk: Any) -> Expectation:
        """Counts and log-likelihood under these parameters."""
        rows = self._sent(cast(ClusterRows, log_confusion_alk).table)
        return self._counted(rows, expect_rows, log_prior_k)

    def count(self, posterior_ik: Floats) -> Expectation:
        """The counts of a posterior, given as `Evidence.of_items` does."""
        return self._counted(self._parts.table, count_rows, posterior_ik)

    def fit_confusions(self, expected: Expectation, pseudo_alk: Floats) -> ConfusionStep:
        """The M-step; see `fit_confusions`. The log-confusions stay in blocks."""
        assert len(pseudo_alk) == 1, "pseudo-counts of annotators need a table of all"
        counts = cast(Any, expected).table
        table = self._keep(counts.mapInArrow(fitted(self._ranges, pseudo_alk[0]), _TABLE))
        keep = partial(self._beside_labels, table, counts, pseudo_alk[0])
        found = ClusterRows(table, keep)
        return ConfusionStep(cast(Floats, found), sum(_sums_of(table)))

    def crowd_confusion(self, expected: Expectation, strength: float) -> Floats:
        """The confusion of an average annotator, (l, k); see `crowd_confusion`."""
        table = cast(Any, expected).table.mapInArrow(
            crowd_of_blocks(self._ranges, strength), _TABLE
        )
        return normal_crowd(np.sum(_sums_of(table), axis=0), strength)

    def _beside_labels(
        self, table: "DataFrame", counts: "DataFrame", pseudo_lk: Floats
    ) -> "RowsOfParts":
        found = counts.mapInArrow(diagonals(self._ranges, pseudo_lk), _TABLE)
        right_ak = np.concatenate(_sums_of(found))
        return RowsOfParts(self._parts.keep_state(self._sent(table), received), right_ak)

    def _counted(
        self, table: "DataFrame", function: Callable[..., Any], *arguments: Any
    ) -> Expectation:
        work = self._parts.work(function, arguments)
        pieces = table.drop("names").mapInArrow(counts_of_parts(work, self._ranges), _PIECE)
        counted = self._by_block(self._plans.union(pieces))
        kept = self._keep(counted.mapInArrow(added(self._ranges.n_classes), _TABLE))
        mass_k, log_likelihood = _sums_of(kept.where(f"block = {DRIVER}"))[0]
        return cast(Expectation, ClusterExpectation(mass_k, log_likelihood, kept))

    def _by_block(self, pieces: "DataFrame") -> "DataFrame":
        placed = pieces.repartition(self._n_tasks, "block")
        return placed.sortWithinPartitions("block", "part")

    def _sent(self, table: "DataFrame") -> "DataFrame":
        """The table of parts with the rows of log-confusions that each of them uses.

        Parts stay where they are, as they are divided by their number; only rows are sent.
        """
        from pyspark.sql import functions as f

        pieces = table.mapInArrow(sent_rows, _PIECE).groupBy("part")
        sent = pieces.agg(f.array_sort(f.collect_list(f.struct("block", "cell"))).alias("sent"))
        return self._parts.table.join(sent.hint("shuffle_hash"), "part", "left")

    def _keep(self, table: "DataFrame") -> "DataFrame":
        kept = table.persist()
        self._kept.append(kept)
        while len(self._kept) > _KEPT:
            self._kept.pop(0).unpersist()
        return kept

    def close(self) -> None:
        """Give the memory of the cluster back."""
        for table in (self._plans, *self._kept):
            table.unpersist()


class RowsOfParts:
    """Stands for confusions that are beside the labels of parts, each with the rows it uses.

    Their diagonals are here.
    """

    def __init__(self, state: Any, right_ak: Floats) -> None:
        self._state, self.right_ak = state, right_ak

    def of_part(self, load: Callable[[Any], AnyArray]) -> UsedRows:
        """The rows that a part uses."""
        return UsedRows(self._state.of_part(load))

    @property
    def number(self) -> int:
        """Which array of the parts it is."""
        return int(self._state.number)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        raise SettingError(
            "the confusions of annotators are divided among the executors; set broadcast above "
            "their size in GiB to have them here"
        )


def _sums_of(table: "DataFrame") -> list[Any]:
    """The sums of all blocks, in their order."""
    found = table.select("block", "sums").orderBy("block").collect()
    return [pickle.loads(row.sums) for row in found]
