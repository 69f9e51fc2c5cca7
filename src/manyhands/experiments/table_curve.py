"""The figures of a published table drawn against a setting of its columns."""

from collections.abc import Sequence
from typing import Any

from manyhands.experiments.drawing import Figure, new_figure
from manyhands.experiments.protocols import OURS, PUBLISHED
from manyhands.experiments.published import PublishedTable
from manyhands.experiments.records import Records
from manyhands.experiments.results import Cell


def draw_curve(table: PublishedTable, cells: Sequence[Cell], records: Records) -> Figure:
    """A panel for each group of columns: published dashed, as published bold, ours thin."""
    curve, groups = table.layout.curve, table.layout.groups
    figure = new_figure(5.2 * len(groups), 4.6, table.title)
    panels = figure.subplots(1, len(groups), squeeze=False, sharey=True)[0]
    rows = [row for row in table.rows if not row.ours]
    for axes, group in zip(panels, groups, strict=True):
        for number, row in enumerate(rows):
            mine = [c for c in cells if c.row is row and c.column.key in group["columns"]]
            _draw_method(axes, mine, records, curve["setting"], f"C{number}", row.published)
        axes.set_xscale("log")
        axes.set_title(group["title"], fontsize=9)
        axes.set_xlabel(curve["name"], fontsize=8)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel(f"{curve['value']} (dashed: published, thin: ours)", fontsize=8)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncol=len(rows), fontsize=8)
    return figure


_LINES: dict[str, dict[str, Any]] = {
    PUBLISHED: {"linewidth": 2.0, "marker": "o", "markersize": 4},
    OURS: {"linewidth": 0.9, "marker": "s", "markersize": 3},
}


def _draw_method(
    axes: Any, cells: Sequence[Cell], records: Records, setting: str, color: str, name: str
) -> None:
    at = [cell.column.settings[setting] for cell in cells]
    dashed = [(x, c.value.mean) for x, c in zip(at, cells, strict=True) if c.value.mean is not None]
    axes.plot(*zip(*dashed, strict=True) if dashed else ([], []), "--", color=color, linewidth=1.0)
    axes.plot([], [], color=color, label=name)
    for protocol, style in _LINES.items():
        found = [(x, cell.result(protocol, records)) for x, cell in zip(at, cells, strict=True)]
        points = [(x, sum(r.scores) / len(r.scores)) for x, r in found if r and r.scores]
        if points:
            axes.plot(*zip(*points, strict=True), "-", color=color, **style)
