"""The cells of a published table: the runs behind each, or why it cannot be run."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from manyhands.experiments.data import CorpusSource, DataSource, ScenarioSource
from manyhands.experiments.experiment import Experiment, RunOptions
from manyhands.experiments.published import Column, PublishedTable, Row
from manyhands.experiments.runs import SETTING_GROUPS, MethodRun
from manyhands.experiments.text_runs import TEXT_RUNS
from manyhands.methods import METHODS, FullBatchMethod
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
POINTS = "rating points of a scale 1 to 10"  # the files hold ratings in 0..1
SCALES = {"percent": 100.0, POINTS: 10.0}  # from the record to the unit shown
SEARCHED = "epoch by held-out crowd labels, then all labels"
LAST = "last epoch"
CONVERGED = "run to convergence"
RULE = "no clean label was used for training or selection; the truth is used for scoring only"
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

    def scores_in(self, records: Sequence[Mapping[str, Any]]) -> list[float]:
        """Its scores in the records of its runs, in the unit of its column."""
        scale = SCALES.get(self.column.unit, 1.0)
        scores = [record.get("scores", {}).get(self.score) for record in records]
        return [scale * score for score in scores if score is not None]

    @property
    def selection(self) -> str:
        """How its runs choose their epoch."""
        training = self.runs[0].settings.get("training", {}) if self.runs else {}
        return how_chosen(str(self.row.method), training.get("validation_fraction"))


@dataclass(frozen=True)
class CellExperiment(Experiment):
    """A table or a figure of a paper whose numbers are means of runs."""

    table: PublishedTable

    def __post_init__(self) -> None:
        for name in ("name", "paper", "title"):
            object.__setattr__(self, name, getattr(self.table, name))

    @abstractmethod
    def cells(self, options: RunOptions) -> list[Cell]:
        """Every cell, row by row."""

    def runs(self, options: RunOptions) -> list[MethodRun]:
        """See `Experiment.runs`; several cells may need the same run."""
        return [run for cell in self.cells(options) for run in cell.runs]

    def about(self) -> list[str]:
        """Where it was published, and how selection was done there and here."""
        return [
            f"{self.paper}; {self.table.source}.",
            "",
            f"*Published selection*: {self.table.selection}",
            "",
            f"*Ours*: {RULE}.",
            "",
        ]

    def notes(self) -> list[str]:
        """Notes on our runs and on the paper."""
        titles = {"What our runs show": self.table.remarks, "About the paper": self.table.notes}
        lines = []
        for title, notes in titles.items():
            if notes:
                lines += ["", f"**{title}**", "", *(f"- {note}" for note in notes)]
        return lines


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


def how_chosen(method: str, validation_fraction: float | None = None) -> str:
    """How a method chooses its epoch; `validation_fraction` if it is not the default."""
    chosen = METHODS[method]
    if isinstance(chosen, FullBatchMethod):
        return CONVERGED
    if validation_fraction is None:
        validation_fraction = chosen.defaults.get("validation_fraction", 0.0)
    return SEARCHED if validation_fraction else LAST


def _source(column: Column, features: str | None = None) -> DataSource:
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
    settings = {kind: dict(row.options[kind]) for kind in SETTING_GROUPS if kind in row.options}
    if column.training:
        settings["training"] = {**column.training, **settings.get("training", {})}
    if column.metric in GROUP_METRICS:
        score = f"{column.metric}-{row.options[_GROUP]}"
    else:
        score = SCORES[column.metric]
    source, make = _source(column, row.features), TEXT_RUNS.get(column.dataset, MethodRun)
    runs = tuple(make(source, str(row.method), seed, settings) for seed in seeds)
    return Cell(row, column, score, runs)


def _column_unavailable(column: Column, options: RunOptions) -> str:
    if column.network and column.network not in NETWORKS:
        return f"the network {column.network} is not there yet"
    return options.unavailable(_source(column), column.slow)


def _row_unavailable(row: Row, column: Column) -> str:
    if row.method is None:
        return "it is no method of ours"
    if row.method not in METHODS:
        return f"the method {row.method} is not there yet"
    if column.metric not in SCORES and column.metric not in GROUP_METRICS:
        return f"{column.metric} is not measured yet"
    unknown = sorted(set(row.options) - {*SETTING_GROUPS, _GROUP})
    return f"its option {unknown[0]} is not there yet" if unknown else ""
