"""The topic model for numbers, through the regressor."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from manyhands.estimators import CrowdRegressor, load
from manyhands.methods import METHODS
from manyhands.methods.topics.regression import (
    RegressionTopicModel,
    fit_topic_regressor,
    predict_values,
    word_error_variance,
)

BIAS = np.array([-0.8, -0.4, 0.0, 0.1, 0.5, 0.6])
METHOD = RegressionTopicModel(3)


def documents(n_documents=300, seed=0):
    """Counts of words of three topics, mixed, which go with low, middle and high numbers."""
    rng = np.random.default_rng(seed)
    words_tw = np.kron(np.eye(3), np.ones(8)) + 0.05
    words_tw /= words_tw.sum(axis=1, keepdims=True)
    share_dt = rng.dirichlet(np.ones(3), n_documents)
    counts = np.stack([rng.multinomial(40, share @ words_tw) for share in share_dt])
    truth = share_dt @ [10.0, 12.0, 15.0] + 0.3 * rng.normal(size=n_documents)
    item = np.repeat(np.arange(n_documents), 3)
    who = np.concatenate([rng.permutation(6)[:3] for _ in truth])
    label = truth[item] + BIAS[who] + 0.5 * rng.normal(size=len(item))
    return counts, Annotations.from_arrays(item, who, label, annotators=range(6)), truth


@pytest.fixture(scope="module")
def model():
    counts, ann, _ = documents()
    return CrowdRegressor(method=METHOD, progress=False).fit(counts, ann)


def test_the_regressor_predicts_by_the_solution(model):
    counts, ann, _ = documents()
    unseen, _, truth = documents(seed=5)
    fit = fit_topic_regressor(counts, ann, n_topics=3)
    np.testing.assert_allclose(model.predict(unseen), predict_values(fit, unseen), 1e-4)
    table = model.annotators_frame()
    np.testing.assert_allclose(table["bias"], fit.bias_a, atol=1e-3)
    np.testing.assert_allclose(table["noise"], fit.precision_a**-0.5, rtol=1e-3)
    error = word_error_variance(fit, counts, ann)
    np.testing.assert_allclose(model.predict_spread(unseen) ** 2, error, rtol=1e-3)
    assert model.score(unseen, truth) > 0.85


def test_annotators_and_the_error_of_words_are_found(model):
    unseen, _, truth = documents(seed=5)
    np.testing.assert_allclose(model.annotators_frame()["bias"], BIAS, atol=0.12)
    off = np.sqrt(np.mean((model.predict(unseen) - truth) ** 2))
    assert model.predict_spread(unseen)[0] == pytest.approx(off, rel=0.2)


def test_labels_improve_the_predictions_by_words(model):
    counts, ann, truth = documents()
    together = model.infer(counts, ann).values
    assert np.std(together - truth) < 0.9 * np.std(model.predict(counts) - truth)


def test_the_objective_never_falls(model):
    losses = [entry["loss"] for entry in model.history_]
    assert (np.diff(losses) <= 1e-9).all()


def test_sparse_counts_give_the_same(model):
    counts, ann, _ = documents()
    sparse = CrowdRegressor(method=METHOD, progress=False).fit(csr_matrix(counts), ann)
    np.testing.assert_array_equal(sparse.predict(csr_matrix(counts)), model.predict(counts))


def test_a_saved_model_predicts_the_same(tmp_path):
    counts, ann, _ = documents()
    model = CrowdRegressor(method="ma-slda-r", epochs=5, progress=False).fit(counts, ann)
    model.save(tmp_path)
    np.testing.assert_array_equal(load(tmp_path).predict(counts), model.predict(counts))


def test_invalid_requests_raise():
    counts, ann, _ = documents(20)
    with pytest.raises(DataError, match="topic models take whole numbers, 0 or more"):
        CrowdRegressor(method="ma-slda-r", progress=False).fit(counts / 2, ann)
    with pytest.raises(SettingError, match="is for the network 'logistic'; leave network out"):
        CrowdRegressor("mlp", "ma-slda-r", progress=False).fit(counts, ann)
    with pytest.raises(SettingError, match="n_topics"):
        RegressionTopicModel(0)
    assert METHODS["ma-slda-r"].tasks == ("regression",)
