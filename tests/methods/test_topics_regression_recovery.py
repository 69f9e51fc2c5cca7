"""Topics for numbers on simulated documents: topics, weights and annotators are found."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix, vstack

from manyhands.aggregation import aggregate
from manyhands.annotations import Annotations
from manyhands.methods.topics.regression import fit_topic_regressor, predict_values

N_TOPICS, N_WORDS = 4, 60
ETA = np.array([1.0, 3.0, 5.0, 8.0])
ERROR = 0.5
BIAS = np.array([-1.7, -1.0, 0.1, 0.4, 0.9, 1.3])
NOISE = np.array([0.5, 3.0, 1.0, 0.3, 2.0, 1.5])


class Planted(NamedTuple):
    """Counts, the numbers of documents, and the words of topics."""

    counts: csr_matrix
    truth: np.ndarray
    topics: np.ndarray


def planted(n_documents, seed=0, draw=0):
    """Documents of planted topics whose number goes by their topics; `draw` gives others."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(N_WORDS, 0.1), N_TOPICS)
    rng = np.random.default_rng([seed, draw])
    counts, zbar = np.zeros((n_documents, N_WORDS)), np.zeros((n_documents, N_TOPICS))
    for d, theta in enumerate(rng.dirichlet(np.full(N_TOPICS, 0.3), n_documents)):
        of_topic = rng.multinomial(30 + rng.poisson(20), theta)
        zbar[d] = of_topic / of_topic.sum()
        counts[d] = sum(rng.multinomial(n, topics[t]) for t, n in enumerate(of_topic))
    return Planted(csr_matrix(counts), zbar @ ETA + ERROR * rng.normal(size=n_documents), topics)


def labelled(truth, per_document=3, n_items=None):
    """Labels of annotators with own biases and noises."""
    rng = np.random.default_rng(0)
    who = np.array([rng.permutation(len(BIAS))[:per_document] for _ in truth]).ravel()
    item = np.repeat(np.arange(len(truth)), per_document)
    label = truth[item] + BIAS[who] + NOISE[who] * rng.normal(size=len(item))
    names = {"items": range(n_items or len(truth)), "annotators": range(len(BIAS))}
    return Annotations.from_arrays(item, who, label, **names)


@pytest.fixture(scope="module")
def documents():
    return planted(500)


@pytest.fixture(scope="module")
def fit(documents):
    return fit_topic_regressor(
        documents.counts, labelled(documents.truth), n_topics=N_TOPICS, prior_strength=2.0
    )


def test_topics_and_their_values_are_found(documents, fit):
    assert fit.converged
    overlap = np.minimum(fit.topics_tw[:, None], documents.topics[None]).sum(axis=2)
    rows, columns = linear_sum_assignment(-overlap)
    assert overlap[rows, columns].mean() > 0.85
    np.testing.assert_allclose(fit.eta_t[rows], ETA[columns], atol=0.4)


def test_biases_and_noises_are_found(fit):
    np.testing.assert_allclose(fit.bias_a, BIAS, atol=0.25)
    np.testing.assert_allclose(fit.precision_a**-0.5, NOISE, rtol=0.2, atol=0.15)


def test_the_spread_around_topics_is_found(fit):
    assert fit.error_variance**0.5 == pytest.approx(ERROR, abs=0.15)


def test_words_improve_the_values(documents, fit):
    def error(value_d):
        return np.sqrt(np.mean((value_d - documents.truth) ** 2))

    ann = labelled(documents.truth)
    assert error(fit.value_d) < 0.95 * error(aggregate(ann, "gaussian").labels)
    assert error(fit.value_d) < 0.6 * error(aggregate(ann, "mean").labels)
    sure_d = (fit.value_d - documents.truth) ** 2 / fit.variance_d
    assert 0.5 < sure_d.mean() < 2.0


def test_a_crowd_is_almost_as_good_as_a_perfect_annotator(documents, fit):
    new = planted(500, draw=1)
    never_errs = Annotations.from_arrays(range(500), [0] * 500, documents.truth)
    ideal = fit_topic_regressor(documents.counts, never_errs, n_topics=N_TOPICS)

    def r2(model):
        off = predict_values(model, new.counts) - new.truth
        return 1.0 - np.mean(off**2) / np.var(new.truth)

    assert r2(ideal) > 0.85
    assert r2(fit) > r2(ideal) - 0.03


def test_documents_without_labels_do_no_harm(documents, fit):
    more, new = planted(500, draw=2), planted(500, draw=1)
    ann = labelled(documents.truth, n_items=1000)
    wide = fit_topic_regressor(
        vstack([documents.counts, more.counts]), ann, n_topics=N_TOPICS, prior_strength=2.0
    )
    errors = [np.mean((predict_values(each, new.counts) - new.truth) ** 2) for each in (fit, wide)]
    assert errors[1] < 1.1 * errors[0]
    predicted = predict_values(wide, more.counts)  # a few documents are ambiguous
    assert np.abs(wide.value_d[500:] - predicted).mean() < 0.05


def test_topics_that_start_from_numbers_end_in_a_higher_bound(documents, fit):
    rng = np.random.default_rng(0)
    labels = labelled(documents.truth)
    others = [
        fit_topic_regressor(
            documents.counts, labels, n_topics=N_TOPICS, prior_strength=2.0, start_tw=start_tw
        ).objective[-1]
        for start_tw in rng.gamma(100.0, 0.01, size=(3, N_TOPICS, N_WORDS))
    ]
    assert fit.objective[-1] > np.mean(others)
