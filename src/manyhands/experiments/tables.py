"""A published table beside our own runs of it, as Markdown and as HTML."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import Any

from manyhands.evaluation import RunSummary, summarize_runs
from manyhands.experiments.cells import Cell, cells_of, runs_of
from manyhands.experiments.experiment import (
    Experiment,
    RunOptions,
    WrittenPages,
    found_records,
)
from manyhands.experiments.pages import code_block, markdown_table, write_page
from manyhands.experiments.published import PublishedTable, Value
from manyhands.experiments.records import NOT_RUN, Records
from manyhands.experiments.runs import MethodRun
from manyhands.methods import METHODS, FullBatchMethod

SEARCHED = "epoch by held-out crowd labels, then all labels"
LAST = "last epoch"
CONVERGED = "run to convergence"
RULE = "no clean label was used for training or selection; the truth is used for scoring only"
_SMALLER_IS_BETTER = {"i-js", "g-js", "cross-entropy", "mae", "rmse"}
_INFORMATION = {"iterations", "parameters", "prevalence", "identity-similarity", "entropy"}
_POINTS = "rating points of a scale 1 to 10"  # the files hold ratings in 0..1
_DIGITS = {"percent": 2, "count": 1, _POINTS: 3}  # decimals, by unit
_SCALES = {"percent": 100.0, _POINTS: 10.0}  # from the record to the unit shown
_NEAR = 0.01  # in units of the record: within this a published figure counts as reached


@dataclass(frozen=True)
class Line:
    """A cell of a table, ready to be shown."""

    published_as: str
    method: str
    measured: str
    published: str
    ours: str
    lowest: str
    runs: str
    selection: str
    difference: str
    verdict: str

    def as_dict(self) -> dict[str, str]:
        """Values by column."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


HEADER = tuple(each.name.replace("_", " ") for each in fields(Line))


@dataclass(frozen=True)
class TableExperiment(Experiment):
    """A table of a paper."""

    table: PublishedTable

    def __post_init__(self) -> None:
        for name in ("name", "paper", "title"):
            object.__setattr__(self, name, getattr(self.table, name))

    @property
    def needs(self) -> list[str]:
        """See `Experiment.needs`."""
        return list(dict.fromkeys(column.dataset for column in self.table.columns))

    def cells(self, options: RunOptions) -> list[Cell]:
        """Every cell of the table, row by row."""
        return cells_of(self.table, options)

    def runs(self, options: RunOptions) -> list[MethodRun]:
        """See `Experiment.runs`."""
        return runs_of(self.cells(options))

    def unavailable(self, options: RunOptions) -> list[str]:
        """See `Experiment.unavailable`."""
        return [
            f"{cell.row.published}, {cell.column.key}: {cell.unavailable}"
            for cell in self.cells(options)
            if cell.unavailable
        ]

    def write(self, records: Records, options: RunOptions, folder: Path) -> WrittenPages:
        """Write the table as Markdown and as HTML."""
        lines = [_line(cell, records) for cell in self.cells(options)]
        command = self.command(options)
        pages = {
            ".md": self._markdown(lines, command),
            ".html": html_page(self.table, lines, command),
        }
        files = [write_page(folder / f"{self.file_name}{end}", text) for end, text in pages.items()]
        hidden = frozenset({"method", "lowest", "runs", "selection"})
        return WrittenPages(files, [line.as_dict() for line in lines], hidden)

    def _markdown(self, lines: Sequence[Line], command: str) -> str:
        head = [*self.heading(), *published_lines(self.table), code_block(command), ""]
        body = markdown_table(HEADER, [list(line.as_dict().values()) for line in lines])
        return "\n".join([*head, body, *note_lines(self.table)]) + "\n"


def published_lines(table: PublishedTable) -> list[str]:
    """Where a table was published, and how selection was done there and here."""
    return [
        f"{table.paper}; {table.source}.",
        "",
        f"*Published selection*: {table.selection}",
        "",
        f"*Ours*: {RULE}.",
        "",
    ]


def note_lines(table: PublishedTable) -> list[str]:
    """Notes on our runs and on the paper."""
    lines = []
    for title, notes in (("What our runs show", table.remarks), ("About the paper", table.notes)):
        if notes:
            lines += ["", f"**{title}**", "", *(f"- {note}" for note in notes)]
    return lines


def html_page(table: PublishedTable, lines: Sequence[Line], command: str) -> str:
    """The table as one HTML page that needs nothing else."""
    head = "".join(f"<th>{escape(name)}</th>" for name in HEADER)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(each)}</td>" for each in line.as_dict().values()) + "</tr>\n"
        for line in lines
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


def _line(cell: Cell, records: Records) -> Line:
    value = cell.row.values.get(cell.column.key, Value(None))
    name = f"({cell.row.published})" if cell.row.ours else cell.row.published
    digits = _DIGITS.get(cell.column.unit, 4)
    plain = (name, cell.row.method or "-", cell.column.key, _shown(value, digits))
    if cell.unavailable:
        return Line(*plain, "-", "-", "0", "-", "-", f"missing: {cell.unavailable}")
    found = found_records(cell.runs, records)
    failed = [record for record in found if "error" in record]
    scores = scores_in(found, cell)
    if not scores:
        why = failed[0]["error"] if failed else f"{NOT_RUN}: needs {cell.column.dataset}"
        return Line(*plain, "-", "-", "0", selection_of(cell), "-", why)
    summary = summarize_runs(scores)
    failures = f"; {len(failed)} failed" if failed else ""
    return Line(
        *plain,
        _shown(Value(summary.mean, summary.deviation), digits),
        f"{min(scores):.{digits}f}",
        str(len(scores)),
        selection_of(cell),
        "-" if value.mean is None else f"{summary.mean - value.mean:+.{digits}f}",
        _verdict(cell, value, summary) + failures,
    )


def scores_in(records: Sequence[Mapping[str, Any]], cell: Cell) -> list[float]:
    """The scores of a cell's runs, in the unit of its column."""
    scale = _SCALES.get(cell.column.unit, 1.0)
    scores = [record.get("scores", {}).get(cell.score) for record in records]
    return [scale * score for score in scores if score is not None]


def selection_of(cell: Cell) -> str:
    """How the runs of a cell choose their epoch."""
    training = cell.runs[0].settings.get("training", {}) if cell.runs else {}
    return how_chosen(str(cell.row.method), training.get("validation_fraction"))


def how_chosen(method: str, validation_fraction: float | None = None) -> str:
    """How a method chooses its epoch; `validation_fraction` if it is not the default."""
    chosen = METHODS[method]
    if isinstance(chosen, FullBatchMethod):
        return CONVERGED
    if validation_fraction is None:
        validation_fraction = chosen.defaults.get("validation_fraction", 0.0)
    return SEARCHED if validation_fraction else LAST


def _verdict(cell: Cell, value: Value, summary: RunSummary) -> str:
    if value.mean is None:
        return "nothing published"
    if cell.column.metric in _INFORMATION:
        return "for information"
    gain = summary.mean - value.mean
    if cell.column.metric in _SMALLER_IS_BETTER:
        gain = -gain
    near = _NEAR * _SCALES.get(cell.column.unit, 1.0)
    if gain > near:
        return "better than published"
    return "reached" if gain >= -near else "short of published"


def _shown(value: Value, digits: int) -> str:
    if value.mean is None:
        return "-"
    spread = value.deviation is not None and not math.isnan(value.deviation)
    mean = f"{value.mean:.{digits}f}"
    return mean + (f" ± {value.deviation:.{digits}f}" if spread else "")
