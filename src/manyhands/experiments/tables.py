"""Published tables: the runs behind each cell, and pages that show them beside the paper's."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manyhands.experiments import pages, table_pages
from manyhands.experiments.chosen_runs import ChosenRun
from manyhands.experiments.data import CorpusSource, DataSource, ScenarioSource
from manyhands.experiments.experiment import Experiment, RunOptions, Summary, WrittenPages
from manyhands.experiments.network_annotators import NetworkAnnotators
from manyhands.experiments.protocol_pages import published_pairs
from manyhands.experiments.protocols import (
    CHOSEN,
    OURS,
    PUBLISHED,
    RULES,
    SETTING_GROUPS,
    Protocol,
    merged,
    our_settings,
)
from manyhands.experiments.published import Column, PublishedTable, Row
from manyhands.experiments.records import Records
from manyhands.experiments.results import Cell, cell_rows, long_list
from manyhands.experiments.runs import MethodRun
from manyhands.experiments.table_curve import draw_curve
from manyhands.experiments.text_runs import TEXT_RUNS
from manyhands.methods import METHODS
from manyhands.networks import NETWORKS

# metric of a table -> score of a record
SCORES = {
    "accuracy": "accuracy", "f1": "f1", "cross-entropy": "cross-entropy", "i-js": "i-js",
    "g-js": "g-js", "train-accuracy": "train-accuracy", "mae": "mae", "rmse": "rmse", "r2": "r2",
    "precision": "precision", "recall": "recall", "iterations": "epochs",
    "parameters": "layer-parameters",
}  # fmt: skip
GROUP_METRICS = ("prevalence", "identity-similarity", "entropy")  # one score for each group
SEARCHED = "epoch by held-out crowd labels, then all labels"
LAST = "last epoch"
CONVERGED = "run to convergence"
_GROUP = "group"
# P2 scores against the labels of the test items; the test items of LabelMe have no labels.
_SUBSTITUTES = {"labelme-ic": ("labelme", "labelled"), "cifar10-ic": ("cifar10", "test")}


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
        return [
            run
            for cell in self.cells(options)
            for protocol, runs in cell.runs_by.items()
            if options.runs_by(OURS if protocol == OURS else PUBLISHED)
            for run in runs
        ]

    @property
    def protocol(self) -> Protocol:
        """See `Experiment.protocol`."""
        return self.table.protocol

    @property
    def open_fields(self) -> list[str]:
        """See `Experiment.open_fields`."""
        missing = [
            f"{row.published}, {column.dataset}: {name}"
            for row, column in published_pairs(self.table)
            for name in self.protocol.missing(column.dataset, str(row.method))
        ]
        return list(dict.fromkeys(missing))

    @property
    def stand_ins(self) -> list[str]:
        """See `Experiment.stand_ins`."""
        return list(dict.fromkeys(c.stands_in for c in self.table.columns if c.stands_in))

    def summary(self, records: Records, options: RunOptions) -> Summary:
        """See `Experiment.summary`."""
        return table_pages.summarize(self.table, self.cells(options), records)

    def run_lines(self, options: RunOptions) -> list[str]:
        """See `Experiment.run_lines`; the list of all figures of the page has them."""
        return []

    def download(self, cells: Sequence[Cell], records: Records, folder: Path) -> str:
        """Write every figure with the keys of its records as CSV; returns the path."""
        return pages.write_csv(folder / f"{self.file_name}.csv", long_list(cells, records))


class TableExperiment(CellExperiment):
    """A table of a paper."""

    @property
    def needs(self) -> list[str]:
        """See `Experiment.needs`."""
        return list(dict.fromkeys(column.dataset for column in self.table.columns))

    def cells(self, options: RunOptions) -> list[Cell]:
        """See `CellExperiment.cells`."""
        return cells_of(self.table, options)

    def reasons(self, options: RunOptions) -> dict[str, str]:
        """See `Experiment.reasons`; the parts are cells."""
        cells = [cell for cell in self.cells(options) if cell.unavailable]
        return {f"{cell.row.published}, {cell.column.key}": cell.unavailable for cell in cells}

    def write(self, records: Records, options: RunOptions, folder: Path) -> WrittenPages:
        """Write the table as Markdown, as HTML and as CSV, and its figure if it has one."""
        cells = self.cells(options)
        shown = table_pages.table_grids(self.table, cells, records)
        drawn = self._draw(cells, records, folder)
        text = table_pages.TablePage(self.table, self.command(options), self.file_name)
        body = text.body(shown, cells, records, figure=bool(drawn))
        files = [
            self.write_page(folder, options, text.about(), body),
            pages.write_page(folder / f"{self.file_name}.html", text.html(shown, cells, records)),
            self.download(cells, records, folder),
        ]
        return WrittenPages([*files, *drawn], cell_rows(cells, records), grids=shown)

    def _draw(self, cells: Sequence[Cell], records: Records, folder: Path) -> list[str]:
        if not self.table.layout.curve:
            return []
        figure = draw_curve(self.table, cells, records)
        return pages.write_figure(figure, folder / self.file_name)


def cells_of(table: PublishedTable, options: RunOptions) -> list[Cell]:
    """Every cell of a table, row by row."""
    return [
        _cell(table, row, column, options)
        for row in table.rows
        for column in table.columns
        if not row.only or column.dataset in row.only
    ]


def how_chosen(method: str, validation_fraction: float | None = None) -> str:
    """How a method chooses its epoch; `validation_fraction` if it is not the default."""
    chosen = METHODS[method]
    if chosen.required_network:  # the network is part of a solution
        return CONVERGED
    if validation_fraction is None:
        validation_fraction = chosen.defaults.get("validation_fraction", 0.0)
    return SEARCHED if validation_fraction else LAST


def _source(column: Column, features: str | None = None) -> DataSource:
    if column.annotators:
        given = column.scenario, column.settings, column.items, column.annotators
        return NetworkAnnotators(*given)
    if column.scenario:
        return ScenarioSource(column.scenario, column.settings, column.items)
    if column.dataset in _SUBSTITUTES:
        dataset, tested_on = _SUBSTITUTES[column.dataset]
        return CorpusSource(dataset, tested_on=tested_on)
    return CorpusSource(column.dataset, features, column.tested_on, column.anonymous)


def _cell(table: PublishedTable, row: Row, column: Column, options: RunOptions) -> Cell:
    given = {kind: dict(row.options[kind]) for kind in SETTING_GROUPS if kind in row.options}
    reason = _row_unavailable(row, column)
    ours = {} if reason else our_settings(str(row.method), column.training, given)
    reason = reason or _column_unavailable(column, options, ours)
    if reason:
        return Cell(row, column, unavailable=reason)
    found = _CellRuns(table, row, column, options, given)
    runs_by, selections = found.as_published()
    if not row.as_published:
        runs_by, selections = {**runs_by, **found.ours(ours)}, {**selections, **found.chosen(ours)}
    return Cell(row, column, _score(row, column), runs_by, selections)


@dataclass(frozen=True)
class _CellRuns:
    """The runs of a cell; `given` are the settings of its row."""

    table: PublishedTable
    row: Row
    column: Column
    options: RunOptions
    given: Mapping[str, Any]

    def _runs(self, settings: Mapping[str, Any], usual: int, **rule: str) -> tuple[MethodRun, ...]:
        make = ChosenRun if rule else TEXT_RUNS.get(self.column.dataset, MethodRun)
        source, method = _source(self.column, self.row.features), str(self.row.method)
        n_runs = self.options.n_runs or usual
        seeds = range(self.options.seed, self.options.seed + n_runs)
        return tuple(make(source, method, seed, settings, **rule) for seed in seeds)

    def ours(self, settings: Mapping[str, Any]) -> dict[str, tuple[MethodRun, ...]]:
        """The runs by our protocol."""
        return {OURS: self._runs(settings, self.column.runs or self.table.runs)}

    def chosen(self, settings: Mapping[str, Any]) -> dict[str, str]:
        """How our protocol chooses the epoch."""
        search = settings.get("training", {}).get("validation_fraction")
        return {OURS: how_chosen(str(self.row.method), search)}

    def as_published(self) -> tuple[dict[str, tuple[MethodRun, ...]], dict[str, str]]:
        """The runs by the protocol of the paper, and how they choose their epoch."""
        protocol, dataset, method = self.table.protocol, self.column.dataset, str(self.row.method)
        if not protocol.parts or (self.row.ours and not self.row.as_published):
            return {}, {}
        settings = merged([protocol.settings(dataset, method), self.given])
        usual = protocol.n_runs(dataset, method) or self.table.runs
        selection = protocol.selection(dataset, method)
        runs_by = {PUBLISHED: self._runs(settings, usual)}
        selections = {PUBLISHED: RULES.get(selection.rule, "-")}
        if selection.chosen and self.column.metric == "accuracy":
            runs_by[CHOSEN] = self._runs(settings, usual, rule=selection.chosen)
            selections[CHOSEN] = RULES[selection.chosen]
        return runs_by, selections


def _score(row: Row, column: Column) -> str:
    if column.metric in GROUP_METRICS:
        return f"{column.metric}-{row.options[_GROUP]}"
    return SCORES[column.metric]


def _column_unavailable(column: Column, options: RunOptions, settings: Mapping[str, Any]) -> str:
    if column.network and column.network not in NETWORKS:
        return f"the network {column.network} is not there yet"
    if column.network and "network" not in column.training:  # a run has the default network
        return f"it was not run with the network {column.network} yet"
    return options.unavailable(_source(column), column.slow, settings)


def _row_unavailable(row: Row, column: Column) -> str:
    if row.method is None:
        return "it is no method of ours"
    if row.method not in METHODS:
        return f"the method {row.method} is not there yet"
    if column.metric not in SCORES and column.metric not in GROUP_METRICS:
        return f"{column.metric} is not measured yet"
    unknown = sorted(set(row.options) - {*SETTING_GROUPS, _GROUP})
    return f"its option {unknown[0]} is not there yet" if unknown else ""
