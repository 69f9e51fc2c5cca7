"""Variational EM for topics, for any response: how topics and labels depend on each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from scipy.special import gammaln, psi

from manyhands.aggregation.em import run_em
from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.core.kernels import run_blocks
from manyhands.core.settings import require
from manyhands.methods.topics.corpus import Corpus, as_corpus
from manyhands.methods.topics.kernels import count_words, update_unlabelled_block


@dataclass(frozen=True)
class TopicFit:
    """The topics and the documents that were fitted.

    `zeta_tw` and `gamma_dt` are the Dirichlet posteriors of the words of a topic and of the topics
    of a document.
    """

    zeta_tw: Floats
    gamma_dt: Floats
    alpha: float
    objective: tuple[float, ...]
    converged: bool

    @property
    def topics_tw(self) -> Floats:
        """The expected probabilities of the words in every topic."""
        return np.asarray(self.zeta_tw / self.zeta_tw.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Sweeps:
    """How often the words of a document are swept in one E-step.

    The sweeps end after `max_sweeps`, or when a sweep moves the count of a topic by less than
    `tol` words on average.
    """

    max_sweeps: int
    tol: float = 1e-3


UNTIL_CONVERGED = Sweeps(max_sweeps=100, tol=1e-4)


@dataclass(frozen=True)
class DocumentPosterior:
    """The posterior of the topics of all documents, updated in place.

    ::

        q(z_j) = phi[j],    q(theta_d) = Dirichlet(gamma[d]),    gamma[d] = alpha + sum_j c_j phi[j]

    Memory: cells x topics numbers, for the topics of every word of every document.
    """

    alpha: float
    phi_jt: Floats
    gamma_dt: Floats

    @classmethod
    def uniform(cls, corpus: Corpus, n_topics: int, alpha: float) -> "DocumentPosterior":
        """All topics are equally probable, for every word."""
        gamma_dt = alpha + np.repeat(corpus.size_d[:, None] / n_topics, n_topics, axis=1)
        return cls(alpha, np.full((corpus.n_cells, n_topics), 1.0 / n_topics), gamma_dt)

    def mean_topic_dt(self) -> Floats:
        """The mean topic of a document's words, E zbar; without words, that of the prior."""
        n_topics = self.gamma_dt.shape[1]
        count_dt = self.gamma_dt - self.alpha
        size_d = count_dt.sum(axis=1, keepdims=True)
        even_dt = np.full_like(count_dt, 1.0 / n_topics)
        return np.asarray(np.divide(count_dt, size_d, out=even_dt, where=size_d > 0.5))

    def word_counts(self, corpus: Corpus) -> Floats:
        """How often every word belongs to every topic, sum_j c_j phi[j], shape (w, t)."""
        counts_wt = np.zeros((corpus.n_words, self.phi_jt.shape[1]))
        order, offsets = corpus.word_order, corpus.word_offsets

        def work(words: tuple[int, int]) -> None:
            count_words(*words, offsets, order, corpus.count, self.phi_jt, counts_wt)

        run_blocks(work, corpus.word_blocks)
        return counts_wt


class Response(Protocol):
    """The part of a topic model that relates the topics of a document to its labels."""

    def e_step(
        self, corpus: Corpus, posterior: DocumentPosterior, log_word_wt: Floats, sweeps: Sweeps
    ) -> float:
        """Update the posterior of every document, in place; return the sum of their bounds."""

    def m_step(self, corpus: Corpus, posterior: DocumentPosterior) -> Self:
        """The response with parameters at least as good for this posterior."""

    def prior_term(self) -> float:
        """The contribution of the response's own parameters to the bound."""


R = TypeVar("R", bound=Response)


@dataclass(frozen=True)
class _State(Generic[R]):
    """The topics, q(beta_t) = Dirichlet(zeta[:,t]), and the response."""

    zeta_wt: Floats
    response: R


def run_variational_em(
    corpus: Corpus,
    first_wt: Floats,
    response: R,
    *,
    n_labels: int,
    alpha: float,
    word_prior: float,
    sweeps: int,
    max_iter: int,
    tol: float,
) -> tuple[TopicFit, R]:
    """Maximise the bound, from the first topics on; return the topics and the response.

    ::

        E:  phi, gamma and the response's posterior of every document, one after another
        M:  zeta[w,t] = word_prior + sum_j c_j phi[j,t] over the cells of word w; the response

    The bound of a state is that of its parameters together with the posterior after its E-step.
    EM ends when a step gains less than `tol` per word and label. A last E-step sweeps the
    documents until they converge.
    """
    posterior = DocumentPosterior.uniform(corpus, first_wt.shape[1], alpha)

    def e_step(state: _State[R], sweeps: Sweeps) -> float:
        log_word_wt = expected_log(state.zeta_wt, axis=0)
        return state.response.e_step(corpus, posterior, log_word_wt, sweeps)

    def step(state: _State[R]) -> tuple[_State[R], float]:
        bound = e_step(state, Sweeps(sweeps)) + state.response.prior_term()
        bound += negative_kl(state.zeta_wt, word_prior, axis=0)
        zeta_wt = word_prior + posterior.word_counts(corpus)
        return _State(zeta_wt, state.response.m_step(corpus, posterior)), bound

    min_gain = tol * (float(corpus.count.sum()) + n_labels)
    run = run_em(_State(first_wt, response), step, max_iter=max_iter, tol=min_gain)
    e_step(run.state, UNTIL_CONVERGED)
    zeta_tw = np.ascontiguousarray(run.state.zeta_wt.T)
    fit = TopicFit(zeta_tw, posterior.gamma_dt, alpha, run.objective, run.converged)
    return fit, run.state.response


def infer_topics(zeta_tw: Floats, alpha: float, counts: Any) -> Floats:
    """The mean topic of new documents by their words alone, E zbar, shape (d, t)."""
    corpus = as_corpus(counts)
    n_topics, n_words = zeta_tw.shape
    if corpus.n_words != n_words:
        raise DataError(f"{corpus.n_words} columns of counts where the topics are of {n_words}")
    posterior = DocumentPosterior.uniform(corpus, n_topics, alpha)
    log_word_wt = np.ascontiguousarray(expected_log(zeta_tw, axis=1).T)

    def work(documents: tuple[int, int]) -> float:
        return update_unlabelled_block(
            *documents,
            corpus.offsets,
            corpus.word,
            corpus.count,
            log_word_wt,
            alpha,
            UNTIL_CONVERGED.max_sweeps,
            UNTIL_CONVERGED.tol,
            posterior.phi_jt,
            posterior.gamma_dt,
        )

    run_blocks(work, corpus.document_blocks)
    return posterior.mean_topic_dt()


def expected_log(belief: Floats, axis: int) -> Floats:
    """E log p_j = psi(b_j) - psi(sum_j b_j) for p ~ Dirichlet(b) along an axis.

    >>> expected_log(np.array([1.0, 1.0]), axis=0).round(6).tolist()
    [-1.0, -1.0]
    """
    return np.asarray(psi(belief) - psi(belief.sum(axis=axis, keepdims=True)))


def negative_kl(belief: Floats, prior: float, axis: int) -> float:
    """E log p(x) - E log q(x) over all x ~ q = Dirichlet(belief), p = Dirichlet(prior, prior, ...).

    It is 0 if the belief is the prior, and below 0 otherwise.

    >>> negative_kl(np.array([[2.0, 2.0]]), 2.0, axis=1)
    0.0
    """
    width = belief.shape[axis]
    n_beliefs = belief.size // max(width, 1)
    total = n_beliefs * (gammaln(width * prior) - width * gammaln(prior))
    total -= gammaln(belief.sum(axis=axis)).sum() - gammaln(belief).sum()
    total += ((prior - belief) * expected_log(belief, axis)).sum()
    return float(total)


def check_settings(
    priors: Mapping[str, float], *, n_topics: int, sweeps: int, max_iter: int, tol: float
) -> None:
    """Raise an error unless the sizes are at least 1 and the priors above 0 and finite."""
    for name, value in (("n_topics", n_topics), ("sweeps", sweeps), ("max_iter", max_iter)):
        require(value >= 1, name, ">= 1", value)
    require(tol >= 0, "tol", ">= 0", tol)
    for name, prior in priors.items():
        require(0 < prior < np.inf, name, "above 0", prior)
