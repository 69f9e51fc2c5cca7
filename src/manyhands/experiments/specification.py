"""A paper's table as runs: which cell needs which runs, and why some cells stay empty."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from manyhands.experiments.published import Column, PublishedTable, Row
from manyhands.experiments.sources import Source
from manyhands.experiments.tasks import Task
from manyhands.training import METHODS

SCORES = {
    "accuracy": "accuracy",
    "f1": "f1",
    "train-accuracy": "train-accuracy",
    "i-js": "i-js",
    "g-js": "g-js",
}  # metric of a table -> score of a record
PER_RUN = {"labelme": 4.0, "music": 7.0, "sentiment": 15.0}  # seconds, roughly, on one core


@dataclass(frozen=True)
class Cell:
    """A row and a column of a table: the runs it is the mean of, or why there are none."""

    row: Row
    column: Column
    score: str = ""
    tasks: tuple[Task, ...] = ()
    missing: str = ""


@dataclass(frozen=True)
class TableExperiment:
    """A published table beside our own runs of it."""

    table: PublishedTable

    @property
    def name(self) -> str:
        """The name it is asked for by, such as p0/table-1."""
        return self.table.name

    @property
    def needs(self) -> list[str]:
        """The data it would use."""
        return list(dict.fromkeys(column.dataset for column in self.table.columns))

    def cells(self, data: str | None, runs: int, seed: int = 0) -> list[Cell]:
        """Every cell of the table, row by row."""
        return [
            self._cell(row, column, data, runs, seed)
            for row in self.table.rows
            for column in self.table.columns
        ]

    def seconds(self, data: str | None, runs: int) -> float:
        """About how long its runs take on one core."""
        tasks = {task.key: task for cell in self.cells(data, runs) for task in cell.tasks}
        return sum(PER_RUN.get(task.source.dataset, 10.0) for task in tasks.values())

    def _cell(self, row: Row, column: Column, data: str | None, runs: int, seed: int) -> Cell:
        source = Source(column.dataset)
        reason = _why_not(row, column) or source.missing(data)
        if reason:
            return Cell(row, column, missing=reason)
        settings = _settings(row.options)
        tasks = tuple(Task(source, str(row.method), seed + run, settings) for run in range(runs))
        return Cell(row, column, SCORES[column.metric], tasks)


def _why_not(row: Row, column: Column) -> str:
    if row.method is None:
        return "it is no method of ours"
    if row.method not in METHODS:
        return f"the method {row.method} is not there yet"
    if column.metric not in SCORES:
        return f"{column.metric} is not measured yet"
    if any(name not in _OPTIONS for name in row.options):
        return "its options are not there yet"
    return ""


_OPTIONS = {"strength"}


def _settings(options: Mapping[str, Any]) -> dict[str, Any]:
    return {"noise": dict(options)} if options else {}
