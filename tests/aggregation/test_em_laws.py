"""Laws on hundreds of random problems: objectives never fall and are what they say they are."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyhands.aggregation import (
    AGGREGATORS,
    AnnotatorTypes,
    CommonNoise,
    DawidSkene,
    Ebcc,
    Gaussian,
    Glad,
    Mixture,
    MultilabelDawidSkene,
    MultilabelMixture,
    OneCoin,
    OrdinalDawidSkene,
    OrdinalThresholds,
    WorkerClustering,
)
from manyhands.aggregation.em import run_em
from manyhands.annotations import Annotations

CLASS_METHODS = [DawidSkene, OneCoin, Glad, WorkerClustering, CommonNoise, Mixture, Ebcc]
ORDINAL_METHODS = [OrdinalThresholds, OrdinalDawidSkene]
SET_METHODS = [MultilabelDawidSkene, MultilabelMixture]
MANY, SOME = settings(max_examples=50), settings(max_examples=12)


@st.composite
def label_columns(draw, n_classes=4):
    """Any small table: repeats, lone labels and lopsided crowds included."""
    n = draw(st.integers(1, 40))
    column = st.integers(0, draw(st.integers(0, 8)))
    item = draw(st.lists(column, min_size=n, max_size=n))
    annotator = draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))
    label = draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))
    return np.array(item), np.array(annotator), np.array(label)


def assert_never_falls(objective):
    for before, after in itertools.pairwise(objective):
        assert after >= before - 1e-9 * max(1.0, abs(before))


@pytest.mark.parametrize(
    "method",
    [pytest.param(each, marks=[pytest.mark.slow] * (each is Mixture)) for each in CLASS_METHODS],
)
@MANY
@given(columns=label_columns())
def test_class_objectives_never_fall(method, columns):
    annotations = Annotations.from_arrays(*columns, classes=range(4))
    assert_never_falls(method(tol=0.0, max_iter=25).fit(annotations).objective)


@pytest.mark.parametrize("method", ORDINAL_METHODS)
@SOME
@given(columns=label_columns(), data=st.data())
def test_ordinal_objectives_never_fall(method, columns, data):
    annotations = Annotations.from_arrays(*columns, levels=range(4))
    item = data.draw(st.sampled_from(annotations.items.tolist()))
    for known in (None, {item: data.draw(st.integers(0, 3))}):
        assert_never_falls(method(tol=0.0, max_iter=25).fit(annotations, known=known).objective)


@pytest.mark.parametrize("method", SET_METHODS)
@SOME
@given(columns=label_columns(n_classes=16), data=st.data())
def test_objectives_of_sets_never_fall(method, columns, data):
    item, annotator, label = columns
    sets = [{k for k in range(4) if code >> k & 1} for code in label.tolist()]
    annotations = Annotations.from_arrays(
        item, annotator, sets, kind="multilabel", classes=range(4)
    )
    name = data.draw(st.sampled_from(annotations.items.tolist()))
    for known in (None, {name: data.draw(st.sets(st.integers(0, 3)))}):
        assert_never_falls(method(tol=0.0, max_iter=25).fit(annotations, known=known).objective)


@pytest.mark.parametrize("method", [*CLASS_METHODS, AnnotatorTypes, *ORDINAL_METHODS])
@pytest.mark.parametrize(("n_classes", "n_said"), [(1, 1), (2, 1), (3, 2)])
def test_classes_that_nobody_says_keep_the_law(method, n_classes, n_said):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        item, annotator, label = (rng.integers(n, size=30) for n in (10, 6, n_said))
        annotations = Annotations.from_arrays(item, annotator, label, classes=range(n_classes))
        assert_never_falls(method(tol=0.0, max_iter=15).fit(annotations).objective)


@pytest.mark.parametrize("strength", [0.0, 0.5])
@MANY
@given(columns=label_columns())
def test_objectives_with_weak_priors_never_fall(strength, columns):
    annotations = Annotations.from_arrays(*columns, classes=range(4))
    for prior in ("pooled", "flat"):
        method = DawidSkene(prior=prior, prior_strength=strength, tol=0.0, max_iter=25)
        assert_never_falls(method.fit(annotations).objective)


@MANY
@given(columns=label_columns(n_classes=30), scale=st.sampled_from([1e-3, 1.0, 1e6]))
def test_the_gaussian_objective_never_falls(columns, scale):
    item, annotator, label = columns
    annotations = Annotations.from_arrays(item, annotator, label * scale, kind="numbers")
    assert_never_falls(Gaussian(tol=0.0, max_iter=25).fit(annotations).objective)


@MANY
@given(columns=label_columns(), data=st.data())
def test_known_truths_keep_the_law(columns, data):
    annotations = Annotations.from_arrays(*columns, classes=range(4))
    item = data.draw(st.sampled_from(annotations.items.tolist()))
    known = {item: data.draw(st.integers(0, 3))}
    method = data.draw(st.sampled_from(CLASS_METHODS))
    consensus = method(tol=0.0, max_iter=15).fit(annotations, known=known)
    assert_never_falls(consensus.objective)


def log_likelihood(annotations, prior_k, confusion_akl):
    """sum_i log sum_k pi_k prod_n C[a_n, k, y_n], one item at a time."""
    total = 0.0
    for i in range(annotations.n_items):
        rows = annotations.item == i
        rows_k = confusion_akl[annotations.annotator[rows], :, annotations.label[rows]]
        total += np.log((prior_k * rows_k.prod(axis=0)).sum())
    return total


def test_the_dawid_skene_objective_is_what_its_docstring_says(crowd):
    annotations = crowd.annotations[:50]
    short = DawidSkene(max_iter=4, tol=0.0).fit(annotations)
    longer = DawidSkene(max_iter=5, tol=0.0).fit(annotations)
    prior_k = np.exp(short.parameters.log_prior_k)
    crowd_kl = np.exp(short.parameters.log_crowd_lk).T
    expected = (
        log_likelihood(annotations, prior_k, short.confusion)
        + 10.0 * (crowd_kl * np.log(short.confusion)).sum()
        + np.log(prior_k).sum()
    )
    assert longer.objective[-1] == pytest.approx(expected, rel=1e-10)


def test_the_one_coin_objective_is_what_its_docstring_says(crowd):
    annotations = crowd.annotations[:50]
    short = OneCoin(max_iter=4, tol=0.0).fit(annotations)
    longer = OneCoin(max_iter=5, tol=0.0).fit(annotations)
    right, p = short.parameters.right_a, short.parameters.crowd
    expected = log_likelihood(annotations, np.full(4, 0.25), short.confusion)
    expected += 5.0 * (p * np.log(right) + (1 - p) * np.log1p(-right)).sum()
    assert longer.objective[-1] == pytest.approx(expected, rel=1e-10)


def glad_objective(annotations, ability_a, log_ease_i):
    """The penalised likelihood of GLAD, straight from its definition."""
    n_classes = annotations.n_classes
    total = -(((ability_a - 1) ** 2).sum() + (log_ease_i**2).sum()) / 2
    x_n = ability_a[annotations.annotator] * np.exp(log_ease_i[annotations.item])
    right_n = 1 / (1 + np.exp(-x_n))
    for i in range(annotations.n_items):
        rows = annotations.item == i
        says = annotations.label[rows][:, None] == np.arange(n_classes)
        p_nk = np.where(
            says, right_n[rows][:, None], (1 - right_n[rows][:, None]) / (n_classes - 1)
        )
        total += np.log(p_nk.prod(axis=0).mean())
    return total


def test_glad_ends_where_the_gradient_vanishes(crowd):
    annotations = crowd.annotations[:60]
    fit = Glad(tol=0.0, max_iter=3000).fit(annotations)
    ability, log_ease = fit.parameters.ability_a, fit.parameters.log_ease_i
    assert fit.objective[-1] == pytest.approx(
        glad_objective(annotations, ability, log_ease), rel=1e-10
    )
    step = 1e-5
    for vector in (ability, log_ease):
        for position in range(0, len(vector), 3):
            ends = []
            for move in (-step, step):
                vector[position] += move
                ends.append(glad_objective(annotations, ability, log_ease))
                vector[position] -= move
            assert (ends[1] - ends[0]) / (2 * step) == pytest.approx(0.0, abs=1e-4)


def test_the_gaussian_ends_where_the_gradient_vanishes():
    rng = np.random.default_rng(0)
    item, annotator = np.repeat(np.arange(20), 4), np.tile(np.arange(8), 10)
    label = rng.normal(item % 5, 1.0 + annotator / 8)
    annotations = Annotations.from_arrays(item, annotator, label)
    method = Gaussian(tol=0.0, max_iter=3000)
    fit = method.fit(annotations)
    parameters = fit.parameters

    def objective(bias_a, precision_a):
        moved = dataclasses.replace(parameters, bias_a=bias_a, precision_a=precision_a)
        total = method.log_prior(moved)
        for i in range(annotations.n_items):
            rows = annotations.item == i
            who = annotations.annotator[rows]
            clean, weight = annotations.label[rows] - bias_a[who], precision_a[who]
            centre = np.average(clean, weights=weight)
            total += 0.5 * (np.log(weight / (2 * np.pi)) - weight * (clean - centre) ** 2).sum()
            total += 0.5 * np.log(2 * np.pi / weight.sum())
        return total

    bias, precision = parameters.bias_a.copy(), parameters.precision_a.copy()
    assert fit.objective[-1] == pytest.approx(objective(bias, precision), rel=1e-9)
    for vector in (bias, precision):
        for position in range(len(vector)):
            ends = []
            for move in (-1e-5, 1e-5):
                vector[position] += move
                ends.append(objective(bias, precision))
                vector[position] -= move
            assert (ends[1] - ends[0]) / 2e-5 == pytest.approx(0.0, abs=1e-3)


def test_the_loop_stops_when_the_gain_is_small():
    run = run_em(1.0, lambda x: (x / 2, -x), max_iter=100, tol=0.1)
    assert run.converged
    assert len(run.objective) == 5


def test_iterative_methods_say_when_they_did_not_converge(crowd):
    for name in (
        "dawid-skene",
        "one-coin",
        "glad",
        "worker-clustering",
        "common-noise",
        "mixture",
        "ebcc",
    ):
        method = AGGREGATORS[name](max_iter=1, tol=0.0)
        assert not method.fit(crowd.annotations).converged
