"""A table of ours beside the published one, as Markdown and as HTML."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import Any

from manyhands.evaluation import RunSummary, summarise_runs
from manyhands.experiments.cells import Cell
from manyhands.experiments.published import PublishedTable, Value
from manyhands.experiments.records import NOT_RUN, RecordStore
from manyhands.experiments.writing import markdown_table
from manyhands.methods import METHODS, FullBatchMethod

SEARCH = "epoch by held-out crowd labels, then all labels"
LAST = "last epoch"
CONVERGED = "run to convergence"
RULE = "no clean label was used to train or to choose anything; truth only scores"
_SMALLER_IS_BETTER = {"i-js", "g-js", "cross-entropy", "mae", "rmse"}
_FOR_INFORMATION = {"iterations", "parameters", "prevalence", "identity-similarity", "entropy"}
_POINTS = "rating points of a scale 1 to 10"  # of ratings that the files have in 0..1
_DIGITS = {"percent": 2, "count": 1, _POINTS: 3}  # behind the point, by unit
_SCALES = {"percent": 100.0, _POINTS: 10.0}  # of what is recorded to the unit shown
_NEAR = 0.01  # of what is recorded, within which a published figure counts as reached


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

    def named(self) -> dict[str, str]:
        """By the names of the columns."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


HEADER = tuple(each.name.replace("_", " ") for each in fields(Line))


def lines_of(cells: Sequence[Cell], store: RecordStore) -> list[Line]:
    """Every cell with what was published and what our runs say."""
    return [_line(cell, store) for cell in cells]


def markdown_page(table: PublishedTable, lines: Sequence[Line], command: str) -> str:
    """The table as a page of Markdown."""
    head = [
        f"# {table.name}: {table.title}",
        "",
        f"{table.paper}; {table.source}.",
        "",
        f"*Published selection*: {table.selection}",
        "",
        f"*Ours*: {RULE}.",
        "",
        f"```\n{command}\n```",
        "",
    ]
    body = markdown_table(HEADER, [list(line.named().values()) for line in lines])
    return "\n".join([*head, *body, *markdown_notes(table)]) + "\n"


def markdown_notes(table: PublishedTable) -> list[str]:
    """What is to say of our runs, and of the paper."""
    lines = []
    for title, notes in (("What our runs show", table.remarks), ("About the paper", table.notes)):
        if notes:
            lines += ["", f"**{title}**", "", *(f"- {note}" for note in notes)]
    return lines


def html_page(table: PublishedTable, lines: Sequence[Line], command: str) -> str:
    """The table as one HTML page that needs nothing else."""
    head = "".join(f"<th>{escape(name)}</th>" for name in HEADER)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(each)}</td>" for each in line.named().values()) + "</tr>\n"
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


def _line(cell: Cell, store: RecordStore) -> Line:
    value = cell.row.values.get(cell.column.key, Value(None))
    name = f"({cell.row.published})" if cell.row.ours else cell.row.published
    digits = _DIGITS.get(cell.column.unit, 4)
    plain = (name, cell.row.method or "-", cell.column.key, _shown(value, digits))
    if cell.missing:
        return Line(*plain, "-", "-", "0", "-", "-", f"missing: {cell.missing}")
    made = [record for task in cell.tasks if (record := store.get(task.key)) is not None]
    failed = [record for record in made if "error" in record]
    scores = scores_in(made, cell)
    if not scores:
        why = failed[0]["error"] if failed else f"{NOT_RUN}: needs {cell.column.dataset}"
        return Line(*plain, "-", "-", "0", selection_of(cell), "-", why)
    summary = summarise_runs(scores)
    lost = f"; {len(failed)} failed" if failed else ""
    return Line(
        *plain,
        _shown(Value(summary.mean, summary.deviation), digits),
        f"{min(scores):.{digits}f}",
        str(len(scores)),
        selection_of(cell),
        "-" if value.mean is None else f"{summary.mean - value.mean:+.{digits}f}",
        _verdict(cell, value, summary) + lost,
    )


def scores_in(records: Sequence[Mapping[str, Any]], cell: Cell) -> list[float]:
    """What the runs of a cell say, in the unit of its column."""
    scale = _SCALES.get(cell.column.unit, 1.0)
    found = [record.get("scores", {}).get(cell.score) for record in records]
    return [scale * score for score in found if score is not None]


def selection_of(cell: Cell) -> str:
    """How the epoch of a cell's runs was chosen."""
    training = cell.tasks[0].settings.get("training", {}) if cell.tasks else {}
    return how_chosen(str(cell.row.method), training.get("validation_fraction"))


def how_chosen(method: str, validation_fraction: float | None = None) -> str:
    """How a method chooses its epoch, in words; `validation_fraction` where it is not the default."""
    way = METHODS[method]
    if isinstance(way, FullBatchMethod):
        return CONVERGED
    share = (
        way.defaults.get("validation_fraction", 0.0)
        if validation_fraction is None
        else validation_fraction
    )
    return SEARCH if share else LAST


def _verdict(cell: Cell, value: Value, summary: RunSummary) -> str:
    if value.mean is None:
        return "nothing published"
    if cell.column.metric in _FOR_INFORMATION:
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
