"""Groups of annotations that the mixture finds, and what it makes of single annotators."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manyhands.core.arrays import AnyArray, Floats
from manyhands.evaluation import (
    confusion_entropy,
    identity_similarity,
    js_divergence,
    shares_of_counts,
)
from manyhands.experiments.figure import Content
from manyhands.experiments.figures.class_names import class_names
from manyhands.experiments.figures.drawing import confusion_figure, heat_map, new_figure
from manyhands.experiments.measures import true_counts
from manyhands.experiments.methods import fit_method
from manyhands.experiments.published import published_figures
from manyhands.experiments.sources import Material
from manyhands.noise import Mixture

_EXAMPLES = 3  # annotators of either kind
_NEVER_SEEN = "#dddddd"


def collect_groups(material: Material, seed: int, settings: Mapping[str, Any]) -> Content:
    """Confusion, prevalence, similarity to the identity and entropy of each group, largest first.

    `settings` has the `method`. The entropy is in nats.
    """
    model = fit_method(material.trial, settings["method"], seed, {})
    noise = model.noise_
    assert isinstance(noise, Mixture)
    share_m = noise.log_weights().detach().exp()[0].double().cpu().numpy()
    order = np.argsort(-share_m, kind="stable")
    group_mkl = noise.group_confusion().double().cpu().numpy()[order]
    return {
        "method": settings["method"],
        "classes": material.trial.annotations.classes.astype(str),
        "confusion": group_mkl,
        "prevalence": share_m[order],
        "identity_similarity": identity_similarity(group_mkl),
        "entropy": confusion_entropy(group_mkl) * np.log(group_mkl.shape[-1]),
    }


def draw_groups(contents: Mapping[str, Content]) -> Figure:
    """A matrix per group; the published numbers stand below ours."""
    ((key, content),) = contents.items()
    n_groups = len(content["confusion"])
    title = f"Groups of annotations on {key}, found by {content['method']}"
    figure = new_figure(3.2 * n_groups + 1.4, 4.8, title)
    grid = figure.subplots(1, n_groups, squeeze=False)[0]
    published = published_figures()["p4/figure-1"].numbers
    names = class_names(key, content["classes"])
    for rank, axes in enumerate(grid):
        image = heat_map(axes, content["confusion"][rank], names=names, highest=1.0)
        lines = [f"group {rank + 1}", f"here: {_in_words(content, rank)}"]
        if rank < len(published["prevalence"]):
            lines.append(f"published: {_in_words(published, rank)}")
        axes.set_title("\n".join(lines), fontsize=8)
        axes.set_xlabel("label said", fontsize=9)
        axes.label_outer(remove_inner_ticks=True)
    grid[0].set_ylabel("true class", fontsize=9)
    figure.colorbar(image, ax=list(grid), fraction=0.02, pad=0.01).ax.tick_params(labelsize=7)
    return figure


def _in_words(numbers: Mapping[str, Any], rank: int) -> str:
    return (
        f"{100 * numbers['prevalence'][rank]:.0f} %, identity "
        f"{numbers['identity_similarity'][rank]:.2f}, entropy {numbers['entropy'][rank]:.2f}"
    )


def collect_examples(material: Material, seed: int, settings: Mapping[str, Any]) -> Content:
    """True and estimated confusions: annotators best and worst estimated, and of all together.

    Of those with at least `least` labels. The divergence is over the classes that the annotator
    labelled; classes never labelled have no true row. All together are the labels pooled, and
    estimates weighted by the number of labels.
    """
    ann = material.trial.annotations
    model = fit_method(material.trial, settings["method"], seed, {})
    counts_akl = true_counts(material.trial)
    found_akl = model.confusion_
    far_a = annotator_divergence(found_akl, counts_akl)
    enough = np.flatnonzero(ann.labels_per_annotator >= settings["least"])
    who = extremes(far_a, enough)
    weight_a = ann.labels_per_annotator / ann.n_annotations
    pooled_1kl = counts_akl.sum(axis=0, keepdims=True)
    found_1kl = np.tensordot(weight_a, found_akl, axes=1)[None]
    counts_ckl = np.concatenate([counts_akl[who], pooled_1kl])
    found_ckl = np.concatenate([found_akl[who], found_1kl])
    true_ckl = shares_of_counts(counts_ckl)
    true_ckl[counts_ckl.sum(axis=-1) == 0] = np.nan
    return {
        "method": settings["method"],
        "least": settings["least"],
        "n_enough": len(enough),
        "classes": ann.classes.astype(str),
        "annotators": ann.annotators[who].astype(str),
        "n_labels": ann.labels_per_annotator[who],
        "true": true_ckl,
        "estimated": found_ckl,
        "divergence": [*far_a[who], *annotator_divergence(found_1kl, pooled_1kl)],
    }


def annotator_divergence(found_akl: Floats, counts_akl: Floats) -> Floats:
    """The mean JS divergence of the rows of classes that an annotator labelled."""
    seen_ak = counts_akl.sum(axis=-1) > 0
    far_ak = js_divergence(found_akl, shares_of_counts(counts_akl))
    return np.asarray((far_ak * seen_ak).sum(axis=1) / np.maximum(seen_ak.sum(axis=1), 1))


def extremes(far_a: Floats, among: AnyArray) -> AnyArray:
    """The nearest few first, then the farthest few, farthest last; nobody twice."""
    order = among[np.argsort(far_a[among], kind="stable")]
    few = min(_EXAMPLES, len(order) // 2)
    return np.concatenate([order[:few], order[len(order) - few :]])


def draw_examples(contents: Mapping[str, Content]) -> Figure:
    """Pairs of matrices: true above, estimated below."""
    ((key, content),) = contents.items()
    n_people = len(content["annotators"])
    kinds = ["good"] * (n_people // 2) + ["bad"] * (n_people - n_people // 2)
    columns = [
        f"{kind}: annotator {who}\n{n_labels} labels, JS {far:.3f}"
        for kind, who, n_labels, far in zip(
            kinds, content["annotators"], content["n_labels"], content["divergence"], strict=False
        )
    ]
    columns.append(f"all annotators\nJS {content['divergence'][-1]:.3f}")
    title = (
        f"Confusions on {key}, estimated by {content['method']}: best and worst of the "
        f"{content['n_enough']} annotators with {content['least']} labels or more"
    )
    rows = {kind: np.asarray(content[kind], dtype=np.float64) for kind in ("true", "estimated")}
    figure = confusion_figure(title, rows, columns, names=class_names(key, content["classes"]))
    for axes in figure.axes[: 2 * len(columns)]:
        axes.set_facecolor(_NEVER_SEEN)
    return figure
