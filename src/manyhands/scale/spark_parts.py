"""The division of a Spark table of labels into parts: a part becomes one row of arrays."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray
from manyhands.scale.spill import Naming, RowCodes, divided, known_codes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ARRAYS = ("annotator", "label", "offsets", "known")
PLACES = ("task", "part")
PART = "task int, part int, " + ", ".join(f"{name} binary" for name in (*ARRAYS, "names", "state"))
ROWS = 1 << 20  # rows that are worked on at a time


def each_row(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """The rows of some batches, one after the other."""
    for batch in batches:
        for place in range(batch.num_rows):
            yield {name: batch.column(name)[place] for name in batch.schema.names}


def placed(table: "DataFrame", n_tasks: int) -> "DataFrame":
    """The rows in `n_tasks` partitions by their task."""
    if hasattr(table, "repartitionById"):  # since Spark 4.1
        from pyspark.sql.functions import col

        return table.repartitionById(n_tasks, col("task"))
    return table.repartition(n_tasks, "task")


def divide_table(
    table: "DataFrame",
    code: RowCodes,
    splits: AnyArray,
    n_tasks: int,
    naming: Naming,
    known: Mapping[str, Any],
    *,
    alone: bool = False,
) -> "DataFrame":
    """The cached table of parts of a table with columns item, annotator and label.

    Rows are coded and divided where they are read; only whole blocks of rows are shuffled. A part
    that is `alone` is a task of its own, and has its place by its number: then rows that belong to
    it can be joined, and it stays where it is.
    """
    spark, n_parts = table.sparkSession.sparkContext, len(splits) + 1
    coding, joining = spark.broadcast((code, splits)), spark.broadcast((naming, dict(known)))

    def divide(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        code, splits = coding.value
        for rows in _collected(batches):
            places, pieces = [], []
            for part, inside in divided(code(*rows.columns), splits):
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, inside.schema) as writer:
                    writer.write_batch(inside)
                places.append(part)
                pieces.append(sink.getvalue().to_pybytes())
            tasks = pa.array([part * n_tasks // n_parts for part in places], pa.int32())
            columns = [tasks, pa.array(places, pa.int32()), pa.array(pieces, pa.binary())]
            yield pa.record_batch(columns, names=[*PLACES, "rows"])

    def join(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        naming, known = joining.value
        for part, rows in groupby(each_row(batches), lambda row: row["part"].as_py()):
            pieces = [pa.ipc.open_stream(row["rows"].as_buffer()).read_all() for row in rows]
            joined = pa.concat_tables(pieces)
            columns = joined.column(1).to_numpy().copy(), joined.column(2).to_numpy().copy()
            found = naming.annotations(joined.column(0), *columns)
            task = part if alone else part * n_tasks // n_parts
            yield _row_of(task, part, found, dict(known))

    pieces = table.mapInArrow(divide, "task int, part int, rows binary")
    ordered = placed(pieces, n_tasks).sortWithinPartitions("part")
    parts = ordered.mapInArrow(join, PART)
    return (parts.repartition(n_tasks, "part") if alone else parts).persist()


def _collected(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small batches as larger ones."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(each.num_rows for each in held) >= ROWS:
            yield pa.Table.from_batches(held).combine_chunks().to_batches()[0]
            held = []
    if sum(each.num_rows for each in held):
        yield pa.Table.from_batches(held).combine_chunks().to_batches()[0]


def _row_of(task: int, part: int, annotations: Annotations, left: dict[str, Any]) -> pa.RecordBatch:
    ann, sink = annotations, pa.BufferOutputStream()
    whole = ann.items.dtype != object
    names = pa.array(ann.items if whole else ann.items.tolist(), None if whole else pa.string())
    with pa.ipc.new_stream(sink, pa.schema([("item", names.type)])) as writer:
        writer.write_batch(pa.record_batch([names], names=["item"]))
    known = known_codes(ann, left).astype(ann.label.dtype)
    arrays = (ann.annotator, ann.label, ann.item_offsets, known)
    cells = [np.ascontiguousarray(each).tobytes() for each in arrays]
    columns = [pa.array([place], pa.int32()) for place in (task, part)]
    columns += [
        pa.array([each], pa.binary()) for each in (*cells, sink.getvalue().to_pybytes(), b"")
    ]
    return pa.record_batch(columns, names=[*PLACES, *ARRAYS, "names", "state"])
