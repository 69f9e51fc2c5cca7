"""Crowds that many tests use."""

import numpy as np
import pytest

from manyhands.simulation import SCENARIOS, CrowdSettings


def random_labels(seed, n_items=12, n_annotators=5, n_classes=3, n_annotations=40):
    """Labels without any structure: nothing about them is easy for a method."""
    rng = np.random.default_rng(seed)
    return (
        rng.integers(0, n_items, n_annotations),
        rng.integers(0, n_annotators, n_annotations),
        rng.integers(0, n_classes, n_annotations),
    )


@pytest.fixture(scope="session")
def crowd():
    """An honest crowd of 30 with favourite mistakes, 400 items, 6 labels each."""
    return SCENARIOS["confusions"](
        CrowdSettings(n_items=400, n_annotators=30, n_classes=4, labels_per_item=6, seed=3)
    )
