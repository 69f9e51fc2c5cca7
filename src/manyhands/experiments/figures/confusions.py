"""True confusions of a crowd beside those that methods learnt, above all CoNAL and crowd layers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from manyhands.annotations import Annotations
from manyhands.core.arrays import Codes, Floats
from manyhands.estimators import CrowdClassifier
from manyhands.evaluation import accuracy_score, js_divergence, normalize_counts
from manyhands.experiments import drawing
from manyhands.experiments.data import ExperimentData
from manyhands.experiments.figure import Content, Panel, Settings
from manyhands.experiments.measures import true_counts
from manyhands.experiments.protocols import Protocol
from manyhands.experiments.runs import fit_method
from manyhands.noise import CoNAL, CrowdLayer

CROWD_LAYER = "crowd-layer-mw"
# Initialised as published, all matrices at the identity; epochs and rates are this library's.
# The library's own initialisation, from a consensus with a prior around it, was tried on the crowds
# of figure 7 and gave matrices farther from the true ones. This choice was made with the truth.
CONAL_FROM_IDENTITY: dict[str, dict[str, Any]] = {
    "noise": {"prior_precision": 0.0},
    "training": {"init": "own"},
}
_SIMULATED, _REAL = 3, 5  # annotators shown


def most_active(annotations: Annotations, n_shown: int) -> Codes:
    """The codes of the annotators with the most labels, most first."""
    return np.argsort(-annotations.labels_per_annotator, kind="stable")[:n_shown].astype(np.int32)


def collect_confusions(data: ExperimentData, seed: int, settings: Settings) -> Content:
    """True and learnt confusions of the annotators with the most labels.

    `settings` holds the number of `annotators` to show and `methods`, which maps a method to the
    settings of its run. `learnt` holds the estimated confusions of every method, shape
    (annotator, k, l); `weights` the raw W_a of a crowd layer.
    """
    trial = data.trial
    ann, who = trial.annotations, most_active(trial.annotations, settings["annotators"])
    models = {
        method: fit_method(trial, method, seed, run) for method, run in settings["methods"].items()
    }
    return {
        "annotators": ann.annotators[who].astype(str),
        "n_labels": ann.labels_per_annotator[who],
        "classes": ann.classes.astype(str),
        "true": normalize_counts(true_counts(trial)[who]),
        "learnt": {method: model.confusion_[who] for method, model in models.items()},
        "weights": {
            method: weights_of(model.noise_)[who]
            for method, model in models.items()
            if method == CROWD_LAYER
        },
    }


def methods_as_published(panel: Panel, protocol: Protocol) -> Settings:
    """The settings of `collect_confusions` by the protocol of the paper."""
    methods = {method: protocol.settings(panel.key, method) for method in panel.settings["methods"]}
    return {**panel.settings, "methods": methods}


def weights_of(noise: torch.nn.Module) -> Floats:
    """The W_a of a crowd layer, shape (a, k, l): row = true class, column = label."""
    assert isinstance(noise, CrowdLayer)
    assert noise.kind == "MW"
    weight_alk = noise.table.weight.detach().double().cpu().reshape(-1, *noise.table.shape)
    return np.asarray(weight_alk.numpy().transpose(0, 2, 1))


def titles_of(content: Content, learnt_akl: Any = None) -> list[str]:
    """A title for each annotator: name, number of labels, and correlation of true and learnt."""
    titles = [
        f"annotator {who}\n{n_labels} labels"
        for who, n_labels in zip(content["annotators"], content["n_labels"], strict=True)
    ]
    if learnt_akl is None:
        return titles
    return [
        f"{title}, {drawing.correlation_of(true_kl, learnt_kl)}"
        for title, true_kl, learnt_kl in zip(titles, content["true"], learnt_akl, strict=True)
    ]


def conal_of(model: CrowdClassifier) -> CoNAL:
    """The noise model of a model of the method "conal"."""
    assert isinstance(model.noise_, CoNAL)
    return model.noise_


def learnt_confusions(noise: CoNAL) -> tuple[Floats, Floats]:
    """The common confusion (k, l) and the annotators' (a, k, l): softmax of the rows of W."""
    with torch.no_grad():
        annotator = torch.arange(noise.n_annotators, device=noise.common.device)
        stacked_alk = torch.cat([noise.common.unsqueeze(0), noise.own(annotator)]).double().cpu()
        learnt_akl = stacked_alk.transpose(1, 2).softmax(dim=-1).numpy()
    return learnt_akl[0], learnt_akl[1:]


def collect_true_and_learnt(data: ExperimentData, seed: int, settings: Settings) -> Content:
    """The common confusion and those of the first annotators, true and learnt.

    `settings` holds the settings of a `run`, and optionally the `names` of the classes.
    """
    trial, crowd = data.trial, data.crowd
    model = fit_method(trial, "conal", seed, settings["run"])
    common_kl, own_akl = learnt_confusions(conal_of(model))
    true_ckl = np.concatenate([crowd.common_kl[None], crowd.individual_akl[:_SIMULATED]])
    learnt_ckl = np.concatenate([common_kl[None], own_akl[:_SIMULATED]])
    assert trial.test_truth is not None
    predicted_ik = model.predict_proba(trial.test_features)
    return {
        "classes": settings.get("names", trial.annotations.classes.astype(str)),
        "true": true_ckl,
        "learnt": learnt_ckl,
        "divergence": js_divergence(true_ckl, learnt_ckl).mean(axis=-1),
        "own_divergence": float(js_divergence(crowd.individual_akl, own_akl).mean()),
        "accuracy": accuracy_score(trial.test_truth, predicted_ik.argmax(axis=1)),
    }


def draw_true_and_learnt(
    title: str, contents: Mapping[str, Content], inches: float
) -> drawing.Figure:
    """A block of pairs per panel: true above, learnt below; panels side by side in twos."""
    n_rows = -(-len(contents) // 2)
    n_columns = min(len(contents), 2)
    figure = drawing.new_figure(inches * n_columns, 0.6 * inches * n_rows + 0.5, title)
    blocks = figure.subfigures(n_rows, n_columns, squeeze=False).flat
    for block, (key, content) in zip(blocks, contents.items(), strict=False):
        n_shown = len(content["true"]) - 1
        matrices = ["common", *(f"annotator {rank}" for rank in range(1, n_shown + 1))]
        columns = [
            f"{name}\nJS {far:.3f}"
            for name, far in zip(matrices, content["divergence"], strict=True)
        ]
        rows = {kind: content[kind] for kind in ("true", "learnt")}
        drawing.ConfusionGrid(rows, columns, content["classes"]).draw(block)
        block.suptitle(
            f"{key}\ntest accuracy {100 * content['accuracy']:.1f} %, "
            f"mean JS of everybody's own confusions {content['own_divergence']:.3f}",
            fontsize=9,
        )
    return figure


def collect_learnt(data: ExperimentData, seed: int, settings: Settings) -> Content:
    """The learnt common confusion and those of the annotators with the most labels."""
    trial = data.trial
    ann, active = trial.annotations, most_active(trial.annotations, _REAL)
    model = fit_method(trial, "conal", seed, settings["run"])
    common_kl, own_akl = learnt_confusions(conal_of(model))
    counts_akl = true_counts(trial)[active]
    return {
        "classes": ann.classes.astype(str),
        "annotators": ann.annotators[active].astype(str),
        "n_labels": ann.labels_per_annotator[active],
        "accuracy": np.trace(counts_akl, axis1=1, axis2=2) / counts_akl.sum(axis=(1, 2)),
        "common": common_kl,
        "own": own_akl[active],
    }


def draw_learnt(title: str, contents: Mapping[str, Content]) -> drawing.Figure:
    """Six matrices: the common one first."""
    ((key, content),) = contents.items()
    figure = drawing.new_figure(9.6, 7.0, title)
    grid = figure.subplots(2, 3)
    names = drawing.class_names(key, content["classes"])
    titles = [f"common to all\nlargest: {_largest(content['common'], names)}"]
    titles += [
        f"annotator {rank} ({n_labels} labels, accuracy {share:.3f})\n"
        f"largest: {_largest(own_kl, names)}"
        for rank, (n_labels, share, own_kl) in enumerate(
            zip(content["n_labels"], content["accuracy"], content["own"], strict=True), 1
        )
    ]
    matrices = [content["common"], *content["own"]]
    for axes, matrix_kl, words in zip(grid.flat, matrices, titles, strict=False):
        image = drawing.heat_map(axes, matrix_kl, names=names, highest=1.0)
        axes.set_title(words, fontsize=8)
        axes.label_outer(remove_inner_ticks=True)
    for axes in grid[:, 0]:
        axes.set_ylabel("true class", fontsize=9)
    for axes in grid[-1]:
        axes.set_xlabel("label said", fontsize=9)
    for axes in list(grid.flat)[len(matrices) :]:
        axes.set_axis_off()
    drawing.colour_bar(figure, image, grid)
    return figure


def _largest(matrix_kl: Any, names: Sequence[str]) -> str:
    """The most probable mistake."""
    off_kl = np.array(matrix_kl, dtype=np.float64)
    np.fill_diagonal(off_kl, -1.0)
    row, column = divmod(int(off_kl.argmax()), off_kl.shape[1])
    return f"{names[row]} as {names[column]} {off_kl[row, column]:.2f}"
