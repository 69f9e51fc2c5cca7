"""A figure whose points are runs, as those of a table: accuracy against a setting of the crowd."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from manyhands.evaluation import summarize_runs
from manyhands.experiments.cells import Cell, cells_of, tasks_of
from manyhands.experiments.experiment import Experiment, Request, Written
from manyhands.experiments.page import RULE, markdown_notes, scores_in, selection_of
from manyhands.experiments.published import Column, PublishedTable
from manyhands.experiments.records import NOT_RUN, RecordStore
from manyhands.experiments.tasks import Task
from manyhands.experiments.writing import command_of, markdown_table, put, put_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class CurveExperiment(Experiment):
    """Curves of a paper: each of the table's columns is a panel with an axis of ticks.

    The axis names the setting of the scenario that is swept (`setting`) and its `ticks`.
    """

    table: PublishedTable

    def __post_init__(self) -> None:
        for name in ("name", "paper", "title"):
            object.__setattr__(self, name, getattr(self.table, name))

    @property
    def needs(self) -> list[str]:
        """See `Experiment.needs`."""
        return ["nothing: the crowds are simulated"]

    def cells(self, request: Request) -> list[Cell]:
        """Every point of every curve."""
        columns = tuple(each for column in self.table.columns for each in _ticks(column))
        return cells_of(replace(self.table, columns=columns), request)

    def tasks(self, request: Request) -> list[Task]:
        """See `Experiment.tasks`."""
        return list(tasks_of(self.cells(request)))

    def missing(self, request: Request) -> list[str]:
        """See `Experiment.missing`."""
        reasons = {cell.row.published: cell.missing for cell in self.cells(request) if cell.missing}
        return [f"{name}: {reason}" for name, reason in reasons.items()]

    def write(self, store: RecordStore, request: Request, folder: Path) -> Written:
        """The curves as PNG and SVG, their numbers as Markdown."""
        points = _points(self.cells(request), store)
        path = folder / self.file_name
        page = put(folder / f"{self.file_name}.md", self._page(points, request))
        drawn = put_figure(self.draw(points), path) if points else []
        return Written([page, *drawn], points, frozenset({"failed", "ours", "selection"}))

    def draw(self, points: list[dict[str, Any]]) -> "Figure":
        """A panel for each column, a line for each method: mean and deviation over the runs."""
        from manyhands.experiments.figures.drawing import new_figure

        panels = self.table.columns
        figure = new_figure(4.2 * 2, 3.1 * -(-len(panels) // 2) + 0.6, self.title)
        grid = figure.subplots(-(-len(panels) // 2), 2, squeeze=False, sharey=True)
        for axes, column in zip(grid.flat, panels, strict=False):
            here = [point for point in points if point["panel"] == column.dataset]
            for number, method in enumerate(dict.fromkeys(point["method"] for point in points)):
                _line(axes, [each for each in here if each["method"] == method], f"C{number}")
            axes.set_title(column.dataset.removeprefix("simulated/synthetic/"), fontsize=9)
            axes.set_xlabel(str(column.axis.get("name", "")), fontsize=8)
            axes.set_ylim(0, 100)
            axes.grid(alpha=0.3)
        for axes in grid[:, 0]:
            axes.set_ylabel("test accuracy, %", fontsize=8)
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncol=4,
                      fontsize=7)  # fmt: skip
        return figure

    def _page(self, points: list[dict[str, Any]], request: Request) -> str:
        lines = [f"# {self.name}: {self.title}", "", f"{self.paper}; {self.table.source}.", ""]
        lines += [f"*Published selection*: {self.table.selection}", "", f"*Ours*: {RULE}.", ""]
        lines += [f"```\n{command_of(self.name, request)}\n```", ""]
        for column in self.table.columns:
            lines += _panel_page(column, [p for p in points if p["panel"] == column.dataset])
        lines += [f"![{self.title}]({self.file_name}.png)", ""] if points else []
        lines += [f"- missing: {line}" for line in self.missing(request)]
        there = {point["method"] for point in points}
        ready = dict.fromkeys(cell.row.published for cell in self.cells(request) if cell.tasks)
        lines += [f"- {NOT_RUN}: {name}" for name in ready if name not in there]
        return "\n".join([*lines, *markdown_notes(self.table)]) + "\n"


def _line(axes: "Axes", points: list[dict[str, Any]], color: str) -> None:
    """Mean and deviation of one method; what the paper does not have is dashed."""
    if points:
        axes.errorbar(
            [each["at"] for each in points],
            [each["mean"] for each in points],
            yerr=[each["deviation"] or 0.0 for each in points],
            linestyle="--" if points[0]["ours"] else "-",
            marker="o", markersize=3, linewidth=1.2, capsize=2, color=color,
            label=points[0]["method"],
        )  # fmt: skip


def _ticks(column: Column) -> Iterator[Column]:
    """A column for each tick of its axis."""
    for tick in column.axis["ticks"]:
        settings = {**column.settings, column.axis["setting"]: tick}
        yield replace(column, key=f"{column.dataset}={tick}", settings=settings,
                      axis={**column.axis, "at": tick})  # fmt: skip


def _points(cells: list[Cell], store: RecordStore) -> list[dict[str, Any]]:
    points = []
    for cell in cells:
        made = [record for task in cell.tasks if (record := store.get(task.key)) is not None]
        scores = scores_in(made, cell)
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
                    "failed": sum("error" in record for record in made),
                    "selection": selection_of(cell),
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
    return [title, "", *markdown_table(header, rows), ""]


def _shown(point: dict[str, Any] | None) -> str:
    if point is None:
        return "-"
    spread = "" if point["deviation"] is None else f" ± {point['deviation']:.1f}"
    lost = f" ({point['failed']} failed)" if point["failed"] else ""
    return f"{point['mean']:.1f}{spread}{lost}"
