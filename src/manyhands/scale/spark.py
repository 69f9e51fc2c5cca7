"""Labels in parts on a Spark cluster: a part is a row of arrays, and passes run where it lies.

Labels are divided by item once (the division of the engine stream). A part is then one row of a
cached table, so that an EM step moves a few large arrays to the compiled loops and no single rows.
A task takes several parts that follow each other: to start one costs as much as a step over
millions of labels.
"""

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from manyhands.aggregation.em import EMRun
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.parts import Parts, PartState, add, resolved
from manyhands.annotations import Annotations, Vocabulary
from manyhands.core.arrays import AnyArray, read_only
from manyhands.core.errors import SettingError
from manyhands.scale.part_file import PartAnnotations
from manyhands.scale.spill import Naming, RowCodes, divided, known_codes
from manyhands.scale.stream import states_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

S = TypeVar("S")
T = TypeVar("T")
_ARRAYS = ("annotator", "label", "offsets", "known")
_PLACES = ("task", "part")
_PART = "task int, part int, " + ", ".join(
    f"{name} binary" for name in (*_ARRAYS, "names", "state")
)
_SUMS = "task int, sums binary"
_FAN_IN = 16  # sums that are added by one task
_ROWS = 1 << 20  # rows that are divided at a time


def require_spark() -> None:
    """Raise a `SettingError` that says what to install, if Spark is not."""
    try:
        import pyspark  # noqa: F401
    except ModuleNotFoundError:
        raise SettingError(
            "Spark is not installed: pip install 'manyhands[spark]'; it needs Java 17 too"
        ) from None


class SparkParts(Parts):
    """The parts in a cached table of a Spark session; sums are added in the order of parts."""

    def __init__(
        self,
        table: "DataFrame",
        n_tasks: int,
        annotators: Vocabulary,
        classes: Vocabulary | None,
    ) -> None:
        self._table, self._n_tasks, self._session = table, n_tasks, table.sparkSession
        self._naming = self._session.sparkContext.broadcast((annotators, classes))
        self._states: dict[int, DataFrame] = {}
        self._number = 0

    def results(self, function: Callable[..., T], *arguments: Any) -> list[T]:
        """What a function gives for every part; small results only, as they come to the driver."""
        work = self._work(function, arguments)
        rows = self._with_state(arguments).mapInArrow(_results(work), _SUMS).collect()
        found = ((row.task, pickle.loads(row.sums)) for row in rows)
        return [each for _, results in sorted(found, key=_first) for each in results]

    def total(self, statistic: Callable[..., T], *arguments: Any) -> T:
        """The sum of a statistic over the parts: within tasks, by a tree of tasks, and here."""
        table = self._with_state(arguments).drop("names")  # they are large, and not needed
        work = self._work(statistic, arguments)
        sums = table.mapInArrow(_sums(work), _SUMS)
        left = self._n_tasks
        while left > _FAN_IN:
            left = -(-left // _FAN_IN)
            sums = _placed(sums.selectExpr(f"cast(floor(task / {_FAN_IN}) as int) task", "task at",
                                           "sums"), left).mapInArrow(_added, _SUMS)  # fmt: skip
        found: T = _summed((row.task, pickle.loads(row.sums)) for row in sums.collect())
        work.forget()
        return found

    def derive(self, function: Callable[..., tuple[AnyArray, float]], *arguments: Any) -> PartState:
        """Keep an array per part in a cached table beside its labels."""
        work = self._work(function, arguments)
        before = self._with_state(arguments)
        derived = before.mapInArrow(_derived(work), f"{_PART}, square double").persist()
        square = sum(
            row.square for row in derived.select("part", "square").orderBy("part").collect()
        )
        self._number += 1
        for number in [each for each in self._states if each < self._number - 1]:
            self._states.pop(number).unpersist()
        self._states[self._number] = derived.drop("square")
        return PartState(self._number, square)

    def continued(self, start: S) -> EMRun[S]:
        """An EM run that begins at its start: Spark recomputes what is lost by itself."""
        return EMRun(start, (), False)

    def keep(self, run: EMRun[Any]) -> None:
        """Nothing: parameters are in the driver."""

    def rows(self, function: Callable[..., dict[str, AnyArray]], arguments: tuple[Any, ...],
             schema: Any) -> "DataFrame":  # fmt: skip
        """A distributed table with the columns that a function gives for every part."""
        work = self._work(function, arguments)
        return self._with_state(arguments).mapInArrow(_rows(work), schema)

    def close(self) -> None:
        """Give the memory of the cluster back."""
        for table in (self._table, *self._states.values()):
            table.unpersist()

    def _with_state(self, arguments: tuple[Any, ...]) -> "DataFrame":
        """The table of the parts that has the arrays which the arguments name."""
        numbers = set(states_of(arguments))
        return self._states[numbers.pop()] if numbers else self._table

    def _work(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> "_Work":
        shared = self._session.sparkContext.broadcast((function, arguments))
        return _Work(shared, self._naming)


class _Work:
    """A function of a part and its arguments, which are broadcast to the executors once."""

    def __init__(self, shared: Any, naming: Any) -> None:
        self._shared, self._naming = shared, naming

    def forget(self) -> None:
        """Remove the arguments from the executors; they are sent again if they are needed."""
        self._shared.unpersist()

    def __call__(self, row: Mapping[str, Any]) -> Any:
        os.environ.setdefault("MANYHANDS_THREADS", "1")  # tasks use the other cores
        function, arguments = self._shared.value
        given = [resolved(each, lambda _: _array(row, "state", np.float64)) for each in arguments]
        return function(_evidence(row, *self._naming.value), *given)


def _evidence(
    row: Mapping[str, Any], annotators: Vocabulary, classes: Vocabulary | None
) -> Evidence:
    """The labels of a part from its row."""
    label_type = np.float64 if classes is None else np.int32
    offsets = _array(row, "offsets", np.int64)
    names: AnyArray = np.empty(len(offsets) - 1, dtype=np.int8)
    if "names" in row:
        names = _names(row["names"].as_buffer())
    item = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    annotations = PartAnnotations(
        read_only(item), _array(row, "annotator", np.int32),
        _array(row, "label", label_type), Vocabulary(names, "item"), annotators, classes,
        offsets=offsets,
    )  # fmt: skip
    return Evidence(annotations, _array(row, "known", label_type))


def _array(row: Mapping[str, Any], name: str, dtype: Any) -> AnyArray:
    buffer = row[name].as_buffer()
    return read_only(np.frombuffer(buffer, dtype=dtype) if buffer.size else np.empty(0, dtype))


def _names(buffer: pa.Buffer) -> AnyArray:
    column = pa.ipc.open_stream(buffer).read_all().column(0)
    names = column.to_numpy()
    return read_only(names.astype(object) if pa.types.is_string(column.type) else names)


def _each_row(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        for place in range(batch.num_rows):
            yield {name: batch.column(name)[place] for name in batch.schema.names}


def _pickled(task: int, result: Any) -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array([task], pa.int32()), pa.array([pickle.dumps(result)], pa.binary())],
        names=["task", "sums"],
    )


def _results(work: _Work) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The results of all parts of a task, in their order."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for task, rows in groupby(_each_row(batches), lambda row: row["task"].as_py()):
            found = sorted(((row["part"].as_py(), work(row)) for row in rows), key=_first)
            yield _pickled(task, [each for _, each in found])

    return run


def _sums(work: _Work) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The sums of a task; its parts come in their order, and one is in memory at a time."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for task, rows in groupby(_each_row(batches), lambda row: row["task"].as_py()):
            total: Any = None
            for row in rows:
                total = _added_to(total, work(row))
            yield _pickled(task, total)

    return run


def _added(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The sums of several tasks, under the number of the task that adds them."""
    found: dict[int, list[tuple[int, Any]]] = {}
    for row in _each_row(batches):
        each = (row["at"].as_py(), pickle.loads(row["sums"].as_py()))
        found.setdefault(row["task"].as_py(), []).append(each)
    for task, sums in sorted(found.items()):
        yield _pickled(task, _summed(sums))


def _summed(found: Iterable[tuple[int, Any]]) -> Any:
    """Statistics added in the order of tasks."""
    total: Any = None
    for _, sums in sorted(found, key=_first):
        total = _added_to(total, sums)
    return total


def _added_to(total: Any, more: Any) -> Any:
    return more if total is None else add(total, more)


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def _derived(work: _Work) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for row in _each_row(batches):
            state, square = work(row)
            columns = {name: pa.array([row[name]]) for name in (*_PLACES, *_ARRAYS, "names")}
            for name in _PLACES:
                columns[name] = columns[name].cast(pa.int32())
            columns["state"] = pa.array([np.ascontiguousarray(state).tobytes()], pa.binary())
            columns["square"] = pa.array([square])
            yield pa.record_batch(columns)

    return run


def _rows(work: _Work) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    from manyhands.io.tables import arrow_table

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for row in _each_row(batches):
            yield from arrow_table(work(row)).combine_chunks().to_batches(_ROWS)

    return run


def _placed(table: "DataFrame", n_tasks: int) -> "DataFrame":
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
) -> "DataFrame":
    """The cached table of parts of a table with columns item, annotator and label.

    Rows are coded and divided where they are read; only whole blocks of rows are shuffled.
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
            yield pa.record_batch(columns, names=[*_PLACES, "rows"])

    def join(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        naming, known = joining.value
        for part, rows in groupby(_each_row(batches), lambda row: row["part"].as_py()):
            pieces = [pa.ipc.open_stream(row["rows"].as_buffer()).read_all() for row in rows]
            joined = pa.concat_tables(pieces)
            columns = joined.column(1).to_numpy().copy(), joined.column(2).to_numpy().copy()
            found = naming.annotations(joined.column(0), *columns)
            yield _row_of(part * n_tasks // n_parts, part, found, dict(known))

    pieces = table.mapInArrow(divide, "task int, part int, rows binary")
    ordered = _placed(pieces, n_tasks).sortWithinPartitions("part")
    return ordered.mapInArrow(join, _PART).persist()


def _collected(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small batches as larger ones."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(each.num_rows for each in held) >= _ROWS:
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
    return pa.record_batch(columns, names=[*_PLACES, *_ARRAYS, "names", "state"])
