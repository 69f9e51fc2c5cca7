"""Published tables: the runs behind each cell, and a page that shows them beside ours."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from manyhands.evaluation import summarize_runs
from manyhands.evaluation.runs import RunSummary
from manyhands.experiments import pages
from manyhands.experiments.data import CorpusSource, DataSource, ScenarioSource
from manyhands.experiments.experiment import Experiment, RunOptions, WrittenPages, found_records
from manyhands.experiments.network_annotators import NetworkAnnotators
from manyhands.experiments.published import Column, PublishedTable, Row, Value
from manyhands.experiments.records import NOT_RUN, Records
from manyhands.experiments.runs import SETTING_GROUPS, MethodRun
from manyhands.experiments.text_runs import TEXT_RUNS
from manyhands.methods import METHODS
from manyhands.networks import NETWORKS

# metric of a table -> score of a record
SCORES = {
    "accuracy": "accuracy", "f1": "f1", "cross-entropy": "cross-entropy", "i-js": "i-js",
    "g-js": "g-js", "train-accuracy": "train-accuracy", "mae": "mae", "rmse": "rmse", "r2": "r2",
    "precision": "precision", "recall": "recall", "iterations": "epochs",
    "parameters": "noise-parameters",
}  # fmt: skip
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
COLUMNS = (
    "published_as", "method", "measured", "published", "ours", "lowest", "runs", "selection",
    "difference", "verdict",
)  # fmt: skip
HEADER = tuple(name.replace("_", " ") for name in COLUMNS)
_SMALLER_IS_BETTER = {"i-js", "g-js", "cross-entropy", "mae", "rmse"}
_INFORMATION = {"iterations", "parameters", "prevalence", "identity-similarity", "entropy"}
_DIGITS = {"percent": 2, "count": 1, POINTS: 3}  # decimals, by unit
_NEAR = 0.01  # in units of the record: within this a published figure counts as reached


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
        """Write the table as Markdown and as HTML."""
        lines = [_line(cell, records) for cell in self.cells(options)]
        body = [pages.markdown_table(HEADER, lines), *self.notes()]
        html = html_page(self.table, lines, self.command(options))
        files = [
            self.write_page(folder, options, self.about(), body),
            pages.write_page(folder / f"{self.file_name}.html", html),
        ]
        rows = [dict(zip(COLUMNS, line, strict=True)) for line in lines]
        return WrittenPages(files, rows, frozenset({"method", "lowest", "runs", "selection"}))


def cells_of(table: PublishedTable, options: RunOptions) -> list[Cell]:
    """Every cell of a table, row by row."""
    return [
        _cell(row, column, options, _seeds(table, column, options))
        for row in table.rows
        for column in table.columns
        if not row.only or column.dataset in row.only
    ]


def _seeds(table: PublishedTable, column: Column, options: RunOptions) -> range:
    n_runs = options.n_runs or column.runs or table.runs
    return range(options.seed, options.seed + n_runs)


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


def _cell(row: Row, column: Column, options: RunOptions, seeds: range) -> Cell:
    settings = {kind: dict(row.options[kind]) for kind in SETTING_GROUPS if kind in row.options}
    if column.training:
        settings["training"] = {**column.training, **settings.get("training", {})}
    reason = _row_unavailable(row, column) or _column_unavailable(column, options, settings)
    if reason:
        return Cell(row, column, unavailable=reason)
    if column.metric in GROUP_METRICS:
        score = f"{column.metric}-{row.options[_GROUP]}"
    else:
        score = SCORES[column.metric]
    source, make = _source(column, row.features), TEXT_RUNS.get(column.dataset, MethodRun)
    runs = tuple(make(source, str(row.method), seed, settings) for seed in seeds)
    return Cell(row, column, score, runs)


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


def html_page(table: PublishedTable, lines: Sequence[Sequence[str]], command: str) -> str:
    """The table as one HTML page that needs nothing else."""
    head = "".join(f"<th>{escape(name)}</th>" for name in HEADER)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(each)}</td>" for each in line) + "</tr>\n" for line in lines
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in (*table.remarks, *table.notes))
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        f"<title>{escape(table.name)}</title><style>{_STYLE}</style>"
        f"<h1>{escape(table.name)}: {escape(table.title)}</h1>"
        f"<p>{escape(table.paper)}; {escape(table.source)}.</p>"
        f"<p><b>Published selection.</b> {escape(table.selection)}</p>"
        f"<p><b>Ours.</b> {escape(RULE)}.</p><pre>{escape(command)}</pre>"
        f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table><ul>{notes}</ul>"
        "</html>\n"
    )


_STYLE = (
    "body{font:16px/1.5 system-ui;max-width:90rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse}td,th{padding:.3rem .7rem;border-bottom:1px solid #ddd;"
    "text-align:left}td:nth-child(2){white-space:nowrap}th{border-bottom:2px solid #333}"
    "pre{background:#f4f4f4;padding:.7rem}"
)


def _line(cell: Cell, records: Records) -> list[str]:
    """What is shown of a cell, in the order of `COLUMNS`."""
    value = cell.row.values.get(cell.column.key, Value(None))
    name = f"({cell.row.published})" if cell.row.ours else cell.row.published
    digits = _DIGITS.get(cell.column.unit, 4)
    published = pages.mean_and_deviation(value.mean, value.deviation, digits)
    plain = [name, cell.row.method or "-", cell.column.key, published]
    if cell.unavailable:
        return [*plain, "-", "-", "0", "-", "-", f"missing: {cell.unavailable}"]
    found = found_records(cell.runs, records)
    failed = [record for record in found if "error" in record]
    scores = cell.scores_in(found)
    if not scores:
        why = failed[0]["error"] if failed else f"{NOT_RUN}: needs {cell.column.dataset}"
        return [*plain, "-", "-", "0", cell.selection, "-", why]
    summary = summarize_runs(scores)
    failures = f"; {len(failed)} failed" if failed else ""
    return [
        *plain,
        pages.mean_and_deviation(summary.mean, summary.deviation, digits),
        f"{min(scores):.{digits}f}",
        str(len(scores)),
        cell.selection,
        "-" if value.mean is None else f"{summary.mean - value.mean:+.{digits}f}",
        _verdict(cell, value, summary) + failures,
    ]


def _verdict(cell: Cell, value: Value, summary: RunSummary) -> str:
    if value.mean is None:
        return "nothing published"
    if cell.column.metric in _INFORMATION:
        return "for information"
    gain = summary.mean - value.mean
    if cell.column.metric in _SMALLER_IS_BETTER:
        gain = -gain
    near = _NEAR * SCALES.get(cell.column.unit, 1.0)
    if gain > near:
        return "better than published"
    return "reached" if gain >= -near else "short of published"
