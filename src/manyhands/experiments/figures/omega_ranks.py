"""Which classes' labels CoNAL traces to what is common: figure 10."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from scipy.special import entr
from scipy.stats import spearmanr

from manyhands.core.arrays import Floats
from manyhands.engine.batches import CrowdData
from manyhands.estimators import CrowdClassifier
from manyhands.estimators.features import as_inputs
from manyhands.evaluation import normalize_counts
from manyhands.experiments.figure import Content
from manyhands.experiments.figures.class_names import class_names
from manyhands.experiments.figures.drawing import BLUE, ORANGE, new_figure
from manyhands.experiments.measures import true_counts
from manyhands.experiments.methods import fit_method
from manyhands.experiments.sources import Material
from manyhands.noise import CoNAL
from manyhands.selection import Trial

_AT_ONCE = 4096  # items


def collect_omega_ranks(material: Material, seed: int, settings: Mapping[str, Any]) -> Content:
    """How frequent each class is in the halves of the items with the highest and lowest omega."""
    trial = material.trial
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
    """The mean omega of each item over the annotators who labelled it; 0 without labels."""
    ann, noise = trial.annotations, model.noise_
    assert isinstance(noise, CoNAL)
    inputs = as_inputs(trial.features)
    seen = inputs if model.scaling_ is None else model.scaling_.apply(inputs)
    crowd = CrowdData(seen, ann, noise.common.device)
    total_i = np.zeros(len(ann))
    with torch.no_grad():
        for batch in crowd.batches(np.arange(len(ann)), _AT_ONCE):
            said = batch.annotations
            omega_n = noise.gate(said.row, said.annotator, said.features).sigmoid()
            item_n = batch.items[said.row].cpu().numpy()
            np.add.at(total_i, item_n, omega_n.double().cpu().numpy())
    return np.asarray(total_i / np.maximum(ann.labels_per_item, 1))


def draw_omega_ranks(contents: Mapping[str, Content]) -> Figure:
    """Bars by class, in the order of the entropy of their labels."""
    width = 1.0 + 5.2 * len(contents)
    figure = new_figure(width, 4.6, "True classes of the items by their mean omega")
    grid = figure.subplots(1, len(contents), squeeze=False)[0]
    for axes, (key, content) in zip(grid, contents.items(), strict=True):
        high_k, low_k, entropy_k = (
            np.asarray(content[name]) for name in ("highest", "lowest", "entropy")
        )
        order = np.argsort(entropy_k, kind="stable")
        place = np.arange(len(order))
        high, low = content["omega"]
        axes.bar(place - 0.2, high_k[order], 0.4, color=BLUE,
                 label=f"highest half of items, mean omega {high:.3f}")  # fmt: skip
        axes.bar(place + 0.2, low_k[order], 0.4, color=ORANGE,
                 label=f"lowest half of items, mean omega {low:.3f}")  # fmt: skip
        names = class_names(key, content["classes"])
        ticks = [f"{names[k]}  {entropy_k[k]:.3f}" for k in order]
        axes.set_xticks(place, ticks, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
        axes.set_xlabel("class and entropy of its labels in nats, lowest first", fontsize=9)
        axes.set_ylabel("share of the half", fontsize=9)
        axes.set_ylim(0, 1.3 * max(high_k.max(), low_k.max()))
        axes.legend(fontsize=8, frameon=False, loc="upper left")
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_title(f"{key}: rank correlation of entropy with highest minus lowest "
                       f"{_correlation(entropy_k, high_k - low_k):+.2f}", fontsize=9)  # fmt: skip
    return figure


def _correlation(first_k: Floats, second_k: Floats) -> float:
    if np.ptp(first_k) == 0 or np.ptp(second_k) == 0:
        return 0.0
    return float(spearmanr(first_k, second_k).statistic)
