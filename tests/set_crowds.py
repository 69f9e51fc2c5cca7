"""Simulated crowds whose labels are sets of classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.annotations import Annotations

CLASSES = ["a", "b", "c", "d", "e"]


@dataclass(frozen=True)
class SetCrowd:
    """Labels, and what they were drawn from; z = 1 is where a class applies."""

    annotations: Annotations
    truth_ik: Any
    right_akz: Any

    @property
    def truth(self):
        """{item: the set of its classes}."""
        names = np.array(CLASSES)
        return {i: set(names[row].tolist()) for i, row in enumerate(self.truth_ik)}


def simulate_sets(seed, *, n_items=200, n_annotators=15, per_item=3, n_patterns=3):
    """Classes that go together, annotators with an ability of their own and by class."""
    rng, n_classes = np.random.default_rng(seed), len(CLASSES)
    applies = rng.beta(0.5, 1.0, (n_patterns, n_classes))
    truth = rng.random((n_items, n_classes)) < applies[rng.integers(0, n_patterns, n_items)]
    own = rng.uniform(0.6, 0.95, (n_annotators, 1, 1))
    by_class = own + rng.normal(0, 0.06, (n_annotators, n_classes, 2))
    right = np.clip(by_class, 0.5, 0.99)
    right[..., 0] = 1 - (1 - right[..., 0]) / 2
    item = np.repeat(np.arange(n_items), per_item)
    who = np.concatenate(
        [rng.choice(n_annotators, per_item, replace=False) for _ in range(n_items)]
    )
    rates = np.take_along_axis(right[who], truth[item].astype(int)[..., None], axis=2)[..., 0]
    said = truth[item] ^ (rng.random(rates.shape) > rates)
    sets = [[CLASSES[k] for k in np.flatnonzero(row)] for row in said]
    names = {"items": range(n_items), "annotators": range(n_annotators), "classes": CLASSES}
    ann = Annotations.from_arrays(item, who, sets, kind="multilabel", **names)
    return SetCrowd(ann, truth, right)
