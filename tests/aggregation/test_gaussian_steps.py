"""EM for numbers beside a network: the objective never falls, and it is what it says it is."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from manyhands.aggregation import AGGREGATORS, Gaussian, aggregate
from manyhands.aggregation.gaussian_steps import GaussianSteps
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError


def rated(seed=0, n_items=60, n_annotators=7, labels=3):
    """Numbers that depend on two features, and annotators with biases and noise."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n_items), rng.normal(size=(n_items, 2))])
    truth = x @ [1.0, 0.8, -0.5] + 0.3 * rng.normal(size=n_items)
    who = np.array([rng.permutation(n_annotators)[:labels] for _ in range(n_items)])
    bias, noise = rng.normal(size=n_annotators), np.exp(rng.normal(size=n_annotators) / 2)
    label = truth[:, None] + bias[who] + noise[who] * rng.normal(size=who.shape)
    item = np.repeat(np.arange(n_items), labels)
    return x, Annotations.from_arrays(item, who.ravel(), label.ravel()), truth


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("columns", [1, 3])
def test_the_objective_never_falls_with_a_network_that_is_solved(columns, biases):
    for seed in range(4):
        x, ann, _ = rated(seed)
        steps = GaussianSteps(ann, Gaussian(prior_strength=5.0), biases=biases)
        parameters, value_i = steps.first, np.zeros(ann.n_items)
        objectives = []
        for _ in range(40):
            objectives.append(steps.objective(value_i, parameters))
            values = steps.values(value_i, parameters)
            parameters = steps.parameters(value_i, values, parameters)
            objectives.append(steps.objective(value_i, parameters))
            values = steps.values(value_i, parameters)
            weights = np.linalg.lstsq(x[:, :columns], values.mean_i, rcond=None)[0]
            value_i = x[:, :columns] @ weights
        assert all(b >= a - 1e-9 * abs(a) for a, b in pairwise(objectives))
        assert objectives[-1] > objectives[0] + 1


def test_the_likelihood_is_that_of_labels_that_share_their_item():
    _, ann, _ = rated(n_items=5)
    steps, rng = GaussianSteps(ann, Gaussian()), np.random.default_rng(1)
    annotators = replace(
        steps.first.annotators, bias_a=rng.normal(size=7), precision_a=rng.uniform(1, 3, 7)
    )
    parameters, value_i = replace(steps.first, annotators=annotators), rng.normal(size=5)
    expected = 0.0
    for i in range(5):
        own = ann.item == i
        who = ann.annotator[own]
        expected += multivariate_normal.logpdf(
            ann.label[own],
            value_i[i] + annotators.bias_a[who],
            np.diag(1 / annotators.precision_a[who]) + 1 / parameters.network_precision,
        )
    assert steps.values(value_i, parameters).log_likelihood == pytest.approx(expected)


def test_without_a_network_the_steps_are_the_gaussian_aggregator():
    _, ann, _ = rated()
    model = Gaussian(max_iter=400, tol=0.0)
    steps = GaussianSteps(ann, model, fixed_precision=0.0)
    run = steps.profile_annotators(np.full(ann.n_items, 99.0), max_iter=400, tol=0.0)
    alone = model.fit(ann)
    np.testing.assert_allclose(run.state.annotators.bias_a, alone.parameters.bias_a, atol=1e-6)
    found, expected = run.state.annotators.precision_a, alone.parameters.precision_a
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    values = steps.values(np.full(ann.n_items, 99.0), run.state)
    np.testing.assert_allclose(values.mean_i, alone.values, atol=1e-6)
    np.testing.assert_allclose(values.variance_i, alone.spread**2, rtol=1e-6)


def test_a_network_that_knows_the_truth_gets_a_high_precision():
    _, ann, truth = rated(n_items=600, n_annotators=20)
    steps = GaussianSteps(ann, Gaussian(prior_strength=0.1, bias_strength=0.1))
    knows = steps.profile_annotators(truth, max_iter=300, tol=0.0).state
    guesses = steps.profile_annotators(np.zeros(600), max_iter=300, tol=0.0).state
    assert 1 / knows.network_precision < 0.05
    # What a network that says nothing misses is all that differs between the items; that their
    # mean is not 0 looks like a bias that all annotators share.
    assert 1 / guesses.network_precision == pytest.approx(np.var(truth), rel=0.15)


def test_items_without_labels_get_the_output_of_the_network():
    ann = Annotations.from_arrays([1, 1], ["u", "v"], [0.5, 1.0], items=[1, 2])
    steps = GaussianSteps(ann, Gaussian())
    values = steps.values(np.array([0.0, 7.0]), steps.first)
    assert values.mean_i[1] == 7.0
    assert values.variance_i[1] == pytest.approx(1 / steps.first.network_precision)


@pytest.mark.parametrize("method", ["gaussian", "mean", "median"])
@pytest.mark.parametrize("value", [1e308, -1e308, 1e18])
def test_a_number_out_of_all_proportion_is_refused(method, value):
    label_ia = np.random.default_rng(0).normal(size=(300, 3))
    label_ia[3, 1] = value
    ann = Annotations.from_dense(label_ia)
    with pytest.raises(DataError, match=r"of item 3 is out of all proportion: nine of ten labels"):
        AGGREGATORS[method]().fit(ann)
    label_ia[3, 1] = 1e5  # far, but a label
    assert np.isfinite(aggregate(label_ia, method).labels).all()


def test_large_and_equal_numbers_are_labels():
    for scale in (1e-60, 1.0, 1e60):
        label_ia = scale * np.array([[1.0, 1.0], [1.0, 2.0], [3.0, 1.0]])
        assert np.isfinite(
            AGGREGATORS["gaussian"]().fit(Annotations.from_dense(label_ia)).labels
        ).all()
    assert AGGREGATORS["mean"]().fit(Annotations.from_dense([[5.5], [5.5]])).labels.tolist() == [
        5.5,
        5.5,
    ]
