"""Figures of the softmax-CrowdLayer with sharpness-aware minimisation (LeWiDi)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import norm

from manyhands.core.arrays import Floats
from manyhands.experiments import drawing
from manyhands.experiments.data import ExperimentData
from manyhands.experiments.figure import Content, FigureExperiment, Settings, corpus_panels
from manyhands.experiments.published import published_figures

_POINTS = 201  # of a density
_NARROWEST = 0.01  # width of a kernel, if all values are equal
_VISIBLE = 0.005  # of the highest density
_CORPORA = ("cifar10", "labelme", "gimpel-pos", "pdis")


def collect_figure_2(data: ExperimentData, seed: int, settings: Settings) -> Content:
    """Densities over annotators: of log10 of the number of labels, and of each class's share."""
    ann = data.trial.annotations
    counts_al = np.zeros((ann.n_annotators, ann.n_classes))
    np.add.at(counts_al, (ann.annotator, ann.label), 1.0)
    total_a = counts_al.sum(axis=1)
    share_al = counts_al[total_a > 0] / total_a[total_a > 0, None]
    log_labels = np.log10(total_a[total_a > 0])
    width = kernel_width(log_labels)
    decades = np.linspace(log_labels.min() - 4 * width, log_labels.max() + 4 * width, _POINTS)
    shares = np.linspace(0.0, 1.0, _POINTS)
    return {
        "n_annotators": len(log_labels),
        "classes": ann.classes.astype(str),
        "log_labels": decades,
        "labels_density": kernel_density(log_labels, decades),
        "shares": shares,
        "share_density": [
            share_density(share_al[:, each], shares) for each in range(ann.n_classes)
        ],
    }


def kernel_width(values: Floats) -> float:
    """Scott's width of a normal kernel, n^(-1/5) standard deviations."""
    spread = values.std(ddof=1) if len(values) > 1 else 0.0
    return float(max(spread * len(values) ** -0.2, _NARROWEST))


def kernel_density(values: Floats, places: Floats) -> Floats:
    """The density of values at some places, with normal kernels."""
    width = kernel_width(values)
    return np.array([norm.pdf(place, values, width).mean() for place in places])


def share_density(values: Floats, places: Floats) -> Floats:
    """The density of values in 0..1; kernel mass beyond an end is reflected.

    >>> middles = np.arange(0.005, 1.0, 0.01)
    >>> print(f"{share_density(np.array([0.0, 0.1, 0.2]), middles).mean():.2f}")
    1.00
    """
    return (
        kernel_density(values, places)
        + kernel_density(values, -places)
        + kernel_density(values, 2.0 - places)
    )


def draw_figure_2(contents: Mapping[str, Content]) -> drawing.Figure:
    """A column for each corpus: the number of labels above, the shares of the classes below."""
    heading = f"{published_figures()['p2/figure-2'].title} (kernel densities over annotators)"
    figure = drawing.new_figure(4.6 * len(contents) + 0.4, 7.4, heading)
    grid = figure.subplots(2, len(contents), squeeze=False)
    for (above, below), (key, content) in zip(grid.T, contents.items(), strict=True):
        labels = 10.0 ** np.array(content["log_labels"])
        above.fill_between(
            labels, content["labels_density"], color=drawing.BLUE, alpha=0.3, linewidth=0
        )
        above.plot(labels, content["labels_density"], color=drawing.BLUE)
        _plain_log_scale(above)
        above.set_ylim(bottom=0)
        above.set_xlim(*_visible(labels, content["labels_density"]))
        drawing.tidy(above, across="labels that an annotator gave (log scale)",
                     up="annotators, density per decade",
                     title=f"{key}: {content['n_annotators']} annotators")  # fmt: skip
        for name, density, colour in _coloured(key, content):
            below.plot(content["shares"], density, label=name, color=colour, linewidth=1.2)
        below.set_ylim(bottom=0)
        below.set_xlim(0.0, _visible(content["shares"], content["share_density"])[1])
        below.legend(fontsize=7, frameon=False, title="class", title_fontsize=8)
        drawing.tidy(below, across="share of an annotator's labels that are of the class",
                     up="annotators, density")  # fmt: skip
    return figure


def _plain_log_scale(axes: drawing.Axes) -> None:
    ticker = drawing.matplotlib_module("matplotlib.ticker")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())


def _visible(places: Any, densities: Any) -> tuple[float, float]:
    """The range in which some curve is visibly above 0."""
    density_cp = np.atleast_2d(densities)
    visible = np.flatnonzero((density_cp > _VISIBLE * density_cp.max()).any(axis=0))
    return float(places[visible[0]]), float(places[visible[-1]])


def _coloured(key: str, content: Content) -> list[tuple[str, list[float], Any]]:
    names = drawing.class_names(key, content["classes"])
    palette = drawing.matplotlib_module("matplotlib").colormaps[
        "tab10" if len(names) <= 10 else "tab20"
    ]
    colours = palette(range(len(names)))
    return list(zip(names, content["share_density"], colours, strict=True))


P2_FIGURES = (
    FigureExperiment("p2/figure-2", corpus_panels(*_CORPORA), collect_figure_2, draw_figure_2),
)
