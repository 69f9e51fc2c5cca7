"""Figures of Chu, Ma and Wang 2021 (CoNAL)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.special import entr
from scipy.stats import spearmanr

from manyhands.core.arrays import Floats
from manyhands.datasets.cifar10 import CLASSES
from manyhands.engine.batches import CrowdData
from manyhands.estimators import CrowdClassifier
from manyhands.evaluation import normalize_counts
from manyhands.experiments import drawing
from manyhands.experiments.data import ExperimentData, ScenarioSource
from manyhands.experiments.figure import (
    Content,
    FigureExperiment,
    Panel,
    Settings,
    corpus_panels,
    run_as_published,
)
from manyhands.experiments.figures import confusions
from manyhands.experiments.figures.confusions import CONAL_FROM_IDENTITY
from manyhands.experiments.figures.p3_theorem_1 import collect_bound, draw_bound
from manyhands.experiments.measures import true_counts
from manyhands.experiments.published import published_figures
from manyhands.experiments.runs import fit_method
from manyhands.selection import Trial

_PATTERNS = ("asymmetric", "symmetric")
# The paper sets the strength of own mistakes to 0.7, but calls these annotators "of high quality".
# Both readings are shown: a probability of 0.7 to be wrong, and of 0.7 to be right.
_OWN_MISTAKES = (0.3, 0.7)
_COMMON = {"common_strength": 0.7, "common_share": 0.5}
# The similar class of each class of CIFAR-10. The paper names bird and airplane, not the others.
_PARTNERS = (2, 9, 0, 5, 7, 3, 8, 4, 6, 1)
_NO_MISTAKE = "#dddddd"
_ITEMS_AT_ONCE = 4096


def collect_shared_mistakes(data: ExperimentData, seed: int, settings: Settings) -> Content:
    """The percentage of all annotators who made each mistake at least once."""
    ann = data.trial.annotations
    percent_kl = 100 * (true_counts(data.trial) > 0).mean(axis=0)
    np.fill_diagonal(percent_kl, np.nan)
    return {
        "classes": ann.classes.astype(str),
        "n_annotators": ann.n_annotators,
        "percent": percent_kl,
    }


def draw_shared_mistakes(contents: Mapping[str, Content]) -> drawing.Figure:
    """A matrix per corpus; the mistakes named in the paper are framed."""
    width = 0.6 + 5.0 * len(contents)
    figure = drawing.new_figure(
        width, 5.6, "Percentage of annotators who made each mistake at least once"
    )
    grid = figure.subplots(1, len(contents), squeeze=False)[0]
    for axes, (key, content) in zip(grid, contents.items(), strict=True):
        percent_kl = np.asarray(content["percent"], dtype=np.float64)
        names = drawing.class_names(key, content["classes"])
        drawing.heat_map(axes, percent_kl, names=names, highest=70.0, numbers=".0f", dark=40 / 70)
        axes.set_facecolor(_NO_MISTAKE)
        notes = _frame_named(axes, percent_kl, list(names), key)
        title = "\n".join([f"{key}, {content['n_annotators']} annotators", *notes])
        drawing.label(axes, across="label said", up="true class", title=title)
    return figure


def _frame_named(axes: drawing.Axes, percent_kl: Floats, classes: list[str], key: str) -> list[str]:
    """Frame the mistakes named in the paper; one line of text for each."""
    lines = []
    rectangle = drawing.matplotlib_module("matplotlib.patches").Rectangle
    for mistake, published in published_figures()["p3/figure-1"].numbers.get(key, {}).items():
        pair = mistake.split(" -> ")
        if not set(pair) <= set(classes):
            continue
        row, column = (classes.index(name) for name in pair)
        axes.add_patch(
            rectangle(
                (column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=drawing.ORANGE, linewidth=2
            )
        )
        lines.append(f"{pair[0]} as {pair[1]}: {percent_kl[row, column]:.1f} %, "
                     f"published {published:.1f} %")  # fmt: skip
    return lines


def collect_omega_ranks(data: ExperimentData, seed: int, settings: Settings) -> Content:
    """Class frequencies among the half of the items with the highest mean omega, and the rest."""
    trial = data.trial
    assert trial.truth is not None
    n_classes = trial.annotations.n_classes
    model = fit_method(trial, "conal", seed, settings["run"])
    omega_i = mean_omega(trial, model)
    labelled = np.flatnonzero(trial.annotations.labels_per_item > 0)
    order = labelled[np.argsort(-omega_i[labelled], kind="stable")]
    highest, lowest = np.split(order, [len(order) // 2])
    pooled_kl = normalize_counts(true_counts(trial).sum(axis=0))
    return {
        "classes": trial.annotations.classes.astype(str),
        "highest": np.bincount(trial.truth[highest], minlength=n_classes) / len(highest),
        "lowest": np.bincount(trial.truth[lowest], minlength=n_classes) / len(lowest),
        "entropy": entr(pooled_kl).sum(axis=1),
        "omega": [omega_i[part].mean() for part in (highest, lowest)],
    }


def mean_omega(trial: Trial, model: CrowdClassifier) -> Floats:
    """The mean omega of each item over its annotators; 0 for an item without labels."""
    ann, noise = trial.annotations, confusions.conal_of(model)
    scaled = model.encoder_.transform(trial.features)
    crowd = CrowdData(scaled, ann, noise.common.device)
    total_i = np.zeros(len(ann))
    with torch.no_grad():
        for batch in crowd.batches(np.arange(len(ann)), _ITEMS_AT_ONCE):
            given = batch.annotations
            omega_n = noise.gate(given.row, given.annotator, given.features).sigmoid()
            item_n = batch.items[given.row].cpu().numpy()
            np.add.at(total_i, item_n, omega_n.double().cpu().numpy())
    return np.asarray(total_i / np.maximum(ann.labels_per_item, 1))


def draw_omega_ranks(contents: Mapping[str, Content]) -> drawing.Figure:
    """Bars by class, ordered by the entropy of the labels of the class."""
    width = 1.0 + 5.2 * len(contents)
    figure = drawing.new_figure(width, 4.6, "True classes of the items by their mean omega")
    grid = figure.subplots(1, len(contents), squeeze=False)[0]
    for axes, (key, content) in zip(grid, contents.items(), strict=True):
        high_k, low_k, entropy_k = (
            np.asarray(content[name]) for name in ("highest", "lowest", "entropy")
        )
        order = np.argsort(entropy_k, kind="stable")
        place = np.arange(len(order))
        high, low = content["omega"]
        axes.bar(place - 0.2, high_k[order], 0.4, color=drawing.BLUE,
                 label=f"highest half of items, mean omega {high:.3f}")  # fmt: skip
        axes.bar(place + 0.2, low_k[order], 0.4, color=drawing.ORANGE,
                 label=f"lowest half of items, mean omega {low:.3f}")  # fmt: skip
        names = drawing.class_names(key, content["classes"])
        ticks = [f"{names[k]}  {entropy_k[k]:.3f}" for k in order]
        axes.set_xticks(place, ticks, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
        axes.set_ylim(0, 1.3 * max(high_k.max(), low_k.max()))
        axes.legend(fontsize=8, frameon=False, loc="upper left")
        axes.spines[["top", "right"]].set_visible(False)
        drawing.label(axes, across="class and entropy of its labels in nats, lowest first",
                      up="share of the half",
                      title=f"{key}: rank correlation of entropy with highest minus lowest "
                            f"{_correlation(entropy_k, high_k - low_k):+.2f}")  # fmt: skip
    return figure


def _correlation(first_k: Floats, second_k: Floats) -> float:
    if np.ptp(first_k) == 0 or np.ptp(second_k) == 0:
        return 0.0
    return float(spearmanr(first_k, second_k).statistic)


def _simulated(
    items: str | None, crowd: dict[str, Any], training: dict[str, Any]
) -> tuple[Panel, ...]:
    """A panel for each pattern and reading of the strength."""
    how = {**CONAL_FROM_IDENTITY, "training": {**CONAL_FROM_IDENTITY["training"], **training}}
    names = {} if items is None else {"names": list(CLASSES)}
    panels = []
    for own in _OWN_MISTAKES:
        for pattern in _PATTERNS:
            given = {**crowd, **_COMMON, "pattern": pattern, "individual_strength": own}
            if items is not None and pattern == "symmetric":
                given["partners"] = _PARTNERS
            source = ScenarioSource("common-noise", given, items)
            key = f"{pattern} common mistakes, own mistakes {own}"
            panels.append(Panel(key, source, {"run": how, **names}, slow=items is not None))
    return tuple(panels)


_CORPORA = ("labelme", "music")
_CIFAR10_TRAINING = {  # as in figure 4
    "network": "vgg16", "augment": ["flip", "crop"], "optimizer": "adam", "learning_rate": 1e-3,
    "schedule": "cosine", "epochs": 20, "batch_size": 256, "precision": "bf16",
    "validation_fraction": 0.0,
}  # fmt: skip
_BOUND = Panel(
    "simulated",
    ScenarioSource("common-noise", {**_COMMON, "n_items": 5000, "n_test": 0}),
    {
        "random": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
        "items": [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
    },
)

_MISTAKES = corpus_panels(*_CORPORA)
_IMAGES = _simulated("cifar10", {"n_classes": 10}, _CIFAR10_TRAINING)
_GAUSSIANS = _simulated(None, {}, {"batch_size": 256})
_LABELME, _MUSIC = corpus_panels(*_CORPORA, settings={"run": CONAL_FROM_IDENTITY})
_draw_images = partial(confusions.draw_true_and_learnt, "CoNAL on images of CIFAR-10", inches=9.0)
_draw_gaussians = partial(confusions.draw_true_and_learnt, "CoNAL on six Gaussians", inches=7.0)
_draw_labelme = partial(confusions.draw_learnt, "Confusions that CoNAL learns on LabelMe")
_draw_music = partial(confusions.draw_learnt, "Confusions that CoNAL learns on music genres")

_CONAL = run_as_published("conal")

P3_FIGURES = (
    FigureExperiment("p3/figure-1", _MISTAKES, collect_shared_mistakes, draw_shared_mistakes),
    FigureExperiment(
        "p3/figure-5", _IMAGES, confusions.collect_true_and_learnt, _draw_images, _CONAL
    ),
    FigureExperiment(
        "p3/figure-7", _GAUSSIANS, confusions.collect_true_and_learnt, _draw_gaussians, _CONAL
    ),
    FigureExperiment("p3/figure-8", (_LABELME,), confusions.collect_learnt, _draw_labelme, _CONAL),
    FigureExperiment("p3/figure-9", (_MUSIC,), confusions.collect_learnt, _draw_music, _CONAL),
    FigureExperiment(
        "p3/figure-10", (_LABELME, _MUSIC), collect_omega_ranks, draw_omega_ranks, _CONAL
    ),
    FigureExperiment("p3/theorem-1", (_BOUND,), collect_bound, draw_bound),
)
