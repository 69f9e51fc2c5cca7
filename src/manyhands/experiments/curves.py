"""A figure whose points are means of runs: accuracy against a setting of a simulated crowd."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from manyhands.evaluation import summarize_runs
from manyhands.experiments import pages
from manyhands.experiments.drawing import Figure, new_figure
from manyhands.experiments.experiment import RunOptions, WrittenPages, found_records
from manyhands.experiments.published import Column
from manyhands.experiments.records import NOT_RUN, Records
from manyhands.experiments.tables import Cell, CellExperiment, cells_of


class CurveExperiment(CellExperiment):
    """Curves of a paper: each column of the table is a panel.

    The `axis` of a column names the setting of the scenario that varies (`setting`) and its values
    (`ticks`).
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
        """Write the curves as PNG and SVG, their numbers as Markdown."""
        points = _points(self.cells(options), records)
        page = self.write_page(folder, options, self.about(), self._body(points, options))
        drawn = pages.write_figure(self.draw(points), folder / self.file_name) if points else []
        return WrittenPages([page, *drawn], points, frozenset({"failed", "ours", "selection"}))

    def draw(self, points: list[dict[str, Any]]) -> Figure:
        """A panel for each column, a line for each method: mean and deviation over the runs."""
        panels = self.table.columns
        figure = new_figure(4.2 * 2, 3.1 * -(-len(panels) // 2) + 0.6, self.title)
        grid = figure.subplots(-(-len(panels) // 2), 2, squeeze=False, sharey=True)
        for axes, column in zip(grid.flat, panels, strict=False):
            panel = [point for point in points if point["panel"] == column.dataset]
            for number, method in enumerate(dict.fromkeys(point["method"] for point in points)):
                line = [each for each in panel if each["method"] == method]
                if line:  # dashed if the paper does not have it
                    axes.errorbar(
                        [each["at"] for each in line], [each["mean"] for each in line],
                        yerr=[each["deviation"] or 0.0 for each in line],
                        linestyle="--" if line[0]["ours"] else "-", color=f"C{number}",
                        marker="o", markersize=3, linewidth=1.2, capsize=2, label=method,
                    )  # fmt: skip
            title = column.dataset.removeprefix("simulated/synthetic/")
            axes.set_title(title.removeprefix("cifar10/"), fontsize=9)
            axes.set_xlabel(str(column.axis.get("name", "")), fontsize=8)
            axes.set_ylim(0, 100)
            axes.grid(alpha=0.3)
        for axes in grid[:, 0]:
            axes.set_ylabel("test accuracy, %", fontsize=8)
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncol=4,
                      fontsize=7)  # fmt: skip
        return figure

    def _body(self, points: list[dict[str, Any]], options: RunOptions) -> list[str]:
        lines = []
        for column in self.table.columns:
            lines += _panel_page(column, [p for p in points if p["panel"] == column.dataset])
        lines += [f"![{self.title}]({self.file_name}.png)", ""] if points else []
        lines += self.missing_lines(options)
        recorded = {point["method"] for point in points}
        ready = dict.fromkeys(cell.row.published for cell in self.cells(options) if cell.runs)
        lines += [f"- {NOT_RUN}: {name}" for name in ready if name not in recorded]
        return [*lines, *self.notes()]


def _ticks(column: Column) -> Iterator[Column]:
    """A column for each tick of its axis."""
    for tick in column.axis["ticks"]:
        settings = {**column.settings, column.axis["setting"]: tick}
        yield replace(column, key=f"{column.dataset}={tick}", settings=settings,
                      axis={**column.axis, "at": tick})  # fmt: skip


def _points(cells: list[Cell], records: Records) -> list[dict[str, Any]]:
    points = []
    for cell in cells:
        found = found_records(cell.runs, records)
        scores = cell.scores_in(found)
        if scores:
            summary = summarize_runs(scores)
            spread = None if np.isnan(summary.deviation) else round(summary.deviation, 3)
            points.append(
                {
                    "panel": cell.column.dataset,
                    "method": cell.row.published,
                    "ours": cell.row.ours,
                    "at": cell.column.axis["at"],
                    "mean": round(summary.mean, 3),
                    "deviation": spread,
                    "runs": len(scores),
                    "failed": sum("error" in record for record in found),
                    "selection": cell.selection,
                }
            )
    return points


def _panel_page(column: Column, points: list[dict[str, Any]]) -> list[str]:
    ticks = column.axis["ticks"]
    rows = []
    for method in dict.fromkeys(point["method"] for point in points):
        at = {point["at"]: point for point in points if point["method"] == method}
        some = next(iter(at.values()))
        shown = [_shown(at.get(tick)) for tick in ticks]
        rows.append([method, *shown, str(some["runs"]), some["selection"]])
    header = ["method", *(str(tick) for tick in ticks), "runs", "selection"]
    title = f"## {column.dataset}: accuracy by {column.axis.get('name', '')}"
    return [title, "", pages.markdown_table(header, rows), ""]


def _shown(point: dict[str, Any] | None) -> str:
    if point is None:
        return "-"
    failures = f" ({point['failed']} failed)" if point["failed"] else ""
    return pages.mean_and_deviation(point["mean"], point["deviation"], 1) + failures
