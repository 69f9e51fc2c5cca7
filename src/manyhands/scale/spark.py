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
from manyhands.annotations import Vocabulary
from manyhands.core.arrays import AnyArray, read_only
from manyhands.core.errors import SettingError
from manyhands.scale.part_file import PartAnnotations
from manyhands.scale.spark_parts import ARRAYS, PART, PLACES, ROWS, each_row, placed
from manyhands.scale.spark_rows import SparkRowPass
from manyhands.scale.stream import states_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

S = TypeVar("S")
T = TypeVar("T")
_SUMS = "task int, sums binary"
_FAN_IN = 16  # sums that are added by one task


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
        *,
        divide_annotators: bool = False,
    ) -> None:
        self.table, self._n_tasks, self._session = table, n_tasks, table.sparkSession
        self._divide_annotators = divide_annotators
        self._row_passes: list[SparkRowPass] = []
        self._naming = self._session.sparkContext.broadcast((annotators, classes))
        self._states: dict[int, DataFrame] = {}
        self._number = 0

    def results(self, function: Callable[..., T], *arguments: Any) -> list[T]:
        """What a function gives for every part; small results only, as they come to the driver."""
        work = self.work(function, arguments)
        rows = self._with_state(arguments).mapInArrow(_results(work), _SUMS).collect()
        found = ((row.task, pickle.loads(row.sums)) for row in rows)
        return [each for _, results in sorted(found, key=_first) for each in results]

    def total(self, statistic: Callable[..., T], *arguments: Any) -> T:
        """The sum of a statistic over the parts: within tasks, by a tree of tasks, and here."""
        table = self._with_state(arguments).drop("names")  # they are large, and not needed
        work = self.work(statistic, arguments)
        sums = table.mapInArrow(_sums(work), _SUMS)
        left = self._n_tasks
        while left > _FAN_IN:
            left = -(-left // _FAN_IN)
            sums = placed(sums.selectExpr(f"cast(floor(task / {_FAN_IN}) as int) task", "task at",
                                           "sums"), left).mapInArrow(_added, _SUMS)  # fmt: skip
        found: T = _summed((row.task, pickle.loads(row.sums)) for row in sums.collect())
        work.forget()
        return found

    def derive(self, function: Callable[..., tuple[AnyArray, float]], *arguments: Any) -> PartState:
        """Keep an array per part in a cached table beside its labels."""
        work = self.work(function, arguments)
        before = self._with_state(arguments)
        derived = before.mapInArrow(_derived(work), f"{PART}, square double").persist()
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
        work = self.work(function, arguments)
        return self._with_state(arguments).mapInArrow(_rows(work), schema)

    def close(self) -> None:
        """Give the memory of the cluster back."""
        for table in (self.table, *self._states.values()):
            table.unpersist()
        for each in self._row_passes:
            each.close()

    def _with_state(self, arguments: tuple[Any, ...]) -> "DataFrame":
        """The table of the parts that has the arrays which the arguments name."""
        numbers = set(states_of(arguments))
        return self._states[numbers.pop()] if numbers else self.table

    def row_pass(self, evidence: Evidence) -> SparkRowPass | None:
        """A pass with annotators in blocks; None if their confusions are broadcast."""
        if not self._divide_annotators:
            return None
        self._row_passes.append(SparkRowPass(evidence, self, self._n_tasks))
        return self._row_passes[-1]

    def keep_state(self, table: "DataFrame", function: Callable[..., AnyArray]) -> PartState:
        """Keep what a function of the rows of a table gives beside the labels of the parts."""
        self._number += 1
        work = _Kept(function)
        self._states[self._number] = table.mapInArrow(_derived(work), f"{PART}, square double")
        self._states[self._number] = self._states[self._number].drop("square").persist()
        return PartState(self._number)

    def work(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> "_Work":
        """A function of a part and its arguments, to be called where the part lies."""
        shared = self._session.sparkContext.broadcast((function, arguments))
        return _Work(shared, self._naming)


class _Work:
    """A function of a part and its arguments, which are broadcast to the executors once."""

    def __init__(self, shared: Any, naming: Any) -> None:
        self._shared, self._naming = shared, naming

    def forget(self) -> None:
        """Remove the arguments from the executors; they are sent again if they are needed."""
        self._shared.unpersist()

    def __call__(self, row: Mapping[str, Any], *more: Any) -> Any:
        os.environ.setdefault("MANYHANDS_THREADS", "1")  # tasks use the other cores
        function, arguments = self._shared.value
        given = [resolved(each, lambda _: _array(row, "state", np.float64)) for each in arguments]
        return function(_evidence(row, *self._naming.value), *given, *more)


class _Kept:
    """A function of a row, as a function of a part whose second value is not used."""

    def __init__(self, function: Callable[..., AnyArray]) -> None:
        self._function = function

    def __call__(self, row: Mapping[str, Any]) -> tuple[AnyArray, float]:
        return self._function(row), 0.0


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


def _pickled(task: int, result: Any) -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array([task], pa.int32()), pa.array([pickle.dumps(result)], pa.binary())],
        names=["task", "sums"],
    )


def _results(work: _Work) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The results of all parts of a task, in their order."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for task, rows in groupby(each_row(batches), lambda row: row["task"].as_py()):
            found = sorted(((row["part"].as_py(), work(row)) for row in rows), key=_first)
            yield _pickled(task, [each for _, each in found])

    return run


def _sums(work: _Work) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The sums of a task; its parts come in their order, and one is in memory at a time."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for task, rows in groupby(each_row(batches), lambda row: row["task"].as_py()):
            total: Any = None
            for row in rows:
                total = _added_to(total, work(row))
            yield _pickled(task, total)

    return run


def _added(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The sums of several tasks, under the number of the task that adds them."""
    found: dict[int, list[tuple[int, Any]]] = {}
    for row in each_row(batches):
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


def _derived(
    work: Callable[..., Any],
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for row in each_row(batches):
            state, square = work(row)
            columns = {name: pa.array([row[name]]) for name in (*PLACES, *ARRAYS, "names")}
            for name in PLACES:
                columns[name] = columns[name].cast(pa.int32())
            columns["state"] = pa.array([np.ascontiguousarray(state).tobytes()], pa.binary())
            columns["square"] = pa.array([square])
            yield pa.record_batch(columns)

    return run


def _rows(work: _Work) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    from manyhands.io.tables import arrow_table

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for row in each_row(batches):
            yield from arrow_table(work(row)).combine_chunks().to_batches(ROWS)

    return run
