"""Crowds that many tests use."""

import pytest

from manyhands.simulation import SCENARIOS, CrowdSettings


@pytest.fixture(scope="session")
def crowd():
    """An honest crowd of 30 with favourite mistakes, 400 items, 6 labels each."""
    return SCENARIOS["confusions"](
        CrowdSettings(n_items=400, n_annotators=30, n_classes=4, labels_per_item=6, seed=3)
    )
