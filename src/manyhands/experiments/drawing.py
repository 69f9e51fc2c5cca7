"""What several figures share. matplotlib is imported only when a figure is drawn."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from manyhands.core.drawing import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    RED,
    SOFT,
    Axes,
    AxesImage,
    heat_map,
    label,
    matplotlib_module,
    tidy,
)

if TYPE_CHECKING:
    import matplotlib.figure

Figure: TypeAlias = "matplotlib.figure.Figure"
FigureBase: TypeAlias = "matplotlib.figure.FigureBase"

__all__ = [
    "BLUE",
    "GREEN",
    "INK",
    "ORANGE",
    "RED",
    "SOFT",
    "Axes",
    "AxesImage",
    "ConfusionGrid",
    "Figure",
    "FigureBase",
    "class_names",
    "colour_bar",
    "correlation_of",
    "heat_map",
    "label",
    "matplotlib_module",
    "new_figure",
    "scatter_with_line",
    "tidy",
]

_CLASS_NAMES = {
    "labelme": (
        "highway", "inside city", "tall building", "street", "forest", "coast", "mountain",
        "open country",
    ),
    "sentiment": ("negative", "positive"),
}  # fmt: skip


def class_names(dataset: str, classes: Sequence[str]) -> list[str]:
    """Names of the classes 0, 1 ... of a corpus whose files hold codes; others stay as they are.

    >>> class_names("sentiment", ["0", "1"])
    ['negative', 'positive']
    >>> class_names("music", ["jazz", "rock"])
    ['jazz', 'rock']
    """
    known = {str(code): name for code, name in enumerate(_CLASS_NAMES.get(dataset, ()))}
    return [known.get(name, name) for name in classes]


def new_figure(width: float, height: float, title: str) -> Figure:
    """An empty figure with a heading; sizes in inches."""
    make = matplotlib_module("matplotlib.figure").Figure
    figure: Figure = make(figsize=(width, height), layout="constrained")
    figure.suptitle(title, fontsize=11, color=INK)
    return figure


@dataclass(frozen=True)
class ConfusionGrid:
    """A grid of matrices: a kind such as true or learnt in each row, an annotator in each column.

    `rows` maps a kind to matrices of shape (column, k, l). Confusions are shaded from 0 to 1. Other
    weights are shaded up to the largest of their row: kinds in `relative` from the lowest, kinds in
    `signed` from 0 in two colours. `names` are those of the classes.
    `numbers` is the format of entries to write.
    """

    rows: Mapping[str, Any]
    columns: Sequence[str]
    names: Sequence[str] = ()
    signed: Collection[str] = ()
    relative: Collection[str] = ()
    numbers: str = ""

    def figure(self, title: str) -> Figure:
        """A figure that holds only the grid, as large as it needs."""
        written = 0.07 * max((len(name) for name in self.names), default=0)  # inches of a name
        width, height = 1.95 * len(self.columns) + 1.2, 1.95 * len(self.rows) + 1.0
        figure = new_figure(width + written, height + written, title)
        self.draw(figure)
        return figure

    def draw(self, home: FigureBase) -> None:
        """Draw the grid into a figure or a part of one."""
        grid = home.subplots(len(self.rows), len(self.columns), squeeze=False)
        for (kind, matrix_ckl), axes_c in zip(self.rows.items(), grid, strict=True):
            highest = 1.0
            if kind in self.signed or kind in self.relative:
                size_ckl = np.abs(matrix_ckl) if kind in self.signed else matrix_ckl
                highest = float(np.max(size_ckl))
            lowest = float(np.min(matrix_ckl)) if kind in self.relative else 0.0
            for axes, matrix_kl in zip(axes_c, matrix_ckl, strict=True):
                image = heat_map(axes, matrix_kl, names=self.names, highest=highest, lowest=lowest,
                                 numbers=self.numbers, signed=kind in self.signed)  # fmt: skip
                axes.label_outer(remove_inner_ticks=True)
            axes_c[0].set_ylabel(f"{kind}\n\ntrue class", fontsize=9)
            colour_bar(home, image, axes_c, fraction=0.03)
        for axes, column in zip(grid[0], self.columns, strict=True):
            axes.set_title(column, fontsize=9)
        for axes in grid[-1]:
            axes.set_xlabel("label said", fontsize=9)


def colour_bar(home: FigureBase, image: AxesImage, axes: Any, fraction: float = 0.02) -> None:
    """The scale of a heat map, beside the axes of an array."""
    beside = list(np.ravel(axes))
    home.colorbar(image, ax=beside, fraction=fraction, pad=0.01).ax.tick_params(labelsize=7)


def scatter_with_line(
    axes: Axes, across: Any, up: Any, *, colour: str = BLUE, markers: str = "o"
) -> None:
    """Points, their least-squares line, and their correlation in a corner.

    `markers` are used in turn, so that a point can be recognised in several axes.
    """
    x, y = np.asarray(across, dtype=np.float64), np.asarray(up, dtype=np.float64)
    for index, (one_x, one_y) in enumerate(zip(x, y, strict=True)):
        axes.plot(one_x, one_y, markers[index % len(markers)], color=colour, alpha=0.7,
                  markersize=7 if len(markers) > 1 else 4, markeredgewidth=0)  # fmt: skip
    if x.std() > 0:
        ends = np.array([x.min(), x.max()])
        slope = np.cov(x, y, bias=True)[0, 1] / x.var()
        axes.plot(ends, y.mean() + slope * (ends - x.mean()), color=SOFT, linewidth=1, zorder=0)
    axes.text(0.03, 0.97, correlation_of(x, y), transform=axes.transAxes, ha="left", va="top",
              color=INK)  # fmt: skip


def correlation_of(first: Any, second: Any) -> str:
    """The correlation as text; it is undefined if all values are equal.

    >>> correlation_of([1, 2, 3], [2, 4, 6]), correlation_of([1, 1], [2, 3])
    ('r = 1.00', 'r undefined')
    """
    x, y = np.ravel(first).astype(np.float64), np.ravel(second).astype(np.float64)
    if x.std() == 0 or y.std() == 0:
        return "r undefined"
    return f"r = {np.corrcoef(x, y)[0, 1]:.2f}"
