"""What labels say of a network's error, when the noises it is told of are wrong."""

import numpy as np
import pytest

from manyhands.annotations import Annotations
from manyhands.engine.regression_posterior import expected_error
from manyhands.noise import RegressionLayer


def off_network(n_items, labels, variance, *, n_annotators=8, told=1.0, seed=0):
    """Labels around 0 of a network that says 0 and is off by so much, and annotators with scales.

    The layer is told of precisions `told` times the true ones.
    """
    rng = np.random.default_rng(seed)
    scale = np.exp(0.3 * rng.normal(size=n_annotators))
    noise = 0.4 * np.exp(0.5 * rng.normal(size=n_annotators))
    item = np.repeat(np.arange(n_items), labels)
    who = np.array([rng.permutation(n_annotators)[:labels] for _ in range(n_items)]).ravel()
    error = np.sqrt(variance) * rng.normal(size=n_items)
    label = scale[who] * error[item] + noise[who] * rng.normal(size=len(who))
    names = {"items": np.arange(n_items), "annotators": np.arange(n_annotators)}
    layer = RegressionLayer(n_annotators, kind="S")
    layer.init_from_profile(precision_a=told / noise**2, error_variance=0.01, scale_a=scale)
    return layer, Annotations.from_arrays(item, who, label, **names), np.zeros(n_items)


@pytest.mark.parametrize("told", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("variance", [0.1, 0.5])
def test_pairs_tell_the_error_whatever_the_noises_are_thought_to_be(variance, told):
    found = [
        expected_error(*off_network(400, 3, variance, told=told, seed=seed)) for seed in range(10)
    ]
    assert np.mean(found) == pytest.approx(variance, rel=0.07)


def test_with_single_labels_the_noises_are_believed():
    found = [expected_error(*off_network(800, 1, 0.5, seed=seed)) for seed in range(10)]
    assert np.mean(found) == pytest.approx(0.5, rel=0.1)


def test_few_labels_never_say_that_there_is_no_error():
    few = [expected_error(*off_network(10, 2, 0.0, seed=seed)) for seed in range(20)]
    many = [expected_error(*off_network(3000, 2, 0.0, seed=seed)) for seed in range(5)]
    assert min(few) > 0.003
    assert max(many) < 0.02


def test_an_estimate_far_below_zero_stays_a_small_number():
    found = expected_error(*off_network(500, 1, 0.0, told=1e-4))  # noises are thought to be huge
    assert 0 < found < 1.0
