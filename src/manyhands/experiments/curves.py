"""A figure whose points are means of runs: accuracy against a setting of a simulated crowd."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from manyhands.evaluation import summarize_runs
from manyhands.experiments import grids, pages
from manyhands.experiments.drawing import Figure, new_figure
from manyhands.experiments.experiment import RunOptions, WrittenPages
from manyhands.experiments.grids import Grid, GridCell, GridLine
from manyhands.experiments.protocols import OURS, PUBLISHED
from manyhands.experiments.published import Column
from manyhands.experiments.records import NOT_RUN, Records
from manyhands.experiments.results import LABELS, Cell, Result
from manyhands.experiments.table_pages import TablePage
from manyhands.experiments.tables import CellExperiment, cells_of

_STYLES = {PUBLISHED: ("-", "o"), OURS: ("--", "s")}  # line and marker


class CurveExperiment(CellExperiment):
    """Curves of a paper: each column of the table is a panel.

    The `axis` of a column names the setting of the scenario that varies (`setting`) and its values
    (`ticks`). The papers print no values of such figures, so that there are none to compare with.
    """

    @property
    def needs(self) -> list[str]:
        """See `Experiment.needs`."""
        items = dict.fromkeys(column.items for column in self.table.columns if column.items)
        return list(items) or ["nothing: the crowds are simulated"]

    def cells(self, options: RunOptions) -> list[Cell]:
        """See `CellExperiment.cells`; every point of every curve is a cell."""
        columns = tuple(each for column in self.table.columns for each in _ticks(column))
        return cells_of(replace(self.table, columns=columns), options)

    def reasons(self, options: RunOptions) -> dict[str, str]:
        """See `Experiment.reasons`; the parts are curves."""
        cells = [cell for cell in self.cells(options) if cell.unavailable]
        return {cell.row.published: cell.unavailable for cell in cells}

    def write(self, records: Records, options: RunOptions, folder: Path) -> WrittenPages:
        """Write the curves as PNG and SVG, their numbers as Markdown and CSV."""
        cells = self.cells(options)
        points, shown = _points(cells, records), self.grids(cells, records)
        text = TablePage(self.table, self.command(options), self.file_name)
        body = self._body(text, shown, cells, records, options)
        files = [
            self.write_page(folder, options, text.about(), body),
            self.download(cells, records, folder),
        ]
        drawn = pages.write_figure(self.draw(points), folder / self.file_name) if points else []
        return WrittenPages([*files, *drawn], points, grids=shown)

    def grids(self, cells: list[Cell], records: Records) -> list[Grid]:
        """A grid for each panel: methods by ticks."""
        return [_panel_grid(column, cells, records) for column in self.table.columns]

    def draw(self, points: list[dict[str, Any]]) -> Figure:
        """A panel for each column, a line for each method and protocol: mean and deviation."""
        panels = self.table.columns
        figure = new_figure(4.2 * 2, 3.1 * -(-len(panels) // 2) + 0.6, self.title)
        grid = figure.subplots(-(-len(panels) // 2), 2, squeeze=False, sharey=True)
        methods = list(dict.fromkeys(point["method"] for point in points))
        for axes, column in zip(grid.flat, panels, strict=False):
            panel = [point for point in points if point["panel"] == column.dataset]
            for number, method in enumerate(methods):
                for protocol, (line, marker) in _STYLES.items():
                    mine = [
                        each
                        for each in panel
                        if each["method"] == method and each["protocol"] == LABELS[protocol]
                    ]
                    if mine:
                        axes.errorbar(
                            [each["at"] for each in mine], [each["mean"] for each in mine],
                            yerr=[each["deviation"] or 0.0 for each in mine],
                            linestyle=line, color=f"C{number}", marker=marker, markersize=3,
                            linewidth=1.2, capsize=2,
                        )  # fmt: skip
                axes.plot([], [], color=f"C{number}", label=method)
            title = column.dataset.removeprefix("simulated/synthetic/")
            axes.set_title(title.removeprefix("cifar10/"), fontsize=9)
            axes.set_xlabel(str(column.axis.get("name", "")), fontsize=8)
            axes.set_ylim(0, 100)
            axes.grid(alpha=0.3)
        for axes in grid[:, 0]:
            axes.set_ylabel("test accuracy, % (solid: as published, dashed: ours)", fontsize=7)
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncol=4,
                      fontsize=7)  # fmt: skip
        return figure

    def _body(
        self,
        text: TablePage,
        shown: list[Grid],
        cells: list[Cell],
        records: Records,
        options: RunOptions,
    ) -> list[str]:
        drawn = any(cell.mark != grids.NOT_RUN for grid in shown for line in grid.lines
                    for cell in line.cells if cell.text)  # fmt: skip
        lines = text.body(shown, cells, records, figure=drawn)
        lines += ["", *self.missing_lines(options)]
        recorded = {point["method"] for point in _points(cells, records)}
        ready = dict.fromkeys(cell.row.published for cell in cells if cell.runs)
        return [*lines, *(f"- {NOT_RUN}: {name}" for name in ready if name not in recorded)]


def _ticks(column: Column) -> Iterator[Column]:
    """A column for each tick of its axis."""
    for tick in column.axis["ticks"]:
        settings = {**column.settings, column.axis["setting"]: tick}
        yield replace(column, key=f"{column.dataset}={tick}", settings=settings,
                      axis={**column.axis, "at": tick})  # fmt: skip


def _points(cells: list[Cell], records: Records) -> list[dict[str, Any]]:
    found = [(cell, cell.result(name, records)) for cell in cells for name in _STYLES]
    return [_point(cell, result) for cell, result in found if result and result.scores]


def _point(cell: Cell, result: Result) -> dict[str, Any]:
    summary = summarize_runs(result.scores)
    return {
        "panel": cell.column.dataset,
        "method": cell.row.published,
        "protocol": LABELS[result.protocol],
        "ours": cell.row.ours,
        "at": cell.column.axis["at"],
        "mean": round(summary.mean, 3),
        "deviation": None if np.isnan(summary.deviation) else round(summary.deviation, 3),
        "runs": len(result.scores),
        "failed": len(result.errors),
        "selection": cell.selections[result.protocol],
    }


def _panel_grid(column: Column, cells: list[Cell], records: Records) -> Grid:
    mine = [cell for cell in cells if cell.column.dataset == column.dataset]
    lines = []
    for row in dict.fromkeys(cell.row.published for cell in mine):
        of_row = {cell.column.axis["at"]: cell for cell in mine if cell.row.published == row}
        for protocol in _STYLES:
            results = [
                of_row[tick].result(protocol, records) if tick in of_row else None
                for tick in column.axis["ticks"]
            ]
            if any(results):
                shown = [GridCell() if each is None else _shown(each) for each in results]
                lines.append(GridLine(row, LABELS[protocol], tuple(shown)))
    title = f"{column.dataset}: accuracy by {column.axis.get('name', '')}"
    ticks = tuple(str(tick) for tick in column.axis["ticks"])
    return Grid(title, "Method", (("", ticks),), tuple(lines))


def _shown(result: Result) -> GridCell:
    if not result.scores:
        return result.grid_cell
    summary = summarize_runs(result.scores)
    return GridCell(pages.mean_and_deviation(summary.mean, summary.deviation, 1))
