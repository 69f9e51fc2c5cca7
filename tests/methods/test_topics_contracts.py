"""Topics for classes keep the contracts: order and names, odd tables, seeds, invalid requests."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from manyhands.methods.topics.classification import fit_topic_classifier
from methods.topics_cases import predict_classes

N_DOCUMENTS, N_WORDS, N_TOPICS, N_CLASSES = 30, 12, 3, 3


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    truth = rng.integers(0, N_CLASSES, N_DOCUMENTS)
    words = rng.dirichlet(np.full(N_WORDS, 0.3), N_CLASSES)
    counts = np.array([rng.multinomial(25, words[k]) for k in truth])
    item = np.repeat(np.arange(N_DOCUMENTS), 3)
    who = np.concatenate([rng.permutation(6)[:3] for _ in truth])
    right = rng.random(len(item)) < 0.75
    label = np.where(right, truth[item], rng.integers(0, N_CLASSES, len(item)))
    return counts, item, who, label


@pytest.fixture(scope="module")
def start_tw():
    return np.random.default_rng(1).gamma(50.0, 0.02, size=(N_TOPICS, N_WORDS))


def annotations(item, who, label, n_items=N_DOCUMENTS):
    return Annotations.from_arrays(
        item, who, label, items=range(n_items), annotators=range(6), classes=range(N_CLASSES)
    )


def fitted(counts, ann, start_tw=None, **more):
    return fit_topic_classifier(
        counts, ann, n_topics=N_TOPICS, start_tw=start_tw, max_iter=30, **more
    )


@pytest.fixture(scope="module")
def plain(table, start_tw):
    counts, *labels = table
    return fitted(counts, annotations(*labels), start_tw)


def alike(left, right):
    np.testing.assert_allclose(left, right, atol=1e-6, rtol=1e-6)


def test_permuting_documents_permutes_the_outcome(table, start_tw, plain):
    counts, item, who, label = table
    order = np.random.default_rng(0).permutation(N_DOCUMENTS)
    place = np.argsort(order)
    fit = fitted(counts[order], annotations(place[item], who, label), start_tw)
    alike(fit.posterior_dk, plain.posterior_dk[order])
    alike(fit.gamma_dt, plain.gamma_dt[order])
    alike(fit.topics_tw, plain.topics_tw)
    alike(fit.confusion_akl, plain.confusion_akl)


def test_permuting_words_permutes_the_topics(table, start_tw):
    # Words are updated in their order: the steps differ, the maximum does not.
    counts, *labels = table
    order = np.random.default_rng(1).permutation(N_WORDS)
    to_the_end = {"n_topics": N_TOPICS, "max_iter": 3000, "tol": 1e-13}
    plain = fit_topic_classifier(counts, annotations(*labels), start_tw=start_tw, **to_the_end)
    fit = fit_topic_classifier(
        counts[:, order], annotations(*labels), start_tw=start_tw[:, order], **to_the_end
    )
    assert fit.objective[-1] == pytest.approx(plain.objective[-1], abs=1e-6)
    near = {"atol": 1e-3, "rtol": 1e-3}
    np.testing.assert_allclose(fit.topics_tw, plain.topics_tw[:, order], **near)
    np.testing.assert_allclose(fit.posterior_dk, plain.posterior_dk, **near)
    predicted = predict_classes(fit, counts[:, order])
    np.testing.assert_allclose(predicted, predict_classes(plain, counts), **near)


def test_permuting_annotators_permutes_their_confusions(table, start_tw, plain):
    counts, item, who, label = table
    order = np.random.default_rng(2).permutation(6)
    fit = fitted(counts, annotations(item, np.argsort(order)[who], label), start_tw)
    alike(fit.confusion_akl, plain.confusion_akl[order])
    alike(fit.posterior_dk, plain.posterior_dk)


@pytest.mark.parametrize("own_start", [False, True])
def test_permuting_classes_permutes_the_outcome(table, start_tw, own_start):
    counts, item, who, label = table
    order, start = np.array([2, 0, 1]), None if own_start else start_tw
    plain = fitted(counts, annotations(item, who, label), start)
    fit = fitted(counts, annotations(item, who, np.argsort(order)[label]), start)
    alike(fit.posterior_dk, plain.posterior_dk[:, order])
    alike(fit.confusion_akl, plain.confusion_akl[:, order][:, :, order])
    alike(fit.eta_tk, plain.eta_tk[:, order])


def test_empty_documents_without_labels_change_nothing(table, start_tw, plain):
    counts, *labels = table
    padded = np.vstack([counts, np.zeros((5, N_WORDS), dtype=int)])
    n_items = N_DOCUMENTS + 5
    # One step less or more would make a difference: all steps are made.
    few = fitted(counts, annotations(*labels), start_tw, tol=0.0)
    fit = fitted(padded, annotations(*labels, n_items=n_items), start_tw, tol=0.0)
    alike(fit.topics_tw, few.topics_tw)
    alike(fit.confusion_akl, few.confusion_akl)
    alike(fit.posterior_dk[:N_DOCUMENTS], few.posterior_dk)
    alike(fit.posterior_dk[N_DOCUMENTS:], predict_classes(fit, padded[N_DOCUMENTS:]))


def test_empty_documents_are_classified_by_their_labels(table, start_tw):
    counts, item, who, label = table
    emptied = counts.copy()
    emptied[:10] = 0
    fit = fitted(emptied, annotations(item, who, np.where(item == 0, 2, label)), start_tw)
    assert fit.posterior_dk[0].argmax() == 2
    assert np.isfinite(fit.objective).all()
    everything_empty = fitted(0 * counts, annotations(item, who, label), start_tw)
    assert np.isfinite(everything_empty.posterior_dk).all()


@pytest.mark.parametrize("n_topics", [1, 2])
def test_one_document_one_word_one_label(n_topics):
    ann = Annotations.from_arrays(["d"], ["u"], ["yes"])
    fit = fit_topic_classifier([[1]], ann, n_topics=n_topics)
    assert fit.posterior_dk.tolist() == [[1.0]]
    assert predict_classes(fit, [[0], [7]]).tolist() == [[1.0], [1.0]]


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(table, monkeypatch):
    counts, *labels = table
    fits = []
    for threads in ("1", "1", "3"):
        monkeypatch.setenv("MANYHANDS_THREADS", threads)
        fits.append(fitted(counts, annotations(*labels), seed=4))
    for other in fits[1:]:
        assert other.objective == fits[0].objective
        np.testing.assert_array_equal(other.posterior_dk, fits[0].posterior_dk)
        np.testing.assert_array_equal(other.zeta_tw, fits[0].zeta_tw)
    assert fitted(counts, annotations(*labels), seed=5).objective != fits[0].objective


def test_sparse_and_dense_counts_give_the_same_and_are_not_changed(table, start_tw, plain):
    counts, *labels = table
    sparse = csr_matrix(counts)
    sparse.data[:1] = 0  # a stored zero is no word
    dense = sparse.toarray()
    before = sparse.copy()
    first = fitted(sparse, annotations(*labels), start_tw)
    second = fitted(dense, annotations(*labels), start_tw)
    np.testing.assert_array_equal(first.posterior_dk, second.posterior_dk)
    assert sparse.nnz == before.nnz
    np.testing.assert_array_equal(sparse.data, before.data)


def test_invalid_requests_raise(table, plain):
    counts, *labels = table
    ann = annotations(*labels)
    with pytest.raises(DataError, match="29 rows of counts for 30 items"):
        fit_topic_classifier(counts[:29], ann)
    halved = counts.astype(float)
    halved[1, 2] = 0.5
    with pytest.raises(DataError, match=r"row 1, column 2 is 0.5; topic models take whole"):
        fit_topic_classifier(halved, ann)
    with pytest.raises(DataError, match="11 columns of counts where the topics are of 12"):
        predict_classes(plain, counts[:, :11])
    with pytest.raises(DataError, match=r"start_tw must have the shape \(3, 12\); got \(2, 12\)"):
        fitted(counts, ann, np.ones((2, N_WORDS)))
    with pytest.raises(DataError, match="not a single label"):
        fit_topic_classifier(counts, annotations([], [], []))
    for setting in ("alpha", "word_prior", "confusion_prior"):
        with pytest.raises(SettingError, match=f"{setting} must be above 0; got 0"):
            fit_topic_classifier(counts, ann, **{setting: 0.0})
    with pytest.raises(SettingError, match="n_topics must be >= 1; got 0"):
        fit_topic_classifier(counts, ann, n_topics=0)
