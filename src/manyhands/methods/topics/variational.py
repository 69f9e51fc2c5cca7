"""Variational EM for topics, for any response: how topics and labels depend on each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from scipy.special import gammaln, psi

from manyhands.aggregation.em import run_em
from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.methods.topics.corpus import Corpus, as_corpus, check_topics, draw_topics
from manyhands.methods.topics.kernels import Cells, Sweeps, Topics, update_unlabelled_block

UNTIL_CONVERGED = Sweeps(max_sweeps=100, tol=1e-4)


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
        count_dt = self.gamma_dt - self.alpha
        size_d = count_dt.sum(axis=1, keepdims=True)
        even_dt = np.full_like(count_dt, 1.0 / count_dt.shape[1])
        return np.asarray(np.divide(count_dt, size_d, out=even_dt, where=size_d > 0.5))

    def cells(self, corpus: Corpus) -> Cells:
        """The words of the documents with their posterior, for compiled loops."""
        return Cells(corpus.offsets, corpus.word, corpus.count, self.phi_jt, self.gamma_dt)


class Response(Protocol):
    """The part of a topic model that relates the topics of a document to its labels."""

    def e_step(self, corpus: Corpus, posterior: DocumentPosterior, topics: Topics) -> float:
        """Update the posterior of every document, in place; return the sum of their bounds."""

    def m_step(self, corpus: Corpus, posterior: DocumentPosterior) -> Self:
        """The response with parameters at least as good for this posterior."""

    def prior_term(self) -> float:
        """The contribution of the response's own parameters to the bound."""


R = TypeVar("R", bound=Response)


@dataclass(frozen=True)
class VariationalEM:
    """Variational EM with its settings, those that do not depend on the response.

    `start_tw` is the first posterior of the words of topics; without it the seed draws one.
    """

    n_topics: int
    alpha: float
    word_prior: float
    start_tw: Any
    sweeps: int
    max_iter: int
    tol: float
    seed: int

    def __post_init__(self) -> None:
        for name in ("n_topics", "sweeps", "max_iter"):
            require(getattr(self, name) >= 1, name, ">= 1", getattr(self, name))
        require(self.tol >= 0, "tol", ">= 0", self.tol)
        require_positive({"alpha": self.alpha, "word_prior": self.word_prior})

    def run(
        self, corpus: Corpus, response: R, counts_dk: Floats, n_labels: int
    ) -> tuple[TopicFit, R]:
        """Maximise the bound; return the topics and the response.

        ::

            E:  phi, gamma and the response's posterior of every document, one after another
            M:  zeta[w,t] = word_prior + sum_j c_j phi[j,t] over the cells of word w; the response

        The bound of a state is that of its parameters together with the posterior after its E-step.
        EM ends when a step gains less than `tol` per word and label. A last E-step sweeps the
        documents until they converge. `counts_dk` are for the first topics, see `draw_topics`.
        """
        first_wt = (
            draw_topics(corpus, counts_dk, self.n_topics, self.seed)
            if self.start_tw is None
            else check_topics(self.start_tw, corpus.n_words, self.n_topics)
        )
        posterior = DocumentPosterior.uniform(corpus, self.n_topics, self.alpha)

        def e_step(state: tuple[Floats, R], sweeps: Sweeps) -> float:
            zeta_wt, response = state
            topics = Topics(expected_log(zeta_wt, axis=0), self.alpha, sweeps)
            return response.e_step(corpus, posterior, topics)

        def step(state: tuple[Floats, R]) -> tuple[tuple[Floats, R], float]:
            zeta_wt, response = state  # q(beta_t) = Dirichlet(zeta[:,t])
            bound = e_step(state, Sweeps(self.sweeps)) + response.prior_term()
            bound += negative_kl(zeta_wt, self.word_prior, axis=0)
            zeta_wt = self.word_prior + np.asarray(corpus.count_wj @ posterior.phi_jt)
            return (zeta_wt, response.m_step(corpus, posterior)), bound

        min_gain = self.tol * (float(corpus.count.sum()) + n_labels)
        run = run_em((first_wt, response), step, max_iter=self.max_iter, tol=min_gain)
        e_step(run.state, UNTIL_CONVERGED)
        zeta_wt, response = run.state
        zeta_tw = np.ascontiguousarray(zeta_wt.T)
        fit = TopicFit(zeta_tw, posterior.gamma_dt, self.alpha, run.objective, run.converged)
        return fit, response


def infer_topics(zeta_tw: Floats, alpha: float, counts: Any) -> Floats:
    """The mean topic of new documents by their words alone, E zbar, shape (d, t)."""
    corpus = as_corpus(counts)
    n_topics, n_words = zeta_tw.shape
    if corpus.n_words != n_words:
        raise DataError(f"{corpus.n_words} columns of counts where the topics are of {n_words}")
    posterior = DocumentPosterior.uniform(corpus, n_topics, alpha)
    log_word_wt = np.ascontiguousarray(expected_log(zeta_tw, axis=1).T)
    topics = Topics(log_word_wt, alpha, UNTIL_CONVERGED)
    corpus.run(update_unlabelled_block, posterior.cells(corpus), topics)
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


def require_positive(priors: Mapping[str, float]) -> None:
    """Raise an error unless the priors are above 0 and finite."""
    for name, prior in priors.items():
        require(0 < prior < np.inf, name, "above 0", prior)
