"""Figures of Chen et al. 2020 (SpeeLFC)."""

from collections.abc import Mapping

import numpy as np

from manyhands.experiments import drawing
from manyhands.experiments.data import ExperimentData
from manyhands.experiments.figure import Content, FigureExperiment, Settings, corpus_panels
from manyhands.experiments.figures import confusions
from manyhands.experiments.figures.confusions import CROWD_LAYER
from manyhands.experiments.measures import accuracies_of_annotators
from manyhands.experiments.published import published_figures

_SHOWN = 6  # annotators
_OURS = "speelfc"
_WEIGHTS = "crowd layer, weights"


def collect_figure_4(data: ExperimentData, seed: int, settings: Settings) -> Content:
    """The number of labels of each annotator, and the share of them that are right."""
    labels_a = data.trial.annotations.labels_per_annotator
    accuracy_a = accuracies_of_annotators(data.trial)
    return {"n_labels": labels_a[labels_a > 0], "accuracy": accuracy_a[np.isfinite(accuracy_a)]}


def draw_figure_4(contents: Mapping[str, Content]) -> drawing.Figure:
    """A box for each corpus: of the number of labels, and of the accuracies."""
    figure = drawing.new_figure(7.6, 4.2, published_figures()["p1/figure-4"].title)
    left, right = figure.subplots(1, 2)
    names = [f"{key}\n{len(content['n_labels'])} annotators" for key, content in contents.items()]
    boxes(left, [content["n_labels"] for content in contents.values()], names)
    left.set_yscale("log")
    drawing.tidy(left, across="", up="labels of an annotator (log scale)", title="(a) labels")
    boxes(right, [content["accuracy"] for content in contents.values()], names)
    right.set_ylim(-0.03, 1.03)
    drawing.tidy(right, across="", up="share of an annotator's labels that are right",
                 title="(b) accuracy")  # fmt: skip
    return figure


def boxes(axes: drawing.Axes, values: list[list[float]], names: list[str]) -> None:
    """Box plots with whiskers at 1.5 interquartile ranges; every value is a dot."""
    soft, ink = {"color": drawing.SOFT}, {"color": drawing.INK, "linewidth": 1.5}
    axes.boxplot(values, tick_labels=names, widths=0.5, showfliers=False, medianprops=ink,
                 boxprops=soft, whiskerprops=soft, capprops=soft)  # fmt: skip
    for place, one in enumerate(values, 1):
        # Offsets by the golden ratio keep neighbouring dots apart without random numbers.
        offset = np.arange(len(one)) * 0.618034 % 1.0 - 0.5
        axes.plot(place + 0.4 * offset, one, "o", color=drawing.BLUE, alpha=0.35, markersize=3,
                  markeredgewidth=0)  # fmt: skip


def draw_figure_5(contents: Mapping[str, Content]) -> drawing.Figure:
    """Three matrices for each annotator, with their numbers."""
    ((key, content),) = contents.items()
    weight_akl = np.array(content["weights"][CROWD_LAYER])
    n_negative = int((weight_akl < 0).any(axis=(1, 2)).sum())
    grid = drawing.ConfusionGrid(
        {"real": content["true"], "SpeeLFC": content["learnt"][_OURS], _WEIGHTS: weight_akl},
        confusions.titles_of(content),
        drawing.class_names(key, content["classes"]),
        signed=[_WEIGHTS],
        numbers=".2f",
    )
    return grid.figure(
        f"Real confusions, those of SpeeLFC and the weights of the crowd layer, {key}; "
        f"row = true class (the paper's are transposed)\n{_difference(content)}; "
        f"{n_negative} of {len(weight_akl)} matrices of the crowd layer have negative entries"
    )


def draw_figure_6(contents: Mapping[str, Content]) -> drawing.Figure:
    """Pairs of heat maps: real above, learnt below."""
    ((key, content),) = contents.items()
    learnt = content["learnt"][_OURS]
    columns, names = (
        confusions.titles_of(content, learnt),
        drawing.class_names(key, content["classes"]),
    )
    grid = drawing.ConfusionGrid({"real": content["true"], "SpeeLFC": learnt}, columns, names)
    return grid.figure(
        f"Real confusions and those of SpeeLFC, {key}; row = true class "
        f"(the paper's are transposed)\n{_difference(content)} (r: correlation of the two)"
    )


def _difference(content: Content) -> str:
    difference_akl = np.abs(np.subtract(content["learnt"][_OURS], content["true"]))
    return f"SpeeLFC is {difference_akl.mean():.2f} off on average"


_FIGURE_4 = corpus_panels("sentiment", "music")
_FIGURE_5 = corpus_panels(
    "sentiment", settings={"annotators": _SHOWN, "methods": {_OURS: {}, CROWD_LAYER: {}}}
)
_FIGURE_6 = corpus_panels("music", settings={"annotators": _SHOWN, "methods": {_OURS: {}}})

P1_FIGURES = (
    FigureExperiment("p1/figure-4", _FIGURE_4, collect_figure_4, draw_figure_4),
    FigureExperiment(
        "p1/figure-5",
        _FIGURE_5,
        confusions.collect_confusions,
        draw_figure_5,
        confusions.methods_as_published,
    ),
    FigureExperiment(
        "p1/figure-6",
        _FIGURE_6,
        confusions.collect_confusions,
        draw_figure_6,
        confusions.methods_as_published,
    ),
)
