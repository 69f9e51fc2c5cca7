"""Supervised topics on simulated documents: topics, classes and annotators are found."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix

from manyhands.annotations import Annotations
from manyhands.methods.topics.classification import fit_topic_classifier
from methods.topics_cases import predict_classes

N_TOPICS, N_WORDS = 4, 60
ACCURACY = np.array([0.95, 0.85, 0.7, 0.6, 0.5])  # the last one labels at random


@dataclass(frozen=True)
class Planted:
    counts: csr_matrix
    truth: np.ndarray
    topics: np.ndarray


def planted(n_documents, seed=0, draw=0, n_classes=2):
    """Documents of planted topics whose class goes by their topics; `draw` gives others."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(N_WORDS, 0.1), N_TOPICS)
    rng = np.random.default_rng([seed, draw])
    counts, zbar = np.zeros((n_documents, N_WORDS)), np.zeros((n_documents, N_TOPICS))
    for d, theta in enumerate(rng.dirichlet(np.full(N_TOPICS, 0.3), n_documents)):
        of_topic = rng.multinomial(30 + rng.poisson(20), theta)
        zbar[d] = of_topic / of_topic.sum()
        counts[d] = sum(rng.multinomial(n, topics[t]) for t, n in enumerate(of_topic))
    eta = 10.0 * np.eye(n_classes)[np.arange(N_TOPICS) % n_classes]
    noise = rng.gumbel(size=(n_documents, n_classes))
    return Planted(csr_matrix(counts), (zbar @ eta + noise).argmax(axis=1), topics)


def labelled(truth, per_document=3, seed=0, accuracy=ACCURACY, n_items=None):
    """Labels of two classes by annotators who are right so often."""
    rng = np.random.default_rng(seed)
    who = np.array([rng.permutation(len(accuracy))[:per_document] for _ in truth]).ravel()
    item = np.repeat(np.arange(len(truth)), per_document)
    label = np.where(rng.random(len(item)) < accuracy[who], truth[item], 1 - truth[item])
    return Annotations.from_arrays(
        item, who, label, items=range(n_items or len(truth)), annotators=range(len(accuracy))
    )


@pytest.fixture(scope="module")
def documents():
    return planted(400)


@pytest.fixture(scope="module")
def fit(documents):
    return fit_topic_classifier(documents.counts, labelled(documents.truth), n_topics=N_TOPICS)


def accuracy(probabilities, truth):
    return (probabilities.argmax(axis=1) == truth).mean()


def test_topics_are_found(documents, fit):
    assert fit.converged
    overlap = np.minimum(fit.topics_tw[:, None], documents.topics[None]).sum(axis=2)
    rows, columns = linear_sum_assignment(-overlap)
    assert overlap[rows, columns].mean() > 0.85


def test_annotators_are_found_and_the_spammer_with_them(fit):
    right_ak = fit.confusion_akl[:, [0, 1], [0, 1]]
    np.testing.assert_allclose(right_ak.mean(axis=1), ACCURACY, atol=0.07)
    spammer_kl = fit.confusion_akl[-1]
    np.testing.assert_allclose(spammer_kl[0], spammer_kl[1], atol=0.15)


def test_words_improve_the_classes(documents, fit):
    votes = labelled(documents.truth).label_counts()
    assert accuracy(fit.posterior_dk, documents.truth) > accuracy(votes, documents.truth) + 0.05


def test_a_crowd_is_almost_as_good_as_a_perfect_annotator(documents, fit):
    new = planted(400, draw=1)
    perfect = labelled(documents.truth, 1, accuracy=np.array([1.0]))
    ideal = fit_topic_classifier(documents.counts, perfect, n_topics=N_TOPICS)
    assert accuracy(ideal.posterior_dk, documents.truth) > 0.99
    best = accuracy(predict_classes(ideal, new.counts), new.truth)
    assert best > 0.85
    assert accuracy(predict_classes(fit, new.counts), new.truth) > best - 0.03


def test_documents_without_labels_do_no_harm(documents, fit):
    more, new = planted(400, draw=2), planted(400, draw=1)
    both = csr_matrix(np.vstack([documents.counts.toarray(), more.counts.toarray()]))
    wide = fit_topic_classifier(both, labelled(documents.truth, n_items=800), n_topics=N_TOPICS)
    narrow = accuracy(predict_classes(fit, new.counts), new.truth)
    assert accuracy(predict_classes(wide, new.counts), new.truth) > narrow - 0.03
    predicted = predict_classes(wide, more.counts)  # a few documents are ambiguous
    assert np.abs(wide.posterior_dk[400:] - predicted).mean() < 0.01
    assert accuracy(wide.posterior_dk[400:], more.truth) > narrow - 0.05


def test_few_labels_per_document_are_enough(documents):
    fit = fit_topic_classifier(documents.counts, labelled(documents.truth, 1), n_topics=N_TOPICS)
    new = planted(400, draw=1)
    assert accuracy(predict_classes(fit, new.counts), new.truth) > 0.8


def test_topics_that_start_from_classes_end_in_a_higher_bound(documents, fit):
    rng = np.random.default_rng(0)
    labels = labelled(documents.truth)
    others = [
        fit_topic_classifier(
            documents.counts, labels, n_topics=N_TOPICS, start_tw=start_tw
        ).objective[-1]
        for start_tw in rng.gamma(100.0, 0.01, size=(3, N_TOPICS, N_WORDS))
    ]
    assert fit.objective[-1] > np.mean(others)
