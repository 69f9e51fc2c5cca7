"""Topics for classes: the bound matches its definition, is below the evidence, never falls."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from scipy.special import entr, gammaln, logsumexp, psi

from manyhands.annotations import Annotations
from manyhands.methods.topics.classification import ClassResponse, fit_topic_classifier, normalisers
from manyhands.methods.topics.corpus import as_corpus
from manyhands.methods.topics.kernels import Sweeps, Topics, digamma
from manyhands.methods.topics.variational import DocumentPosterior, expected_log, negative_kl
from random_tables import random_labels

ALPHA, WORD_PRIOR, OMEGA = 0.3, 0.2, 0.7


def random_documents(seed, n_documents=12, n_words=7, mean=1.0):
    """Counts without structure; some documents are empty, some words occur many times."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(mean * rng.exponential(size=(n_documents, n_words)) ** 2)
    counts[rng.integers(n_documents)] = 0
    return counts


def labels(seed, n_classes, n_items=12):
    columns = random_labels(seed, n_items=n_items, n_classes=n_classes)
    return Annotations.from_arrays(
        *columns, items=range(n_items + 2), annotators=range(5), classes=range(n_classes)
    )  # two items have no labels


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n_topics=st.integers(1, 4),
    n_classes=st.integers(1, 4),
    mean=st.sampled_from([0.3, 1.0, 20.0]),
    l2=st.sampled_from([1e-3, 0.1, 10.0]),
    sweeps=st.integers(1, 4),
)
def test_the_bound_never_falls(seed, n_topics, n_classes, mean, l2, sweeps):
    fit = fit_topic_classifier(
        random_documents(seed, 14, mean=mean), labels(seed, n_classes),
        n_topics=n_topics, l2=l2, sweeps=sweeps, tol=0.0, max_iter=15, seed=seed,
    )  # fmt: skip
    assert len(fit.objective) == 15
    for before, after in itertools.pairwise(fit.objective):
        assert after >= before - 1e-9 * max(1.0, abs(before))
    for probabilities in (fit.topics_tw, fit.confusion_akl, fit.posterior_dk):
        np.testing.assert_allclose(probabilities.sum(axis=-1), 1.0)


class Tiny:
    """A tiny model in the middle of its fit: posterior, parameters, and their bound."""

    def __init__(self, counts, annotations, n_topics, seed, eta_scale):
        rng = np.random.default_rng(seed)
        self.counts, self.ann, self.corpus = np.asarray(counts), annotations, as_corpus(counts)
        response = ClassResponse.initial(annotations, n_topics, omega=OMEGA, l2=0.0)
        eta_kt = rng.normal(scale=eta_scale, size=response.eta_kt.shape)
        xi_alk = response.xi_alk + rng.exponential(size=response.xi_alk.shape)
        self.response = ClassResponse(
            annotations, OMEGA, 0.0, eta_kt, xi_alk, response.posterior_dk
        )
        self.zeta_wt = rng.gamma(1.0, size=(self.counts.shape[1], n_topics)) + 0.1
        self.posterior = DocumentPosterior.uniform(self.corpus, n_topics, ALPHA)
        self.bound = self.e_step(3)

    def e_step(self, sweeps):
        topics = Topics(expected_log(self.zeta_wt, axis=0), ALPHA, Sweeps(sweeps, 0.0))
        bound = self.response.e_step(self.corpus, self.posterior, topics)
        bound += negative_kl(self.zeta_wt, WORD_PRIOR, axis=0)
        return bound + self.response.prior_term()


def dirichlet_gain(belief, prior):
    """E log p - E log q of one Dirichlet belief, straight from the densities."""
    expected = psi(belief) - psi(belief.sum())
    log_p = gammaln(prior * len(belief)) - len(belief) * gammaln(prior)
    log_p += ((prior - 1) * expected).sum()
    log_q = gammaln(belief.sum()) - gammaln(belief).sum() + ((belief - 1) * expected).sum()
    return log_p - log_q


def naive_bound(tiny):
    """The bound token by token and label by label, on dense arrays."""
    zeta, gamma, eta = tiny.zeta_wt, tiny.posterior.gamma_dt, tiny.response.eta_kt
    xi, q = tiny.response.xi_alk, tiny.response.posterior_dk
    n_topics = zeta.shape[1]
    total = sum(dirichlet_gain(zeta[:, t], WORD_PRIOR) for t in range(n_topics))
    for a, k in np.ndindex(xi.shape[0], xi.shape[2]):
        total += dirichlet_gain(xi[a, :, k], OMEGA)
    for d, row in enumerate(tiny.counts):
        total += dirichlet_gain(gamma[d], ALPHA)
        phi = tiny.posterior.phi_jt[tiny.corpus.offsets[d] : tiny.corpus.offsets[d + 1]]
        tokens = np.repeat(phi, row[row > 0], axis=0)
        words = np.repeat(np.flatnonzero(row), row[row > 0])
        log_theta = psi(gamma[d]) - psi(gamma[d].sum())
        for token, w in zip(tokens, words, strict=True):
            log_beta = psi(zeta[w]) - psi(zeta.sum(axis=0))
            total += (token * (log_theta + log_beta) + entr(token)).sum()
        mine = tiny.ann.item == d
        if not mine.any():
            continue
        zbar = tokens.mean(axis=0) if len(tokens) else np.full(n_topics, 1 / n_topics)
        total += (q[d] * (eta @ zbar) + entr(q[d])).sum()
        for a, y in zip(tiny.ann.annotator[mine], tiny.ann.label[mine], strict=True):
            total += (q[d] * (psi(xi[a, y]) - psi(xi[a].sum(axis=0)))).sum()
        if len(tokens):
            total -= np.log(np.prod(tokens @ np.exp(eta / len(tokens)).T, axis=0).sum())
        else:
            total -= logsumexp(eta @ zbar)
    return total


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_matches_the_naive_sum(seed, n_classes):
    counts = random_documents(seed, 14)
    tiny = Tiny(counts, labels(seed, n_classes), 3, seed, eta_scale=4.0)
    assert tiny.bound == pytest.approx(naive_bound(tiny), rel=1e-11)


def exact_evidence(tiny):
    """log p(words, labels), by adding up all topics of all words and all classes."""
    counts, ann = tiny.counts, tiny.ann
    n_words, n_topics = tiny.zeta_wt.shape
    owner, word = (np.repeat(each, counts[counts > 0]) for each in np.nonzero(counts))
    logs = []
    for z in itertools.product(range(n_topics), repeat=len(word)):
        of_doc, of_word = np.zeros((len(counts), n_topics)), np.zeros((n_topics, n_words))
        np.add.at(of_doc, (owner, z), 1)
        np.add.at(of_word, (z, word), 1)
        score = tiny.response.eta_kt @ (of_doc / of_doc.sum(axis=1, keepdims=True)).T
        log_class = score - logsumexp(score, axis=0)
        log_words = drawn(of_doc, ALPHA) + drawn(of_word, WORD_PRIOR)
        for c in itertools.product(range(ann.n_classes), repeat=len(counts)):
            of_label = np.zeros((ann.n_annotators, ann.n_classes, ann.n_classes))
            np.add.at(of_label, (ann.annotator, np.array(c)[ann.item], ann.label), 1)
            logs.append(log_words + log_class[c, range(len(counts))].sum() + drawn(of_label, OMEGA))
    return logsumexp(logs)


def drawn(counts, prior):
    """The log-probability of draws whose shares have a Dirichlet prior, along the last axis."""
    width = counts.shape[-1]
    each = gammaln(width * prior) - gammaln(width * prior + counts.sum(axis=-1))
    return each.sum() + (gammaln(prior + counts) - gammaln(prior)).sum()


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_is_below_the_evidence(seed):
    counts = [[2, 1, 0], [0, 1, 2]]
    ann = Annotations.from_arrays([0, 0, 1], ["u", "v", "v"], [0, 1, 1])
    tiny = Tiny(counts, ann, 2, seed, eta_scale=2.0)
    evidence = exact_evidence(tiny)
    for _ in range(30):  # so that the bound is tight
        tiny.zeta_wt = WORD_PRIOR + tiny.corpus.count_wj @ tiny.posterior.phi_jt
        response = tiny.response.m_step(tiny.corpus, tiny.posterior)
        tiny.response = ClassResponse(
            ann, OMEGA, 0.0, tiny.response.eta_kt, response.xi_alk, response.posterior_dk
        )
        bound = tiny.e_step(5)
    assert evidence - 5.0 < bound < evidence


def test_the_gradient_of_the_normaliser_matches_finite_differences():
    tiny = Tiny(random_documents(0, 14), labels(0, 3), 4, 0, eta_scale=3.0)
    is_labelled_d = tiny.ann.labels_per_item > 0
    shape = tiny.response.eta_kt.shape

    def part(which):
        return lambda flat: np.ravel(
            normalisers(tiny.corpus, tiny.posterior, is_labelled_d, flat.reshape(shape))[which]
        )

    flat = tiny.response.eta_kt.ravel()
    assert check_grad(lambda x: part(0)(x)[0], part(1), flat) < 1e-5


def test_the_digamma_function_is_exact():
    x = np.concatenate([np.geomspace(1e-6, 1e6, 500), np.arange(1, 30)])
    np.testing.assert_allclose([digamma(each) for each in x], psi(x), rtol=1e-13, atol=1e-14)
