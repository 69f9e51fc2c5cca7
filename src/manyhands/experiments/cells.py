"""The cells of a table: which runs each is the mean of, or why there are none."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from manyhands.experiments.experiment import Request
from manyhands.experiments.methods import KINDS
from manyhands.experiments.places import source_of, why_not_here
from manyhands.experiments.published import Column, PublishedTable, Row
from manyhands.experiments.tasks import MethodTask
from manyhands.experiments.text_tasks import TASKS
from manyhands.methods import METHODS

SCORES = {
    "accuracy": "accuracy",
    "f1": "f1",
    "cross-entropy": "cross-entropy",
    "train-accuracy": "train-accuracy",
    "i-js": "i-js",
    "g-js": "g-js",
    "iterations": "epochs",
    "parameters": "noise-parameters",
    **{name: name for name in ("mae", "rmse", "r2", "precision", "recall")},
}  # metric of a table -> score of a record
OF_GROUPS = ("prevalence", "identity-similarity", "entropy")  # one score for each group
_GROUP = "group"


@dataclass(frozen=True)
class Cell:
    """A row and a column of a table: the runs it is the mean of, or why there are none."""

    row: Row
    column: Column
    score: str = ""
    tasks: tuple[MethodTask, ...] = ()
    missing: str = ""


def cells_of(table: PublishedTable, request: Request) -> list[Cell]:
    """Every cell of a table, row by row."""
    here = {column.key: why_not_here(column, request) for column in table.columns}
    return [
        _cell(row, column, here[column.key], request.seed, request.runs or table.runs)
        for row in table.rows
        for column in table.columns
        if not row.only or column.dataset in row.only
    ]


def tasks_of(cells: list[Cell]) -> Iterator[MethodTask]:
    """The runs of all cells; several cells may need the same one."""
    for cell in cells:
        yield from cell.tasks


def _cell(row: Row, column: Column, not_here: str, seed: int, runs: int) -> Cell:
    reason = _why_not(row, column) or not_here
    if reason:
        return Cell(row, column, missing=reason)
    source, settings = source_of(column, row.features), _settings(row.options, column)
    make = TASKS.get(column.dataset, MethodTask)
    tasks = tuple(make(source, str(row.method), seed + run, settings) for run in range(runs))
    return Cell(row, column, _score(row, column), tasks)


def _why_not(row: Row, column: Column) -> str:
    if row.method is None:
        return "it is no method of ours"
    if row.method not in METHODS:
        return f"the method {row.method} is not there yet"
    if column.metric not in SCORES and column.metric not in OF_GROUPS:
        return f"{column.metric} is not measured yet"
    unknown = sorted(set(row.options) - {*KINDS, _GROUP})
    return f"its option {unknown[0]} is not there yet" if unknown else ""


def _score(row: Row, column: Column) -> str:
    if column.metric in OF_GROUPS:
        return f"{column.metric}-{row.options[_GROUP]}"
    return SCORES[column.metric]


def _settings(options: Mapping[str, Any], column: Column) -> dict[str, Any]:
    settings = {kind: dict(options[kind]) for kind in KINDS if kind in options}
    if column.training:
        settings["training"] = {**column.training, **settings.get("training", {})}
    return settings
