"""Simulated ratings with features: people with scales, biases and noises of their own."""

from typing import NamedTuple

import numpy as np

from manyhands.annotations import Annotations
from manyhands.estimators import CrowdRegressor
from manyhands.methods import METHODS

QUICK = {"epochs": 3, "batch_size": 16, "progress": False, "device": "cpu"}
FOR_NUMBERS = [name for name, method in METHODS.items() if "regression" in method.tasks]


class Rated(NamedTuple):
    """Features, labels, the truth, and everybody's scale, bias and noise."""

    x: np.ndarray
    annotations: Annotations
    truth: np.ndarray
    scale: np.ndarray
    bias: np.ndarray
    noise: np.ndarray


def rated(n_items=60, n_annotators=6, labels=3, *, scales=0.0, biases=0.5, seed=1):
    """Labels scale_a z + bias_a + noise_a of numbers z that hang on the features."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_items, 4))
    truth = x @ [0.8, -0.5, 0.3, 0.0] + 0.2 * rng.normal(size=n_items)
    scale = np.exp(scales * rng.normal(size=n_annotators))
    bias = biases * rng.normal(size=n_annotators)
    noise = 0.3 * np.exp(rng.normal(size=n_annotators) / 2)
    who = np.array([rng.permutation(n_annotators)[:labels] for _ in range(n_items)]).ravel()
    item = np.repeat(np.arange(n_items), labels)
    label = scale[who] * truth[item] + bias[who] + noise[who] * rng.normal(size=len(who))
    names = {"items": np.arange(n_items), "annotators": np.arange(n_annotators)}
    ann = Annotations.from_arrays(item, who, label, **names)
    return Rated(x.astype(np.float32), ann, truth, scale, bias, noise)


def fit_numbers(method, crowd, *, x=None, annotations=None, truth=None, resume=False, **settings):
    """Fit a crowd, or other features and labels in its place."""
    needs = METHODS[method].needs_truth if isinstance(method, str) else method.needs_truth
    told = (crowd.truth if truth is None else truth) if needs else None
    model = CrowdRegressor(method=method, **(QUICK | settings))
    return model.fit(
        crowd.x if x is None else x,
        crowd.annotations if annotations is None else annotations,
        truth=told,
        resume=resume,
    )
