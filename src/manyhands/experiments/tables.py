"""A published table beside our own runs of it, as Markdown and as HTML."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from manyhands.evaluation import RunSummary, summarize_runs
from manyhands.experiments.cells import POINTS, RULE, SCALES, Cell, CellExperiment, cells_of
from manyhands.experiments.experiment import RunOptions, WrittenPages, found_records
from manyhands.experiments.pages import markdown_table, mean_and_deviation, write_page
from manyhands.experiments.published import PublishedTable, Value
from manyhands.experiments.records import NOT_RUN, Records

COLUMNS = (
    "published_as", "method", "measured", "published", "ours", "lowest", "runs", "selection",
    "difference", "verdict",
)  # fmt: skip
HEADER = tuple(name.replace("_", " ") for name in COLUMNS)
_SMALLER_IS_BETTER = {"i-js", "g-js", "cross-entropy", "mae", "rmse"}
_INFORMATION = {"iterations", "parameters", "prevalence", "identity-similarity", "entropy"}
_DIGITS = {"percent": 2, "count": 1, POINTS: 3}  # decimals, by unit
_NEAR = 0.01  # in units of the record: within this a published figure counts as reached


class TableExperiment(CellExperiment):
    """A table of a paper."""

    @property
    def needs(self) -> list[str]:
        """See `Experiment.needs`."""
        return list(dict.fromkeys(column.dataset for column in self.table.columns))

    def cells(self, options: RunOptions) -> list[Cell]:
        """See `CellExperiment.cells`."""
        return cells_of(self.table, options)

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
        body = [markdown_table(HEADER, lines), *self.notes()]
        html = html_page(self.table, lines, self.command(options))
        files = [
            self.write_page(folder, options, self.about(), body),
            write_page(folder / f"{self.file_name}.html", html),
        ]
        rows = [dict(zip(COLUMNS, line, strict=True)) for line in lines]
        return WrittenPages(files, rows, frozenset({"method", "lowest", "runs", "selection"}))


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
    published = mean_and_deviation(value.mean, value.deviation, digits)
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
        mean_and_deviation(summary.mean, summary.deviation, digits),
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
