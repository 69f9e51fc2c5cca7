"""Cross-fitting of numbers: nothing judges what it has learnt, and biases and noise are found."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

import manyhands as mh
from manyhands.core.errors import SettingError
from manyhands.methods import CrossFitted
from manyhands.methods.cross_fit.learners import Regressions, RegressorLearner, make_folds
from manyhands.methods.cross_fit.numbers import (
    NumberErrors,
    NumberPrediction,
    NumberWeights,
    fit_number_cross_fit,
)
from manyhands.methods.cross_fit.smoothers import fit_smoothers
from rated_crowds import fit_numbers, rated


@pytest.fixture(scope="module")
def crowd():
    return rated(300, 20, 3, biases=0.8)


@pytest.fixture(scope="module")
def fit(crowd):
    return fit_number_cross_fit(Regressions(fit_smoothers(crowd.x)), crowd.annotations)


def prediction(seed=0, n_scores=3):
    """A prediction of the labels of a small crowd whose annotators gave some items two labels."""
    rng = np.random.default_rng(seed)
    item, annotator = rng.integers(9, size=40), rng.integers(4, size=40)
    ann = mh.Annotations.from_arrays(item, annotator, rng.normal(size=40) + 1e-3)
    score = rng.normal(size=(n_scores, ann.n_items))
    return NumberPrediction(ann, score, ann.label - 0.1, rng.random(40) + 0.5)


def test_annotators_are_those_without_the_item():
    ann = prediction().annotations
    rng = np.random.default_rng(1)
    value, variance = rng.normal(size=ann.n_items), rng.random(ann.n_items)
    errors = NumberErrors(ann, value, variance)
    found = errors.of_other_items.estimates(0.7, (5.0, 2.0))
    for n in range(ann.n_annotations):
        others = (ann.annotator == ann.annotator[n]) & (ann.item != ann.item[n])
        off = ann.label[others] - value[ann.item[others]]
        bias = off.sum() / (others.sum() + 2.0)
        square = ((off - bias) ** 2 + variance[ann.item[others]]).sum()
        assert found[0][n] == pytest.approx(bias)
        assert found[1][n] == pytest.approx((others.sum() + 5.0) / (square + 5.0 * 0.7))


def test_the_objective_is_the_density_that_is_stated():
    mix = prediction()
    ann, weights = mix.annotations, NumberWeights(np.array([0.3, 0.0, 0.7]), 0.8, 0.6)
    wanted = 0.0
    for n, item in enumerate(ann.item):
        others = np.flatnonzero((ann.item == item) & (np.arange(ann.n_annotations) != n))
        weight = 0.6 * mix.precision_n[others]
        total = 0.8 + weight.sum()
        feature = 0.3 * mix.score_mi[0, item] + 0.7 * mix.score_mi[2, item]
        mean = (0.8 * feature + (weight * mix.clean_n[others]).sum()) / total
        spread = np.sqrt(1 / total + 1 / mix.precision_n[n])
        wanted += norm.logpdf(mix.clean_n[n], mean, spread)
    assert mix.value(weights) == pytest.approx(wanted, rel=1e-10)


def test_the_gradient_is_that_of_the_objective():
    mix = prediction(2)
    given = np.array([0.3, 0.1, 0.7, np.log(0.8), 0.6])

    def value(at):
        return mix.value(NumberWeights(at[:3], float(np.exp(at[3])), float(at[4])))

    slope = mix.gradient(NumberWeights(given[:3], 0.8, 0.6))
    for place, step in enumerate(1e-6 * np.eye(5)):
        wanted = (value(given + step) - value(given - step)) / 2e-6
        assert slope[place] == pytest.approx(wanted, rel=1e-5, abs=1e-5)


def test_biases_are_0_on_average_at_the_level_of_the_values():
    ann = prediction().annotations
    errors = NumberErrors(ann, np.full(ann.n_items, 5.0), np.ones(ann.n_items)).levelled(2.0)
    bias, _ = errors.by_annotator.estimates(1.0, (5.0, 2.0))
    assert bias.mean() == pytest.approx(0.0, abs=1e-12)


def test_features_and_labels_are_better_than_either(crowd, fit):
    def error(value):
        return float(np.std(value - crowd.truth))

    labels_alone = mh.aggregate(crowd.annotations, method="gaussian")
    assert fit.converged
    assert error(fit.value_i) < 0.7 * error(labels_alone.values)
    assert error(fit.value_i) < 0.18  # 0.2 is the part of the truth that features do not tell
    assert np.sqrt(fit.variance_i.mean()) == pytest.approx(error(fit.value_i), rel=0.15)
    assert np.corrcoef(fit.annotators.bias_a, crowd.bias)[0, 1] > 0.98
    assert np.corrcoef(fit.annotators.precision_a**-0.5, crowd.noise)[0, 1] > 0.9


def test_one_label_per_item_does_not_make_features_exact():
    crowd = rated(300, 20, 1, biases=0.8)
    fit = fit_number_cross_fit(Regressions(fit_smoothers(crowd.x)), crowd.annotations)
    error = float(np.std(fit.value_i - crowd.truth))
    assert error < 0.25
    assert np.sqrt(fit.variance_i.mean()) > 0.6 * error


def test_the_unit_of_the_labels_does_not_matter(crowd, fit):
    ann = crowd.annotations
    item, annotator = ann.items[ann.item], ann.annotators[ann.annotator]
    given = mh.Annotations.from_arrays(
        item, annotator, 50 + 10 * ann.label, items=ann.items, annotators=ann.annotators
    )
    other = fit_number_cross_fit(Regressions(fit_smoothers(crowd.x)), given)
    assert other.value_i == pytest.approx(50 + 10 * fit.value_i, abs=0.01)
    assert other.annotators.bias_a == pytest.approx(10 * fit.annotators.bias_a, abs=0.01)
    assert other.objective[-1] == pytest.approx(fit.objective[-1] - np.log(10), abs=1e-4)


def test_the_smallest_tables_have_values():
    for item, label in (([0], [2.5]), ([0, 0], [1.0, 1.0]), ([0, 1], [1.0, 3.0])):
        ann = mh.Annotations.from_arrays(item, ["u", "v"][: len(item)], label, kind="numbers")
        found = mh.consensus(np.arange(ann.n_items)[:, None], ann)
        assert np.isfinite(found.values).all()
        assert np.isfinite(found.spread).all()


def test_a_regressor_has_not_seen_the_fold():
    rng = np.random.default_rng(3)
    features, value = rng.normal(size=(20, 2)), rng.normal(size=(20, 1))
    fold = make_folds(20, 4, seed=0)
    found = RegressorLearner(LinearRegression(), features, fold).left_out(value)
    assert found.shape == (1, 20, 1)
    for i in range(20):
        others = fold != fold[i]
        model = LinearRegression().fit(features[others], value[others, 0])
        assert found[0, i, 0] == pytest.approx(model.predict(features[i : i + 1])[0])


def test_any_learner_of_numbers_gives_a_consensus(crowd):
    labels_alone = float(
        np.std(mh.aggregate(crowd.annotations, method="gaussian").values - crowd.truth)
    )
    network = mh.CrowdRegressor(
        network="logistic", epochs=20, learning_rate=0.03, validation_fraction=0.0, progress=False
    )
    for learner in (Ridge(), network):
        found = mh.consensus(crowd.x, crowd.annotations, learner=learner)
        assert float(np.std(found.values - crowd.truth)) < 0.8 * labels_alone
        assert found.annotators_frame().columns.tolist()[5:] == ["bias", "noise"]


def test_a_learner_must_suit_the_labels(crowd):
    with pytest.raises(SettingError, match="regressor, a CrowdRegressor"):
        CrossFitted(learner=LogisticRegression()).consensus(crowd.x, crowd.annotations)
    classes = mh.Annotations.from_arrays([0, 1], ["u", "u"], ["a", "b"])
    with pytest.raises(SettingError, match="classifier with predict_proba"):
        CrossFitted(learner=Ridge()).consensus(crowd.x[:2], classes)


def test_items_without_labels_have_the_mean(crowd):
    some = crowd.annotations.only(crowd.annotations.item >= 10)
    found = mh.consensus(crowd.x, some)
    assert found.values[:10] == pytest.approx(np.full(10, found.values[10:].mean()))
    assert found.spread[:10].min() > found.spread[10:].max()


def test_the_network_learns_the_consensus(crowd):
    settings = {"network": "logistic", "epochs": 40, "learning_rate": 0.03, "batch_size": 64}
    model = fit_numbers("cross-fit", crowd, validation_fraction=0.0, **settings)
    assert np.corrcoef(model.predict(crowd.x), crowd.truth)[0, 1] > 0.97
    assert np.corrcoef(model.annotators_frame()["bias"], crowd.bias)[0, 1] > 0.97
