"""Topics for numbers: the bound matches its definition, is below the evidence, never falls."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import entr, gammaln, logsumexp, psi
from scipy.stats import multivariate_normal

from manyhands.aggregation.gaussian_steps import NetworkedParameters
from manyhands.annotations import Annotations
from manyhands.methods.topics.corpus import as_corpus
from manyhands.methods.topics.kernels import Sweeps, Topics
from manyhands.methods.topics.regression import RegressionResponse, fit_topic_regressor
from manyhands.methods.topics.regression_annotators import RegressionAnnotators
from manyhands.methods.topics.variational import DocumentPosterior, expected_log, negative_kl

ALPHA, WORD_PRIOR, L2 = 0.3, 0.2, 0.4
STEP = 1e-4  # of finite differences
TINY = [[2, 1, 0], [0, 3, 1], [0, 0, 0], [1, 0, 1]]


def random_documents(seed, n_documents=14, n_words=7, mean=1.0):
    """Counts without structure; some documents are empty, some words occur many times."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(mean * rng.exponential(size=(n_documents, n_words)) ** 2)
    counts[rng.integers(n_documents)] = 0
    return counts


def random_numbers(seed, n_documents=14, n_annotators=5, noise=1.0):
    """Random labels of random documents; the last two documents have none."""
    rng = np.random.default_rng(seed)
    n_labels = 3 * n_documents
    item, who = rng.integers(0, n_documents - 2, n_labels), rng.integers(0, n_annotators, n_labels)
    first = np.unique(np.stack([item, who]), axis=1)
    label = rng.normal(size=n_documents)[first[0]] + noise * rng.normal(size=first.shape[1])
    names = {"items": range(n_documents), "annotators": range(n_annotators)}
    return Annotations.from_arrays(*first, label, **names)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n_topics=st.integers(1, 4),
    mean=st.sampled_from([0.3, 1.0, 20.0]),
    noise=st.sampled_from([0.0, 0.1, 3.0]),
    l2=st.sampled_from([1e-3, 0.1, 10.0]),
    sweeps=st.integers(1, 4),
)
def test_the_bound_never_falls(seed, n_topics, mean, noise, l2, sweeps):
    fit = fit_topic_regressor(
        random_documents(seed, mean=mean), random_numbers(seed, noise=noise),
        n_topics=n_topics, l2=l2, sweeps=sweeps, tol=0.0, max_iter=15, seed=seed,
    )  # fmt: skip
    assert len(fit.objective) == 15
    for before, after in itertools.pairwise(fit.objective):
        assert after >= before - 1e-9 * max(1.0, abs(before))
    assert np.isfinite(fit.value_d).all()
    assert (fit.variance_d > 0).all()


class Tiny:
    """A tiny model in the middle of its fit: posterior, parameters, and their bound."""

    def __init__(self, counts, annotations, n_topics=2, seed=0, sweeps=2):
        rng = np.random.default_rng(seed)
        self.counts, self.corpus = np.asarray(counts), as_corpus(counts)
        annotators = RegressionAnnotators(annotations, 2.0, 3.0)
        initial = RegressionResponse.initial(annotators, n_topics, l2=L2)
        own = initial.parameters.annotators
        own = replace(
            own,
            bias_a=rng.normal(size=len(own.bias_a)),
            precision_a=own.precision_a * rng.gamma(3.0, size=len(own.bias_a)),
        )
        parameters = NetworkedParameters(own, rng.gamma(2.0) + 0.5)
        eta_t = rng.normal(scale=3.0, size=n_topics)
        self.response = replace(initial, eta_t=eta_t, parameters=parameters)
        self.zeta_wt = rng.gamma(1.0, size=(self.counts.shape[1], n_topics)) + 0.1
        self.posterior = DocumentPosterior.uniform(self.corpus, n_topics, ALPHA)
        self.bound = self.e_step(sweeps)

    def e_step(self, sweeps):
        topics = Topics(expected_log(self.zeta_wt, axis=0), ALPHA, Sweeps(sweeps, 0.0))
        bound = self.response.e_step(self.corpus, self.posterior, topics)
        bound += negative_kl(self.zeta_wt, WORD_PRIOR, axis=0)
        return bound + self.response.prior_term()


def log_labels(tiny, d, f):
    """log p(labels of d | f), the value integrated out: a normal with a full covariance."""
    ann, parameters = tiny.response.annotators.annotations, tiny.response.parameters
    mine = ann.item == d
    if not mine.any():
        return 0.0
    who = ann.annotator[mine]
    middle = f + parameters.annotators.bias_a[who]
    noise = np.diag(1.0 / parameters.annotators.precision_a[who])
    covariance = noise + 1 / parameters.network_precision
    return multivariate_normal.logpdf(ann.label[mine], middle, covariance)


def log_prior(tiny):
    """The priors of weights, annotators and rho, by the docstring of `RegressionAnnotators`."""
    parameters, prior = tiny.response.parameters, tiny.response.annotators
    w, s = parameters.annotators.crowd_variance, prior.prior_strength
    precision_a, rho = parameters.annotators.precision_a, parameters.network_precision
    total = -L2 * np.sum(tiny.response.eta_t**2) + 2.0 * (np.log(rho) - rho * w / 100)
    total += np.sum(s * (np.log(precision_a) - w * precision_a))
    return 0.5 * (total - np.sum(parameters.annotators.bias_a**2) * prior.bias_strength / w)


def dirichlet_gain(belief, prior):
    """E log p - E log q of one Dirichlet belief, straight from the densities."""
    expected = psi(belief) - psi(belief.sum())
    log_p = gammaln(prior * len(belief)) - len(belief) * gammaln(prior)
    log_p += ((prior - 1) * expected).sum()
    log_q = gammaln(belief.sum()) - gammaln(belief).sum() + ((belief - 1) * expected).sum()
    return log_p - log_q


def naive_bound(tiny):
    """The bound token by token; the labels' part by enumerating the topics of all words."""
    zeta, gamma, eta = tiny.zeta_wt, tiny.posterior.gamma_dt, tiny.response.eta_t
    total = log_prior(tiny)
    total += sum(dirichlet_gain(zeta[:, t], WORD_PRIOR) for t in range(zeta.shape[1]))
    for d, row in enumerate(tiny.counts):
        phi = tiny.posterior.phi_jt[tiny.corpus.offsets[d] : tiny.corpus.offsets[d + 1]]
        tokens = np.repeat(phi, row[row > 0], axis=0)
        words = np.repeat(np.flatnonzero(row), row[row > 0])
        log_theta = psi(gamma[d]) - psi(gamma[d].sum())
        total += dirichlet_gain(gamma[d], ALPHA)
        for token, w in zip(tokens, words, strict=True):
            log_beta = psi(zeta[w]) - psi(zeta.sum(axis=0))
            total += (token * (log_theta + log_beta) + entr(token)).sum()
        if not len(tokens):
            total += log_labels(tiny, d, eta.mean())
            continue
        for z in itertools.product(range(len(eta)), repeat=len(tokens)):
            probability = np.prod(tokens[range(len(tokens)), z])
            total += probability * log_labels(tiny, d, eta[list(z)].mean())
    return total


@pytest.fixture
def tiny_labels():
    # The empty document is labelled too, the last one is not.
    item, who = [0, 0, 1, 1, 1, 2], ["u", "v", "u", "v", "w", "w"]
    return Annotations.from_arrays(item, who, [1.0, 0.2, -0.5, -1.5, 0.4, 2.0], items=range(4))


@pytest.mark.parametrize("n_topics", [1, 2, 3])
@pytest.mark.parametrize("sweeps", [1, 3])
def test_the_bound_matches_the_naive_sum(tiny_labels, n_topics, sweeps):
    tiny = Tiny(TINY, tiny_labels, n_topics, sweeps=sweeps)
    assert tiny.bound == pytest.approx(naive_bound(tiny), rel=1e-10)


def drawn(counts, prior):
    """The log-probability of draws whose shares have a Dirichlet prior, along the last axis."""
    width = counts.shape[-1]
    each = gammaln(width * prior) - gammaln(width * prior + counts.sum(axis=-1))
    return each.sum() + (gammaln(prior + counts) - gammaln(prior)).sum()


def exact_evidence(tiny):
    """log p(words, labels), by adding up all topics of all words."""
    counts, eta = tiny.counts, tiny.response.eta_t
    owner, word = (np.repeat(each, counts[counts > 0]) for each in np.nonzero(counts))
    logs = []
    for z in itertools.product(range(len(eta)), repeat=len(word)):
        of_doc = np.zeros((len(counts), len(eta)))
        of_word = np.zeros((len(eta), counts.shape[1]))
        np.add.at(of_doc, (owner, z), 1)
        np.add.at(of_word, (z, word), 1)
        f_d = [eta @ each / each.sum() if each.any() else eta.mean() for each in of_doc]
        of_labels = sum(log_labels(tiny, d, f) for d, f in enumerate(f_d))
        logs.append(drawn(of_doc, ALPHA) + drawn(of_word, WORD_PRIOR) + of_labels)
    return logsumexp(logs) + log_prior(tiny)


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_below_the_evidence(tiny_labels, seed):
    counts = [[2, 1, 0], [0, 2, 1], [0, 0, 0], [1, 0, 1]]
    tiny = Tiny(counts, tiny_labels, 2, seed)
    for _ in range(30):  # so that the bound is tight
        tiny.zeta_wt = WORD_PRIOR + tiny.corpus.count_wj @ tiny.posterior.phi_jt
        bound = tiny.e_step(5)
    evidence = exact_evidence(tiny)
    assert evidence - 5.0 < bound < evidence


def slopes(value, at):
    """Central differences of a function of a vector."""
    steps = STEP * np.eye(len(at))
    return [(value(at + step) - value(at - step)) / (2 * STEP) for step in steps]


def with_cell(tiny, j, log_phi):
    phi_jt = tiny.posterior.phi_jt.copy()
    phi_jt[j] = np.exp(log_phi - logsumexp(log_phi))
    other = object.__new__(Tiny)
    vars(other).update(vars(tiny) | {"posterior": replace(tiny.posterior, phi_jt=phi_jt)})
    return other


@pytest.mark.parametrize("seed", range(3))
def test_many_sweeps_end_at_a_maximum_of_the_naive_bound(tiny_labels, seed):
    tiny = Tiny(TINY, tiny_labels, 3, seed, sweeps=300)
    for j, phi in enumerate(tiny.posterior.phi_jt):

        def bound_of(log_phi, j=j):
            return naive_bound(with_cell(tiny, j, log_phi))

        np.testing.assert_allclose(slopes(bound_of, np.log(phi)), 0.0, atol=1e-5)


def test_repeated_words_do_not_overshoot():
    # With equal words and precise labels, full steps oscillate.
    ann = Annotations.from_arrays([0, 0, 1, 1], list("uvuv"), [0.5, 0.52, -0.5, -0.48])
    tiny = Tiny([[30, 0], [25, 2]], ann, 3, seed=1, sweeps=1)
    heavy = replace(tiny.response.parameters, network_precision=30.0)
    tiny.response = replace(tiny.response, eta_t=np.array([-9.0, 1.0, 8.0]), parameters=heavy)
    bounds = [tiny.e_step(1) for _ in range(200)]
    assert (np.diff(bounds) > -1e-9 * np.abs(bounds[1:])).all()
    assert bounds[-1] - bounds[-2] < 1e-6


def test_eta_is_a_maximum_of_the_bound(tiny_labels):
    tiny = Tiny(TINY, tiny_labels, 3)
    eta_t = tiny.response.best_eta(tiny.corpus, tiny.posterior)

    def bound_of(eta_t):
        tiny.response = replace(tiny.response, eta_t=eta_t)
        return naive_bound(tiny)

    np.testing.assert_allclose(slopes(bound_of, eta_t), 0.0, atol=1e-6)


def test_annotators_and_rho_converge_to_a_maximum_of_the_bound():
    tiny = Tiny(random_documents(3), random_numbers(3), 3)
    annotators, prediction = tiny.response.annotators, tiny.response.prediction
    parameters = tiny.response.parameters
    for _ in range(3000):
        parameters = annotators.improve(prediction, parameters)
    own = parameters.annotators

    def bound_of(flat):
        bias_a, log_precision_a = flat[:5], flat[5:10]
        other = replace(own, bias_a=bias_a, precision_a=np.exp(log_precision_a))
        other = NetworkedParameters(other, np.exp(flat[10]))
        return annotators.bound(prediction, other) + annotators.log_prior(other)

    log_rho = np.log([parameters.network_precision])
    top = np.concatenate([own.bias_a, np.log(own.precision_a), log_rho])
    np.testing.assert_allclose(slopes(bound_of, top), 0.0, atol=1e-5)


def test_a_shift_from_biases_to_weights_changes_priors_only(tiny_labels):
    tiny = Tiny(TINY, tiny_labels, 3)
    response, before, prior = tiny.response, naive_bound(tiny), log_prior(tiny)
    eta_t, parameters = response.annotators.shift_biases(response.eta_t, L2, response.parameters)
    tiny.response = replace(response, eta_t=eta_t, parameters=parameters)
    assert naive_bound(tiny) - log_prior(tiny) == pytest.approx(before - prior, abs=1e-9)
    best = log_prior(tiny)
    assert best > prior
    for shift in (-0.01, 0.01):
        own = parameters.annotators
        shifted = replace(parameters, annotators=replace(own, bias_a=own.bias_a - shift))
        tiny.response = replace(response, eta_t=eta_t + shift, parameters=shifted)
        assert log_prior(tiny) < best
