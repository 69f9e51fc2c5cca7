"""Crowds of honest annotators that depend on no other room."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from manyhands.annotations.rows import Rows, encode_rows

CLASSES = ("cat", "cow", "dog", "emu", "fox", "hen", "owl", "pig", "rat", "yak")


@dataclass
class Table:
    """Three columns that a test may spoil, and the truth of every item."""

    item: np.ndarray
    annotator: np.ndarray
    label: np.ndarray
    truth: np.ndarray
    rng: np.random.Generator

    def rows(self, **reading: Any) -> Rows:
        item = [f"item {i}" for i in self.item]
        annotator = [f"person {a}" for a in self.annotator]
        return encode_rows(item, annotator, self.label, **reading)


def _who(rng, n_items, n_annotators, per_item):
    return np.argsort(rng.random((n_items, n_annotators)), axis=1)[:, :per_item].ravel()


def honest_classes(
    seed=0,
    n_items=600,
    n_annotators=20,
    per_item=5,
    n_classes=3,
    accuracy=(0.6, 0.95),
    top_class=None,
):
    """Labels of annotators who are right with their own accuracy and err evenly."""
    rng = np.random.default_rng([7, seed])
    prior = np.full(n_classes, 1 / n_classes)
    if top_class is not None:
        prior[:] = (1 - top_class) / (n_classes - 1)
        prior[0] = top_class
    truth = rng.choice(n_classes, n_items, p=prior)
    item = np.repeat(np.arange(n_items), per_item)
    annotator = _who(rng, n_items, n_annotators, per_item)
    right = rng.random(len(item)) < rng.uniform(*accuracy, n_annotators)[annotator]
    wrong = (truth[item] + rng.integers(1, n_classes, len(item))) % n_classes
    label = np.where(right, truth[item], wrong)
    names = np.array(CLASSES, dtype=object)
    return Table(item, annotator, names[label], truth, rng)


def honest_numbers(seed=0, n_items=600, n_annotators=20, per_item=5, noise=(0.3, 1.5), digits=2):
    """Numbers with every annotator's own bias, scale and noise."""
    rng = np.random.default_rng([11, seed])
    truth = rng.normal(20.0, 2.0, n_items)
    item = np.repeat(np.arange(n_items), per_item)
    annotator = _who(rng, n_items, n_annotators, per_item)
    scale, bias = rng.uniform(0.5, 1.2, n_annotators), rng.normal(0, 0.5, n_annotators)
    noise_n = rng.uniform(*noise, n_annotators)[annotator] * rng.normal(0, 1, len(item))
    label = 20 + scale[annotator] * (truth[item] - 20) + bias[annotator] + noise_n
    return Table(item, annotator, np.round(label, digits), truth, rng)


@pytest.fixture
def make_classes():
    return honest_classes


@pytest.fixture
def make_numbers():
    return honest_numbers
