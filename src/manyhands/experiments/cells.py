"""The cells of a published table: the runs behind each, or why it cannot be run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from manyhands.experiments.data import CorpusSource, DataSource, ScenarioSource
from manyhands.experiments.experiment import RunOptions
from manyhands.experiments.published import Column, PublishedTable, Row
from manyhands.experiments.runs import SETTING_GROUPS, MethodRun
from manyhands.experiments.text_runs import TEXT_RUNS
from manyhands.methods import METHODS
from manyhands.networks import NETWORKS

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
GROUP_METRICS = ("prevalence", "identity-similarity", "entropy")  # one score for each group
_GROUP = "group"
# P2 scores against the labels of the test items; the test items of LabelMe have no labels.
_SUBSTITUTES = {"labelme-ic": ("labelme", "labelled"), "cifar10-ic": ("cifar10", "test")}


@dataclass(frozen=True)
class Cell:
    """A row and a column of a table: the runs behind it, or why it is `unavailable`."""

    row: Row
    column: Column
    score: str = ""
    runs: tuple[MethodRun, ...] = ()
    unavailable: str = ""


def cells_of(table: PublishedTable, options: RunOptions) -> list[Cell]:
    """Every cell of a table, row by row."""
    reasons = {column.key: _column_unavailable(column, options) for column in table.columns}
    seeds = range(options.seed, options.seed + (options.n_runs or table.runs))
    return [
        _cell(row, column, reasons[column.key], seeds)
        for row in table.rows
        for column in table.columns
        if not row.only or column.dataset in row.only
    ]


def runs_of(cells: list[Cell]) -> list[MethodRun]:
    """The runs of all cells; several cells may need the same run."""
    return [run for cell in cells for run in cell.runs]


def source_of(column: Column, features: str | None = None) -> DataSource:
    """The data of a column, with a set of features."""
    if column.scenario:
        return ScenarioSource(column.scenario, column.settings, column.items)
    if column.dataset in _SUBSTITUTES:
        dataset, tested_on = _SUBSTITUTES[column.dataset]
        return CorpusSource(dataset, tested_on=tested_on)
    return CorpusSource(column.dataset, features, column.tested_on, column.anonymous)


def _cell(row: Row, column: Column, reason: str, seeds: range) -> Cell:
    reason = _row_unavailable(row, column) or reason
    if reason:
        return Cell(row, column, unavailable=reason)
    source, settings = source_of(column, row.features), _settings(row.options, column)
    make = TEXT_RUNS.get(column.dataset, MethodRun)
    runs = tuple(make(source, str(row.method), seed, settings) for seed in seeds)
    return Cell(row, column, _score(row, column), runs)


def _column_unavailable(column: Column, options: RunOptions) -> str:
    if column.network and column.network not in NETWORKS:
        return f"the network {column.network} is not there yet"
    return options.unavailable(source_of(column), column.slow)


def _row_unavailable(row: Row, column: Column) -> str:
    if row.method is None:
        return "it is no method of ours"
    if row.method not in METHODS:
        return f"the method {row.method} is not there yet"
    if column.metric not in SCORES and column.metric not in GROUP_METRICS:
        return f"{column.metric} is not measured yet"
    unknown = sorted(set(row.options) - {*SETTING_GROUPS, _GROUP})
    return f"its option {unknown[0]} is not there yet" if unknown else ""


def _score(row: Row, column: Column) -> str:
    if column.metric in GROUP_METRICS:
        return f"{column.metric}-{row.options[_GROUP]}"
    return SCORES[column.metric]


def _settings(options: Mapping[str, Any], column: Column) -> dict[str, Any]:
    settings = {kind: dict(options[kind]) for kind in SETTING_GROUPS if kind in options}
    if column.training:
        settings["training"] = {**column.training, **settings.get("training", {})}
    return settings
