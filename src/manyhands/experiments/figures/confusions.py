"""True confusions of some annotators beside what methods learnt of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch.nn import Module

from manyhands.annotations import Annotations
from manyhands.core.arrays import Codes, Floats
from manyhands.evaluation import normalize_counts
from manyhands.experiments.figure import Content
from manyhands.experiments.figures.drawing import correlation_of
from manyhands.experiments.measures import true_counts
from manyhands.experiments.methods import fit_method
from manyhands.experiments.sources import Material
from manyhands.noise import CrowdLayer

# As the crowd layer was published: weights start at the identity and nothing pulls them back,
# annotators learn no faster than the network, and the last of a fixed number of epochs counts.
CROWD_LAYER_AS_PUBLISHED: dict[str, dict[str, Any]] = {
    "noise": {"prior_precision": 0.0},
    "training": {
        "init": "own",
        "epochs": 50,
        "warm_up": 0,
        "validation_fraction": 0.0,
        "noise_learning_rate": 1e-3,
    },
}


def most_active(annotations: Annotations, n_shown: int) -> Codes:
    """The codes of the annotators with the most labels, most first."""
    return np.argsort(-annotations.labels_per_annotator, kind="stable")[:n_shown].astype(np.int32)


def collect_confusions(material: Material, seed: int, settings: Mapping[str, Any]) -> Content:
    """Matrices of those with the most labels: true ones, and those of methods.

    `settings` has the number of `annotators` to show, and `methods`: the settings of a run by
    name of the method. Of every method there is the portrait in `learnt` (annotator, k, l), and of
    a crowd layer W_a too, as it is, in `weights`.
    """
    trial = material.trial
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
            if isinstance(model.noise_, CrowdLayer)
        },
    }


def weights_of(noise: Module) -> Floats:
    """The W_a of a crowd layer (a, k, l): row = true class, column = label said."""
    assert isinstance(noise, CrowdLayer)
    assert noise.kind == "MW"
    weight_alk = noise.table.weight.detach().double().cpu().reshape(-1, *noise.table.shape)
    return np.asarray(weight_alk.numpy().transpose(0, 2, 1))


def titles_of(content: Content, found_akl: Any = None) -> list[str]:
    """A title for each annotator: name, number of labels, and how true and found correlate."""
    titles = [
        f"annotator {who}\n{n_labels} labels"
        for who, n_labels in zip(content["annotators"], content["n_labels"], strict=True)
    ]
    if found_akl is None:
        return titles
    return [
        f"{title}, {correlation_of(true_kl, found_kl)}"
        for title, true_kl, found_kl in zip(titles, content["true"], found_akl, strict=True)
    ]


def difference_of(content: Content, method: str) -> float:
    """How far learnt confusions are from the true ones: the mean absolute difference of cells."""
    return float(np.abs(np.subtract(content["learnt"][method], content["true"])).mean())
