"""True confusions of some annotators beside the confusions that methods learnt."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch.nn import Module

from manyhands.annotations import Annotations
from manyhands.core.arrays import Codes, Floats
from manyhands.evaluation import normalize_counts
from manyhands.experiments.data import ExperimentData
from manyhands.experiments.drawing import correlation_of
from manyhands.experiments.figure import Content
from manyhands.experiments.measures import true_counts
from manyhands.experiments.runs import fit_method
from manyhands.noise import CrowdLayer

CROWD_LAYER = "crowd-layer-mw"
# The crowd layer as published: weights are initialised at the identity without a prior, annotators
# have the learning rate of the network, and the last of a fixed number of epochs is used.
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


def collect_confusions(data: ExperimentData, seed: int, settings: Mapping[str, Any]) -> Content:
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


def weights_of(noise: Module) -> Floats:
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
        f"{title}, {correlation_of(true_kl, learnt_kl)}"
        for title, true_kl, learnt_kl in zip(titles, content["true"], learnt_akl, strict=True)
    ]


def difference_of(content: Content, method: str) -> float:
    """The mean absolute difference between learnt and true confusions."""
    return float(np.abs(np.subtract(content["learnt"][method], content["true"])).mean())
