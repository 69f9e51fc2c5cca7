"""The pages of a published table: its grid, its protocol, and where its numbers come from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from manyhands.experiments import grids, pages, protocol_pages
from manyhands.experiments.experiment import Summary
from manyhands.experiments.grids import Grid, GridCell, GridLine
from manyhands.experiments.protocols import CHOSEN, OUR_SEARCH, OURS, PUBLISHED
from manyhands.experiments.published import PublishedTable
from manyhands.experiments.records import Records
from manyhands.experiments.results import LABELS, LONG_COLUMNS, Cell, long_list
from manyhands.experiments.run_lists import HOW_TO_FIND

CHOSEN_LABELS = {"clean": "epoch by clean labels †", "test": "epoch by test items ‡"}
RULE = "no clean label was used for training or selection; the truth is used for scoring only"
OUR_RULE = (
    f"one protocol for all methods: the best of {OUR_SEARCH['epochs']} epochs by "
    f"{OUR_SEARCH['validation_fraction']:.0%} held-out crowd labels, then training on all labels; "
    "otherwise the defaults of this library. Methods that are solved run to convergence"
)


def table_grids(table: PublishedTable, cells: Sequence[Cell], records: Records) -> list[Grid]:
    """The table as the paper prints it, and the rows of ours that it does not have."""
    by_place = {(cell.row.published, cell.column.key): cell for cell in cells}
    paper = [row.published for row in table.rows if not row.ours]
    ours = [row.published for row in table.rows if row.ours]
    blocks = table.layout.side_by_side or (paper,)
    found = [_grid(table, block, by_place, records, "") for block in blocks]
    if ours:
        found.append(_grid(table, ours, by_place, records, "Rows that the paper does not have"))
    return found


def _grid(
    table: PublishedTable,
    names: Sequence[str],
    cells: dict[tuple[str, str], Cell],
    records: Records,
    title: str,
) -> Grid:
    layout = table.layout
    titled = {key: name for group in layout.groups for key, name in group["columns"].items()}
    rows = {name: layout.titles.get(name, name) for name in names}
    if layout.transposed:
        lines = [
            line
            for key, head in titled.items()
            for line in _lines(head, [cells.get((name, key)) for name in names], records)
        ]
        return Grid(title, layout.corner, (("", tuple(rows.values())),), tuple(lines))
    lines = [
        line
        for name, head in rows.items()
        for line in _lines(head, [cells.get((name, key)) for key in titled], records)
    ]
    groups = tuple((group["title"], tuple(group["columns"].values())) for group in layout.groups)
    return Grid(title, layout.corner, groups, tuple(lines))


def _lines(head: str, cells: Sequence[Cell | None], records: Records) -> Iterator[GridLine]:
    """The lines of a method: the published figures, those as published, and ours."""
    there = [cell for cell in cells if cell is not None]
    if any(cell.value.mean is not None for cell in there) or not any(c.row.ours for c in there):
        plain = [GridCell() if cell is None else GridCell(cell.published) for cell in cells]
        yield GridLine(head, grids.PUBLISHED_LABEL, tuple(plain))
    for protocol in (PUBLISHED, CHOSEN, OURS):
        results = [None if cell is None else cell.result(protocol, records) for cell in cells]
        if any(result is not None for result in results) or (protocol == OURS and there):
            shown = tuple(
                _missing(cell, protocol) if result is None else result.grid_cell
                for cell, result in zip(cells, results, strict=True)
            )
            yield GridLine(head, _label(protocol, there), shown)


def _missing(cell: Cell | None, protocol: str) -> GridCell:
    """Of a cell without runs: an empty place, or the mark of what was not run."""
    return GridCell("", grids.NOT_RUN if cell is not None and cell.unavailable else "")


def _label(protocol: str, cells: Sequence[Cell]) -> str:
    if protocol != CHOSEN:
        return LABELS[protocol]
    rules = {run.rule for cell in cells for run in cell.runs_by.get(CHOSEN, ())}  # type: ignore[attr-defined]
    return " / ".join(CHOSEN_LABELS[rule] for rule in sorted(rules))


def summarize(table: PublishedTable, cells: Sequence[Cell], records: Records) -> Summary:
    """How many of the figures of the paper our runs reach."""
    judged = {PUBLISHED: 0, OURS: 0}
    reached = {PUBLISHED: 0, OURS: 0}
    published = [cell for cell in cells if cell.is_judged]
    for cell in published:
        for protocol in judged:
            result = cell.result(protocol, records)
            if result is not None and result.scores:
                judged[protocol] += 1
                reached[protocol] += result.mark in (grids.REACHED, grids.BETTER)
    return Summary(len(published), judged, reached, table.shortfall)


@dataclass(frozen=True)
class TablePage:
    """The texts around the grid of a table."""

    table: PublishedTable
    command: str
    file_name: str

    def about(self) -> list[str]:
        """Where it was published, and what its three figures are."""
        return [
            f"{self.table.paper}; {self.table.source}.",
            "",
            "*published*: the figure of the paper. *as published*: our runs by the protocol of the "
            "paper, which is [below](#protocol). *ours*: " + OUR_RULE + ".",
            "",
            f"Marks: {grids.legend()}. A mean over runs is shown with its standard deviation. In "
            f"the lines *as published* and *ours* {RULE}. Lines with † or ‡ choose their epoch "
            "with clean labels, as the paper or its code does.",
            "",
        ]

    def body(
        self, shown: Sequence[Grid], cells: Sequence[Cell], records: Records, *, figure: bool
    ) -> list[str]:
        """The grid, the figure, the protocol and the long list, as Markdown."""
        lines = [grids.html_grids(shown), ""]
        if figure:
            lines += [f"![{self.table.title}]({self.file_name}.png)", ""]
        lines += [*self.notes(), "", *protocol_pages.protocol_lines(self.table), ""]
        return [*lines, *self.records_lines(cells, records)]

    def notes(self) -> list[str]:
        """Why figures are not reached, and notes on our runs and on the paper."""
        titles = {
            "Not reached, and why": [self.table.shortfall] if self.table.shortfall else [],
            "What our runs show": self.table.remarks,
            "About the paper": self.table.notes,
        }
        lines = []
        for title, notes in titles.items():
            if notes:
                lines += ["", f"**{title}**", "", *(f"- {note}" for note in notes)]
        return lines

    def records_lines(self, cells: Sequence[Cell], records: Records) -> list[str]:
        """Every figure with its runs behind a fold, and where their records are."""
        listed = long_list(cells, records)
        names = [name for name in LONG_COLUMNS if name != "records"]
        header = [name.replace("_", " ") for name in names]
        return [
            "## Runs",
            "",
            f"[{self.file_name}.csv]({self.file_name}.csv) has every figure with the keys of its "
            f"records. {HOW_TO_FIND}",
            "",
            f"<details><summary>All {len(listed)} figures</summary>",
            "",
            pages.markdown_table(header, [[line[name] for name in names] for line in listed]),
            "",
            "</details>",
        ]

    def html(self, shown: Sequence[Grid], cells: Sequence[Cell], records: Records) -> str:
        """The page as HTML that needs nothing else."""
        table = self.table
        notes = "".join(f"<li>{escape(note)}</li>" for note in (*table.remarks, *table.notes))
        return (
            "<!doctype html><html lang=en><meta charset=utf-8>"
            f"<title>{escape(table.name)}</title><style>{_STYLE}</style>"
            f"<h1>{escape(table.name)}: {escape(table.title)}</h1>"
            f"<p>{escape(table.paper)}; {escape(table.source)}.</p>"
            f"<p><b>published</b>: the figure of the paper. <b>as published</b>: our runs by the "
            f"protocol of the paper, below. <b>ours</b>: {escape(OUR_RULE)}. "
            f"Marks: {escape(grids.legend())}. {escape(RULE.capitalize())}, except in lines with † "
            f"or ‡.</p><pre>{escape(self.command)}</pre>\n{grids.html_grids(shown)}\n"
            f"<ul>{notes}</ul>\n{protocol_pages.html_protocol(table)}\n"
            f"{_html_runs(cells, records)}</html>\n"
        )


def _html_runs(cells: Sequence[Cell], records: Records) -> str:
    listed = long_list(cells, records)
    names = [name for name in LONG_COLUMNS if name != "records"]
    lines = [[line[name] for name in names] for line in listed]
    return pages.html_list(
        f"All {len(listed)} figures", [n.replace("_", " ") for n in names], lines
    )


_STYLE = (
    "body{font:16px/1.5 system-ui;max-width:76rem;margin:1.5rem auto;padding:0 1rem}"
    + grids.STYLE
    + ".mh-list{border-collapse:collapse;font-size:.8rem}.mh-list td,.mh-list th{"
    "padding:.2rem .4rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top;"
    "overflow-wrap:anywhere;min-width:2.5rem}"
    "pre{background:#f4f4f4;padding:.7rem}details{margin:1rem 0}summary{cursor:pointer}"
)
