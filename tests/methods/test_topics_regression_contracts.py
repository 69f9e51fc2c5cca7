"""Topics for numbers keep the contracts: order and units, odd tables, seeds, errors."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from manyhands.methods.topics.regression import fit_topic_regressor, predict_values

N_DOCUMENTS, N_WORDS, N_TOPICS, N_ANNOTATORS = 30, 12, 3, 6


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    words = rng.dirichlet(np.full(N_WORDS, 0.3), N_TOPICS)
    theta = rng.dirichlet(np.full(N_TOPICS, 0.5), N_DOCUMENTS)
    counts = np.array([rng.multinomial(25, each @ words) for each in theta])
    truth = theta @ [-2.0, 0.0, 3.0]
    item = np.repeat(np.arange(N_DOCUMENTS), 3)
    who = np.concatenate([rng.permutation(N_ANNOTATORS)[:3] for _ in truth])
    label = truth[item] + rng.normal(size=N_ANNOTATORS)[who] + 0.5 * rng.normal(size=len(item))
    return counts, item, who, label


@pytest.fixture(scope="module")
def start_tw():
    return np.random.default_rng(1).gamma(50.0, 0.02, size=(N_TOPICS, N_WORDS))


def annotations(item, who, label, n_items=N_DOCUMENTS):
    names = {"items": range(n_items), "annotators": range(N_ANNOTATORS), "kind": "numbers"}
    return Annotations.from_arrays(item, who, label, **names)


def fitted(counts, ann, start_tw=None, **more):
    return fit_topic_regressor(
        counts, ann, n_topics=N_TOPICS, start_tw=start_tw, max_iter=30, **more
    )


@pytest.fixture(scope="module")
def plain(table, start_tw):
    counts, *labels = table
    return fitted(counts, annotations(*labels), start_tw)


def alike(left, right):
    np.testing.assert_allclose(left, right, atol=1e-5, rtol=1e-5)


def test_permuting_documents_permutes_the_outcome(table, start_tw, plain):
    counts, item, who, label = table
    order = np.random.default_rng(0).permutation(N_DOCUMENTS)
    fit = fitted(counts[order], annotations(np.argsort(order)[item], who, label), start_tw)
    alike(fit.value_d, plain.value_d[order])
    alike(fit.variance_d, plain.variance_d[order])
    alike(fit.gamma_dt, plain.gamma_dt[order])
    alike(fit.eta_t, plain.eta_t)
    alike(fit.bias_a, plain.bias_a)


def test_the_start_does_not_depend_on_the_order_of_documents(table):
    counts, item, who, label = table
    order = np.random.default_rng(0).permutation(N_DOCUMENTS)
    plain = fitted(counts, annotations(item, who, label))
    fit = fitted(counts[order], annotations(np.argsort(order)[item], who, label))
    alike(fit.topics_tw, plain.topics_tw)
    alike(fit.value_d, plain.value_d[order])


def test_permuting_annotators_permutes_them(table, start_tw, plain):
    counts, item, who, label = table
    order = np.random.default_rng(2).permutation(N_ANNOTATORS)
    fit = fitted(counts, annotations(item, np.argsort(order)[who], label), start_tw)
    alike(fit.bias_a, plain.bias_a[order])
    alike(fit.precision_a, plain.precision_a[order])
    alike(fit.value_d, plain.value_d)


def test_permuting_topics_permutes_them(table, start_tw, plain):
    counts, *labels = table
    order = np.array([2, 0, 1])
    fit = fitted(counts, annotations(*labels), start_tw[order])
    alike(fit.topics_tw, plain.topics_tw[order])
    alike(fit.eta_t, plain.eta_t[order])
    alike(fit.value_d, plain.value_d)


@pytest.mark.parametrize("own_start", [False, True])
def test_unit_and_zero_of_labels_are_kept(table, start_tw, own_start):
    counts, item, who, label = table
    start, centre, size = None if own_start else start_tw, -70.0, 40.0
    plain = fitted(counts, annotations(item, who, label), start)
    fit = fitted(counts, annotations(item, who, centre + size * label), start)
    alike(fit.objective, plain.objective)
    predicted = predict_values(fit, counts)
    alike(predicted, centre + size * predict_values(plain, counts))
    alike(fit.value_d, centre + size * plain.value_d)
    alike(fit.eta_t, centre + size * plain.eta_t)
    alike(fit.variance_d, size**2 * plain.variance_d)
    alike(fit.error_variance, size**2 * plain.error_variance)
    alike(fit.bias_a, size * plain.bias_a)
    alike(fit.precision_a * size**2, plain.precision_a)


def test_empty_documents_without_labels_change_nothing(table, start_tw):
    counts, *labels = table
    padded = np.vstack([counts, np.zeros((5, N_WORDS), dtype=int)])
    few = fitted(counts, annotations(*labels), start_tw, tol=0.0)
    fit = fitted(padded, annotations(*labels, n_items=N_DOCUMENTS + 5), start_tw, tol=0.0)
    alike(fit.topics_tw, few.topics_tw)
    alike(fit.precision_a, few.precision_a)
    alike(fit.error_variance, few.error_variance)
    alike(fit.value_d[:N_DOCUMENTS], few.value_d)
    alike(fit.value_d[N_DOCUMENTS:], predict_values(fit, padded[N_DOCUMENTS:]))


def test_documents_without_labels_are_predicted_by_their_words_and_change_topics(table, start_tw):
    counts, item, who, label = table
    seen = item < 20
    ann = annotations(item[seen], who[seen], label[seen])
    fit = fitted(counts, ann, start_tw, tol=0.0)
    predicted = predict_values(fit, counts[20:])  # from another start, to the same topics
    np.testing.assert_allclose(fit.value_d[20:], predicted, atol=1e-3)
    assert (fit.variance_d[20:] >= fit.error_variance).all()
    fewer = fitted(counts[:20], ann[np.arange(20)], start_tw, tol=0.0)
    assert np.abs(fit.topics_tw - fewer.topics_tw).max() > 1e-3


def test_empty_documents_are_predicted_by_their_labels(table, start_tw):
    counts, item, who, label = table
    emptied = counts.copy()
    emptied[:10] = 0
    fit = fitted(emptied, annotations(item, who, np.where(item == 0, 9.0, label)), start_tw)
    assert fit.value_d[0] > fit.value_d[1:].max()
    everything_empty = fitted(0 * counts, annotations(item, who, label), start_tw)
    assert np.isfinite(everything_empty.value_d).all()


@pytest.mark.parametrize("n_topics", [1, 2])
def test_one_document_one_word_one_label(n_topics):
    ann = Annotations.from_arrays(["d"], ["u"], [2.5])
    fit = fit_topic_regressor([[1]], ann, n_topics=n_topics)
    np.testing.assert_allclose(fit.value_d, [2.5])
    np.testing.assert_allclose(predict_values(fit, [[0], [7]]), [2.5, 2.5])


@pytest.mark.parametrize("off", [0.0, 20.0])
def test_an_annotator_with_one_label_has_little_effect(table, start_tw, plain, off):
    counts, item, who, label = table
    new = np.append(item, 0), np.append(who, N_ANNOTATORS), np.append(label, label[0] + off)
    fit = fitted(counts, Annotations.from_arrays(*new), start_tw)
    crowd = np.mean(plain.precision_a)
    assert fit.precision_a[-1] < 1.3 * crowd
    assert abs(fit.value_d[0] - plain.value_d[0]) < 0.05 * off + 0.2
    if off == 0.0:  # an average annotator
        assert fit.precision_a[-1] > 0.7 * crowd
        assert abs(fit.bias_a[-1]) < 0.5


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(table, monkeypatch):
    counts, *labels = table
    fits = []
    for threads in ("1", "1", "3"):
        monkeypatch.setenv("MANYHANDS_THREADS", threads)
        fits.append(fitted(counts, annotations(*labels), seed=4))
    for other in fits[1:]:
        assert other.objective == fits[0].objective
        np.testing.assert_array_equal(other.value_d, fits[0].value_d)
        np.testing.assert_array_equal(other.zeta_tw, fits[0].zeta_tw)
    assert fitted(counts, annotations(*labels), seed=5).objective != fits[0].objective


def test_sparse_and_dense_counts_give_the_same_and_are_not_changed(table, start_tw, plain):
    counts, *labels = table
    sparse, before = csr_matrix(counts), csr_matrix(counts)
    fit = fitted(sparse, annotations(*labels), start_tw)
    np.testing.assert_array_equal(fit.value_d, plain.value_d)
    np.testing.assert_array_equal(predict_values(fit, sparse), predict_values(plain, counts))
    np.testing.assert_array_equal(sparse.data, before.data)


def test_invalid_requests_raise(table, plain):
    counts, *labels = table
    ann = annotations(*labels)
    with pytest.raises(DataError, match="29 rows of counts for 30 items"):
        fit_topic_regressor(counts[:29], ann)
    with pytest.raises(DataError, match="11 columns of counts where the topics are of 12"):
        predict_values(plain, counts[:, :11])
    with pytest.raises(DataError, match=r"start_tw must have the shape \(3, 12\); got \(2, 12\)"):
        fitted(counts, ann, np.ones((2, N_WORDS)))
    with pytest.raises(DataError, match="not a single label"):
        fit_topic_regressor(counts, annotations([], [], []))
    with pytest.raises(DataError, match="numbers"):
        fit_topic_regressor([[1], [2]], Annotations.from_arrays([0, 1], [0, 0], ["yes", "no"]))
    for setting in ("alpha", "word_prior", "bias_strength", "prior_strength", "l2"):
        with pytest.raises(SettingError, match=f"{setting} must be above 0; got 0"):
            fit_topic_regressor(counts, ann, **{setting: 0.0})
    with pytest.raises(SettingError, match="n_topics must be >= 1; got 0"):
        fit_topic_regressor(counts, ann, n_topics=0)
