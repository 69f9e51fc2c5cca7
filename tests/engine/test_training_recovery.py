"""Simulated crowds: annotators are portrayed as they are, and training profits from it."""

import numpy as np
import pytest

from featured_crowds import featured, fit
from manyhands.methods import METHODS

CONFUSIONS = [
    "two-stage-dawid-skene", "crowd-layer-mw", "crowd-layer-over", "softmax-crowd-layer",
    "speelfc", "trace-reg", "geocrowdnet", "conal", "conal-groups",
]  # fmt: skip
TRAINED = {"epochs": 15, "batch_size": 32, "learning_rate": 0.01, "validation_fraction": 0.0}
TOLERANCE = 0.06  # counts against the truth itself are 0.035 off
BAD = ["speelfc", "crowd-layer-mw", "conal", "trace-reg"]


@pytest.fixture(scope="module")
def confused():
    return featured(n_items=400, n_annotators=5, seed=3)


@pytest.mark.parametrize("name", CONFUSIONS)
def test_confusions_are_recovered(name, confused):
    model = fit(name, confused, **TRAINED)
    off = np.abs(model.confusion_ - confused.confusion)
    assert off.mean() < TOLERANCE
    assert off.max() < 0.2
    assert model.score(confused.x, confused.truth) > 0.97


@pytest.mark.parametrize("name", ["speelfc", "crowd-layer-mw", "conal"])
def test_confusions_are_recovered_from_the_models_own_start(name, confused):
    model = fit(name, confused, init="own", **TRAINED)
    assert np.abs(model.confusion_ - confused.confusion).mean() < 0.1


def test_skill_is_recovered(confused):
    model = fit("crowd-layer-vwb", confused, **TRAINED)
    expected = np.einsum("akk->a", confused.confusion) / 3
    quality = model.annotators_frame()["quality"].to_numpy()
    assert np.corrcoef(quality, expected)[0, 1] > 0.9


@pytest.fixture(scope="module")
def half_adversaries():
    """Half of the crowd says the wrong class on purpose; the second half of the items is new."""
    return featured(
        "adversaries", spread=1.0, share=0.5, n_items=600, n_annotators=15, seed=3
    )  # fmt: skip


def accuracy_on_new_items(name, crowd):
    seen = np.arange(len(crowd.x)) < 350
    part = crowd._replace(
        x=crowd.x[seen], annotations=crowd.annotations[seen], truth=crowd.truth[seen]
    )
    return fit(name, part, **TRAINED).score(crowd.x[~seen], crowd.truth[~seen])


def test_training_beats_the_majority_where_annotators_are_bad(half_adversaries):
    majority = accuracy_on_new_items("two-stage-majority", half_adversaries)
    truth = accuracy_on_new_items("truth", half_adversaries)
    for name in BAD:
        found = accuracy_on_new_items(name, half_adversaries)
        assert found > majority + 0.1, name
        assert found > truth - 0.05, name


def test_network_and_labels_together_know_more_than_either():
    crowd = featured(spread=1.5, n_items=400, n_annotators=15, seed=3)
    model = fit("speelfc", crowd, **TRAINED)
    together = (model.infer(crowd.x, crowd.annotations).labels == crowd.truth).mean()
    labels = (np.asarray(crowd.annotations) == crowd.truth).mean()
    assert together > max(labels, model.score(crowd.x, crowd.truth)) + 0.02


def test_the_list_of_confusion_models_is_of_methods():
    assert set(CONFUSIONS) <= set(METHODS)
