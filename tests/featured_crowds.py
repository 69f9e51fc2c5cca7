"""Simulated crowds with features: a corner of space per class, and noise around it."""

from typing import NamedTuple

import numpy as np
import torch

from manyhands.annotations import Annotations
from manyhands.estimators import CrowdClassifier
from manyhands.methods import METHODS
from manyhands.simulation import SCENARIOS, CrowdSettings

SMALL = {"n_items": 60, "n_annotators": 6, "n_classes": 3, "labels_per_item": 3, "seed": 1}
QUICK = {"epochs": 2, "batch_size": 16, "progress": False, "device": "cpu"}


class Featured(NamedTuple):
    """Features, labels, the truth as class codes, and everybody's confusion."""

    x: np.ndarray
    annotations: Annotations
    truth: np.ndarray
    confusion: np.ndarray


def featured(scenario="confusions", *, spread=0.5, n_features=5, **settings):
    """A crowd of a scenario; the greater the spread, the less the features tell."""
    crowd = SCENARIOS[scenario](CrowdSettings(**(SMALL | settings)))
    rng = np.random.default_rng(7)
    corner = 2.0 * np.eye(crowd.annotations.n_classes, n_features)
    x = corner[crowd.truth] + spread * rng.normal(size=(len(crowd.truth), n_features))
    return Featured(x.astype(np.float32), crowd.annotations, crowd.truth, crowd.confusion)


def suited(method, crowd):
    """The crowd with features that the method takes: counts for those of words."""
    if not METHODS[method].needs_counts:
        return crowd
    return crowd._replace(x=np.round(5.0 * np.maximum(crowd.x, 0.0)).astype(np.float32))


def fit(method, crowd, *, x=None, annotations=None, truth=None, resume=False, **settings):
    """Fit a crowd, or other features and labels in its place."""
    needs = METHODS[method].needs_truth if isinstance(method, str) else method.needs_truth
    told = (crowd.truth if truth is None else truth) if needs else None
    model = CrowdClassifier(method=method, **(QUICK | settings))
    return model.fit(
        crowd.x if x is None else x,
        crowd.annotations if annotations is None else annotations,
        truth=told,
        resume=resume,
    )


def weights(model):
    """Every tensor of a fitted model, those of the noise model behind those of the network."""
    return {
        f"{part}.{name}": each
        for part, module in (("network", model.network_), ("noise", model.noise_))
        for name, each in module.state_dict().items()
    }


def assert_same_bits(one, other):
    """Two fitted models are equal to the last bit."""
    first, second = weights(one), weights(other)
    assert first.keys() == second.keys()
    different = [name for name in first if not torch.equal(first[name], second[name])]
    assert not different, different


def columns(annotations):
    """Item, annotator and label names of every annotation."""
    return (
        annotations.items[annotations.item],
        annotations.annotators[annotations.annotator],
        annotations.label_names(),
    )
