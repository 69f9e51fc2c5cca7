"""Figures of Rodrigues and Pereira 2018 (crowd layer)."""

from collections.abc import Mapping

import numpy as np

from manyhands.estimators import CrowdRegressor
from manyhands.experiments import drawing
from manyhands.experiments.data import ExperimentData, ScenarioSource
from manyhands.experiments.figure import Content, FigureExperiment, Panel, Settings, corpus_panels
from manyhands.experiments.figures import confusions
from manyhands.experiments.figures.confusions import CROWD_LAYER
from manyhands.experiments.measures import biases_of_annotators
from manyhands.experiments.protocols import Protocol
from manyhands.experiments.published import published_figures
from manyhands.experiments.runs import estimator_settings, fit_method
from manyhands.experiments.text_runs import word_vectors

_MARKERS = "os^Dv"
_REGRESSION_LAYER = "crowd-layer-b"
_CATS_DOGS = {"training": {"network": "dogs-cats-cnn", "epochs": 30, "batch_size": 16}}
_AS_TABLE_2 = {"validation_fraction": 0.15, "patience": 20, "refit": True}
_TITLES = {
    "cifar10-cats-dogs": "cats and dogs of CIFAR-10, in place of Dogs vs. Cats",
    "dogs-cats": "Dogs vs. Cats",
}


def collect_figure_2(data: ExperimentData, seed: int, settings: Settings) -> Content:
    """The accuracy of each annotator on each class, and the diagonals of the learnt W_a."""
    model = fit_method(data.trial, CROWD_LAYER, seed, settings)
    right_ak = data.crowd.confusion.diagonal(axis1=1, axis2=2)
    weight_ak = confusions.weights_of(model.noise_).diagonal(axis1=1, axis2=2)
    return {
        "annotators": data.trial.annotations.annotators.astype(str),
        "sensitivity": {"true": right_ak[:, 1], "learnt": weight_ak[:, 1]},
        "specificity": {"true": right_ak[:, 0], "learnt": weight_ak[:, 0]},
    }


def draw_figure_2(contents: Mapping[str, Content]) -> drawing.Figure:
    """Two scatters for each panel: sensitivities and specificities."""
    figure = drawing.new_figure(
        8.6, 3.8 * len(contents) + 0.4, published_figures()["p0/figure-2"].title
    )
    grid = figure.subplots(len(contents), 2, squeeze=False, sharex=True, sharey="row")
    classes = {"sensitivity": ("dog", 1, drawing.BLUE), "specificity": ("cat", 0, drawing.ORANGE)}
    for axes_c, (key, content) in zip(grid, contents.items(), strict=True):
        for axes, (rate, (name, code, colour)) in zip(axes_c, classes.items(), strict=True):
            true, learnt = content[rate]["true"], content[rate]["learnt"]
            drawing.scatter_with_line(axes, true, learnt, colour=colour, markers=_MARKERS)
            across = f"true {rate}: P(says {name} | {name})"
            up, title = f"learnt weight W[{code}, {code}]", _TITLES.get(key, key)
            drawing.tidy(axes, across=across, up=up, title=title)
    annotators = next(iter(contents.values()))["annotators"]
    line = drawing.matplotlib_module("matplotlib.lines").Line2D
    marks = [
        line([], [], color=drawing.SOFT, linestyle="", marker=_MARKERS[index % len(_MARKERS)])
        for index in range(len(annotators))
    ]
    figure.legend(marks, [f"annotator {name}" for name in annotators], loc="outside lower center",
                  ncols=len(annotators), fontsize=8, frameon=False)  # fmt: skip
    return figure


def draw_figure_3(contents: Mapping[str, Content]) -> drawing.Figure:
    """True confusions above, the learnt weights of the same annotators below."""
    ((key, content),) = contents.items()
    weights = content["weights"][CROWD_LAYER]
    grid = drawing.ConfusionGrid(
        {"true confusion": content["true"], "learnt weights": weights},
        confusions.titles_of(content, weights),
        drawing.class_names(key, content["classes"]),
        relative=["learnt weights"],
    )
    title = published_figures()["p0/figure-3"].title
    return grid.figure(f"{title}, {key} (r: correlation of the two)")


def collect_figure_4(data: ExperimentData, seed: int, settings: Settings) -> Content:
    """The true bias of each annotator, and the bias b_a that the crowd layer learnt."""
    trial = data.trial
    model = CrowdRegressor(method=_REGRESSION_LAYER, word_vectors=word_vectors(data.folder),
                           seed=seed, progress=False, **settings)  # fmt: skip
    model.fit(trial.features, trial.annotations)
    learnt_a = np.asarray(model.annotators_frame()["bias"], dtype=np.float64)
    true_a = biases_of_annotators(trial)
    known = np.isfinite(true_a)
    return {"true": true_a[known], "learnt": learnt_a[known]}


def draw_figure_4(contents: Mapping[str, Content]) -> drawing.Figure:
    """Learnt biases against true ones, one point per annotator."""
    (content,) = contents.values()
    figure = drawing.new_figure(5.4, 4.6, published_figures()["p0/figure-4"].title)
    axes = figure.subplots()
    drawing.scatter_with_line(axes, content["true"], content["learnt"])
    drawing.tidy(axes, across="true bias: mean of label minus truth", up="learnt bias b",
                 title=f"{len(content['true'])} annotators")  # fmt: skip
    return figure


_FIGURE_2 = tuple(
    Panel(items, ScenarioSource("sensitivities", items=items), _CATS_DOGS, slow=True)
    for items in _TITLES
)
_FIGURE_3 = corpus_panels("labelme", settings={"annotators": 6, "methods": {CROWD_LAYER: {}}})
_FIGURE_4 = corpus_panels("moviereviews", settings=_AS_TABLE_2)


def _figure_2_as_published(panel: Panel, protocol: Protocol) -> Settings:
    return protocol.settings(panel.key, CROWD_LAYER)


def _figure_4_as_published(panel: Panel, protocol: Protocol) -> Settings:
    return estimator_settings(protocol.settings(panel.key, _REGRESSION_LAYER))


P0_FIGURES = (
    FigureExperiment(
        "p0/figure-2", _FIGURE_2, collect_figure_2, draw_figure_2, _figure_2_as_published
    ),
    FigureExperiment(
        "p0/figure-3",
        _FIGURE_3,
        confusions.collect_confusions,
        draw_figure_3,
        confusions.methods_as_published,
    ),
    FigureExperiment(
        "p0/figure-4", _FIGURE_4, collect_figure_4, draw_figure_4, _figure_4_as_published
    ),
)
