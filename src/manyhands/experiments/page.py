"""A table of ours beside the published one, as Markdown and as HTML."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from manyhands.evaluation import RunSummary, summarise_runs
from manyhands.experiments.published import PublishedTable, Value
from manyhands.experiments.records import RecordStore
from manyhands.experiments.specification import Cell

HEADER = (
    "published as",
    "method",
    "measured",
    "published",
    "ours",
    "lowest",
    "runs",
    "difference",
    "verdict",
)
RULE = (
    "end-to-end methods: epoch chosen by held-out labels of the crowd, then trained on all; "
    "others: last epoch. No clean label was used to choose anything"
)
_NEAR = 1.0  # points within which a published figure counts as reached


@dataclass(frozen=True)
class Line:
    """A cell of a table, ready to be shown."""

    published_name: str
    method: str
    measured: str
    published: str
    ours: str
    lowest: str
    runs: str
    difference: str
    verdict: str

    def cells(self) -> list[str]:
        """As a row of text."""
        return [
            self.published_name, self.method, self.measured, self.published, self.ours,
            self.lowest, self.runs, self.difference, self.verdict,
        ]  # fmt: skip


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
    rows = [HEADER, ("---",) * len(HEADER), *(line.cells() for line in lines)]
    body = ["| " + " | ".join(each.replace("|", "\\|") for each in row) + " |" for row in rows]
    notes = ["", *(f"- {note}" for note in table.notes)]
    return "\n".join([*head, *body, *notes]) + "\n"


def html_page(table: PublishedTable, lines: Sequence[Line], command: str) -> str:
    """The table as one HTML page that needs nothing else."""
    head = "".join(f"<th>{escape(name)}</th>" for name in HEADER)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(each)}</td>" for each in line.cells()) + "</tr>\n"
        for line in lines
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
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
    "body{font:16px/1.5 system-ui;max-width:72rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse}td,th{padding:.3rem .7rem;border-bottom:1px solid #ddd;"
    "text-align:left}th{border-bottom:2px solid #333}pre{background:#f4f4f4;padding:.7rem}"
)


def _line(cell: Cell, store: RecordStore) -> Line:
    value = cell.row.values.get(cell.column.key, Value(None))
    scale = 100.0 if cell.column.unit == "percent" else 1.0
    shown = _shown(value.mean, value.deviation)
    plain = (cell.row.published, cell.row.method or "-", cell.column.key, shown)
    if cell.missing:
        return Line(*plain, "-", "-", "0", "-", f"missing: {cell.missing}")
    records = [store.get(task.key) for task in cell.tasks]
    made = [record for record in records if record is not None]
    failed = [record for record in made if "error" in record]
    scores = [
        scale * record["scores"][cell.score]
        for record in made
        if "scores" in record and record["scores"].get(cell.score) is not None
    ]
    if not scores:
        return Line(*plain, "-", "-", "0", "-", failed[0]["error"] if failed else "not run yet")
    summary = summarise_runs(scores)
    lost = f"; {len(failed)} failed" if failed else ""
    return Line(
        *plain,
        _shown(summary.mean, summary.deviation),
        f"{min(scores):.2f}",
        str(len(scores)),
        "-" if value.mean is None else f"{summary.mean - value.mean:+.2f}",
        _verdict(cell, value, summary) + lost,
    )


def _verdict(cell: Cell, value: Value, summary: RunSummary) -> str:
    if value.mean is None:
        return "nothing published"
    smaller_is_better = cell.score in {"i-js", "g-js"}
    gain = (value.mean - summary.mean) if smaller_is_better else (summary.mean - value.mean)
    near = _NEAR if cell.column.unit == "percent" else 0.01
    if gain > near:
        return "above the published figure"
    return "reached" if gain >= -near else "below the published figure"


def _shown(mean: float | None, deviation: float | None) -> str:
    if mean is None:
        return "-"
    spread = deviation is not None and not math.isnan(deviation)
    return f"{mean:.2f}" + (f" ± {deviation:.2f}" if spread else "")
