"""Figures of Mena and Nanculef 2019 (Crowd Mixture Model)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from manyhands.core.arrays import AnyArray, Floats
from manyhands.evaluation import js_divergence, normalize_counts
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
from manyhands.experiments.figures.confusions import CROWD_LAYER
from manyhands.experiments.figures.p4_costs import DENSE, collect_cost, draw_cost
from manyhands.experiments.measures import groups_of, true_counts
from manyhands.experiments.published import published_figures
from manyhands.experiments.runs import fit_method

MIXTURE = "mixture"
_LEAST = 20  # labels of an annotator who is shown
_CROWDS = (100, 500, 1500, 3500, 6000, 10000)
_EPOCHS = 5
_PLAIN = {"init": "own", "warm_up": 0, "batch_size": 64, "threads": 1}
_EXAMPLES = 3  # annotators of either kind
_NEVER_LABELLED = "#dddddd"


def collect_groups(data: ExperimentData, seed: int, settings: Settings) -> Content:
    """Confusion, prevalence, similarity to the identity and entropy of each group, largest first.

    `settings` holds the `method`, and settings of its `run` if they are not the defaults. The
    entropy is in nats.
    """
    model = fit_method(data.trial, settings["method"], seed, settings.get("run", {}))
    groups = groups_of(model.noise_)
    return {
        "method": settings["method"],
        "classes": data.trial.annotations.classes.astype(str),
        **{name.replace("-", "_"): value for name, value in groups.items()},
    }


def draw_groups(contents: Mapping[str, Content]) -> drawing.Figure:
    """A matrix per group; the published numbers are below ours."""
    ((key, content),) = contents.items()
    n_groups = len(content["confusion"])
    title = f"Groups of annotations on {key}, found by {content['method']}"
    figure = drawing.new_figure(3.2 * n_groups + 1.4, 4.8, title)
    grid = figure.subplots(1, n_groups, squeeze=False)[0]
    published = published_figures()["p4/figure-1"].numbers
    names = drawing.class_names(key, content["classes"])
    for rank, axes in enumerate(grid):
        image = drawing.heat_map(axes, content["confusion"][rank], names=names, highest=1.0)
        lines = [f"group {rank + 1}", f"here: {_in_words(content, rank)}"]
        if rank < len(published["prevalence"]):
            lines.append(f"published: {_in_words(published, rank)}")
        axes.set_title("\n".join(lines), fontsize=8)
        axes.set_xlabel("label said", fontsize=9)
        axes.label_outer(remove_inner_ticks=True)
    grid[0].set_ylabel("true class", fontsize=9)
    drawing.colour_bar(figure, image, grid)
    return figure


def _in_words(numbers: Mapping[str, Any], rank: int) -> str:
    return (
        f"{100 * numbers['prevalence'][rank]:.0f} %, identity "
        f"{numbers['identity_similarity'][rank]:.2f}, entropy {numbers['entropy'][rank]:.2f}"
    )


def collect_examples(data: ExperimentData, seed: int, settings: Settings) -> Content:
    """True and estimated confusions of the best and worst estimated annotators, and of all.

    Only annotators with at least `least` labels are shown. The divergence is over the classes that
    an annotator labelled; other classes have no true row. For all annotators together, labels are
    pooled and estimates are weighted by the number of labels.
    """
    ann = data.trial.annotations
    model = fit_method(data.trial, settings["method"], seed, settings.get("run", {}))
    counts_akl = true_counts(data.trial)
    estimated_akl = model.confusion_
    far_a = annotator_divergence(estimated_akl, counts_akl)
    enough = np.flatnonzero(ann.labels_per_annotator >= settings["least"])
    shown = extremes(far_a, enough)
    weight_a = ann.labels_per_annotator / ann.n_annotations
    pooled_1kl = counts_akl.sum(axis=0, keepdims=True)
    estimated_1kl = np.tensordot(weight_a, estimated_akl, axes=1)[None]
    counts_ckl = np.concatenate([counts_akl[shown], pooled_1kl])
    estimated_ckl = np.concatenate([estimated_akl[shown], estimated_1kl])
    true_ckl = normalize_counts(counts_ckl)
    true_ckl[counts_ckl.sum(axis=-1) == 0] = np.nan
    return {
        "method": settings["method"],
        "least": settings["least"],
        "n_enough": len(enough),
        "classes": ann.classes.astype(str),
        "annotators": ann.annotators[shown].astype(str),
        "n_labels": ann.labels_per_annotator[shown],
        "true": true_ckl,
        "estimated": estimated_ckl,
        "divergence": [*far_a[shown], *annotator_divergence(estimated_1kl, pooled_1kl)],
    }


def annotator_divergence(estimated_akl: Floats, counts_akl: Floats) -> Floats:
    """The mean JS divergence of the rows of classes that an annotator labelled."""
    seen_ak = counts_akl.sum(axis=-1) > 0
    far_ak = js_divergence(estimated_akl, normalize_counts(counts_akl))
    return np.asarray((far_ak * seen_ak).sum(axis=1) / np.maximum(seen_ak.sum(axis=1), 1))


def extremes(far_a: Floats, among: AnyArray) -> AnyArray:
    """The few with the smallest divergence, then those with the largest; no annotator twice."""
    order = among[np.argsort(far_a[among], kind="stable")]
    few = min(_EXAMPLES, len(order) // 2)
    return np.concatenate([order[:few], order[len(order) - few :]])


def draw_examples(contents: Mapping[str, Content]) -> drawing.Figure:
    """Pairs of matrices: true above, estimated below."""
    ((key, content),) = contents.items()
    n_shown = len(content["annotators"])
    kinds = ["good"] * (n_shown // 2) + ["bad"] * (n_shown - n_shown // 2)
    columns = [
        f"{kind}: annotator {name}\n{n_labels} labels, JS {far:.3f}"
        for kind, name, n_labels, far in zip(
            kinds, content["annotators"], content["n_labels"], content["divergence"], strict=False
        )
    ]
    columns.append(f"all annotators\nJS {content['divergence'][-1]:.3f}")
    title = (
        f"Confusions on {key}, estimated by {content['method']}: best and worst of the "
        f"{content['n_enough']} annotators with {content['least']} labels or more"
    )
    rows = {kind: np.asarray(content[kind], dtype=np.float64) for kind in ("true", "estimated")}
    names = drawing.class_names(key, content["classes"])
    figure = drawing.ConfusionGrid(rows, columns, names).figure(title)
    for axes in figure.axes[: 2 * len(columns)]:
        axes.set_facecolor(_NEVER_LABELLED)
    return figure


# Methods and the settings of their runs: alike, without a first aggregation.
_DESIGNS = {
    DENSE: {"batch_size": _PLAIN["batch_size"]},
    CROWD_LAYER: {"noise": {"prior_precision": 0.0}, "training": {**_PLAIN, "sparse": True}},
    MIXTURE: {"training": _PLAIN},
    "em": {"training": _PLAIN},
}
_COSTS = tuple(
    Panel(
        f"{n_annotators} annotators",
        ScenarioSource("perturbed-networks", {"n_annotators": n_annotators}),
        {"designs": _DESIGNS, "epochs": _EPOCHS},
    )
    for n_annotators in _CROWDS
)

_FIGURE_1 = corpus_panels("labelme", settings={"method": MIXTURE})
_FIGURE_2 = corpus_panels("labelme", settings={"method": MIXTURE, "least": _LEAST})

_AS_PUBLISHED = run_as_published(MIXTURE)

P4_FIGURES = (
    FigureExperiment("p4/figure-1", _FIGURE_1, collect_groups, draw_groups, _AS_PUBLISHED),
    FigureExperiment("p4/figure-2", _FIGURE_2, collect_examples, draw_examples, _AS_PUBLISHED),
    FigureExperiment("p4/figure-3", _COSTS, collect_cost, draw_cost),
)
