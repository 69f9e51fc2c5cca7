"""Mistakes that many annotators make: figure 1 of CoNAL."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from manyhands.core.arrays import Floats
from manyhands.experiments.figure import Content
from manyhands.experiments.figures.class_names import class_names
from manyhands.experiments.figures.drawing import INK, ORANGE, heat_map, new_figure
from manyhands.experiments.measures import true_counts
from manyhands.experiments.published import published_figures
from manyhands.experiments.sources import Material

_NAME = "p3/figure-1"
_NO_MISTAKE = "#dddddd"


def collect_shared_mistakes(material: Material, seed: int, settings: Mapping[str, Any]) -> Content:
    """The percentage of all annotators who took a class for another at least once."""
    ann = material.trial.annotations
    percent_kl = 100 * (true_counts(material.trial) > 0).mean(axis=0)
    np.fill_diagonal(percent_kl, np.nan)
    return {
        "classes": ann.classes.astype(str),
        "n_annotators": ann.n_annotators,
        "percent": percent_kl,
    }


def draw_shared_mistakes(contents: Mapping[str, Content]) -> Figure:
    """A matrix per corpus; the mistakes that the paper names have a frame."""
    width = 0.6 + 5.0 * len(contents)
    figure = new_figure(width, 5.6, "Percentage of annotators who made each mistake at least once")
    grid = figure.subplots(1, len(contents), squeeze=False)[0]
    for axes, (key, content) in zip(grid, contents.items(), strict=True):
        percent_kl = np.asarray(content["percent"], dtype=np.float64)
        names = class_names(key, content["classes"])
        heat_map(axes, percent_kl, names=names, highest=70.0)
        axes.set_facecolor(_NO_MISTAKE)
        _write_percentages(axes, percent_kl)
        notes = _frame_named(axes, percent_kl, list(names), key)
        axes.set_title("\n".join([f"{key}, {content['n_annotators']} annotators", *notes]),
                       fontsize=9)  # fmt: skip
        axes.set_xlabel("label said", fontsize=9)
        axes.set_ylabel("true class", fontsize=9)
    return figure


def _write_percentages(axes: Axes, percent_kl: Floats) -> None:
    for row, column in np.argwhere(np.isfinite(percent_kl)).tolist():
        share = percent_kl[row, column]
        axes.text(column, row, f"{share:.0f}", ha="center", va="center", fontsize=7,
                  color="white" if share > 40 else INK)  # fmt: skip


def _frame_named(axes: Axes, percent_kl: Floats, classes: list[str], key: str) -> list[str]:
    """Frame the mistakes that the paper names; a line on each."""
    lines = []
    for mistake, published in published_figures()[_NAME].numbers.get(key, {}).items():
        pair = mistake.split(" -> ")
        if not set(pair) <= set(classes):
            continue
        row, column = (classes.index(name) for name in pair)
        axes.add_patch(
            Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=ORANGE, linewidth=2)
        )
        lines.append(f"{pair[0]} as {pair[1]}: {percent_kl[row, column]:.1f} %, "
                     f"published {published:.1f} %")  # fmt: skip
    return lines
