"""Supervised topics for classes from crowd labels: fit, and predict new documents."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.annotations import Annotations, Kind
from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.methods.linear.weights import log_softmax
from manyhands.methods.topics.beliefs import THOROUGH, TopicBeliefs, Visits, expect_plain
from manyhands.methods.topics.class_response import ClassResponse
from manyhands.methods.topics.corpus import Corpus, as_corpus
from manyhands.methods.topics.dirichlet import expected_log
from manyhands.methods.topics.start import class_tilted, given
from manyhands.methods.topics.variational import TopicState, run_topics


@dataclass(frozen=True)
class TopicFit:
    """Topics, how they tell classes, everybody's confusion, and the documents fitted.

    `zeta_tw` and `gamma_dt` are Dirichlet beliefs about the words of a topic and the topics of a
    document; `posterior_dk` is by words and labels.
    """

    zeta_tw: Floats
    eta_tk: Floats
    confusion_akl: Floats
    posterior_dk: Floats
    gamma_dt: Floats
    alpha: float
    objective: tuple[float, ...]
    converged: bool

    @property
    def topics_tw(self) -> Floats:
        """The expected probabilities of words in every topic."""
        return np.asarray(self.zeta_tw / self.zeta_tw.sum(axis=1, keepdims=True))


def fit_topics(
    counts: Any,
    annotations: Annotations,
    *,
    n_topics: int = 20,
    alpha: float = 0.1,
    word_prior: float = 0.1,
    confusion_prior: float = 1.0,
    l2: float = 0.1,
    start_tw: Any = None,
    sweeps: int = 2,
    max_iter: int = 200,
    tol: float = 1e-5,
    seed: int = 0,
) -> TopicFit:
    """Supervised latent Dirichlet allocation with annotators' confusions, by variational EM.

    Row d of `counts` has the words of item d. With tau, omega for the two priors::

        beta_t ~ Dirichlet(tau)            the words of topic t
        theta_d ~ Dirichlet(alpha)         the topics of document d
        z ~ theta_d,  w ~ beta_z           every word of it
        c_d ~ softmax(eta . zbar_d)        its class, by the mean of its words' topics
        pi_ak ~ Dirichlet(omega)           what annotator a says of class k
        y_n ~ pi[a_n, c_d]                 every label of it

    All but eta have mean-field beliefs, q(beta) q(theta) q(z) q(c) q(pi), and the words of one kind
    in a document have the same q(z); eta is a point with a Gaussian prior of precision `l2`. The
    objective is the bound of log p(words, labels) + log p(eta), up to a constant, and never
    falls::

        sum_d [ sum_j c_j sum_t phi_jt (E log theta_dt + E log beta_tw - log phi_jt)
              + E log p(theta_d) - E log q(theta_d)
              + sum_k q_dk (eta_k . E zbar_d + sum_n E log pi[a_n,k,y_n] - log q_dk) - L_d ]
            + E log p(beta) - E log q(beta) + E log p(pi) - E log q(pi) - l2/2 |eta|^2

    L_d bounds the softmax's normaliser, see `class_documents`. A document nobody labelled has no
    third line: it teaches words, and its class is softmax(eta . E zbar_d).

    It ends when a step gains less than `tol` per word and label. `start_tw`, positive, is a first
    belief about the words of topics, with `n_topics` rows; by default they are random, leaning to
    the words of one class each. `sweeps` over a document's words are made between updates of
    topics: with many, documents commit themselves to the first topics, and the bound ends lower.

    Cost: a sweep takes cells x topics x classes operations; cells x topics numbers are held.

    Sources: Rodrigues, Lourenco, Ribeiro and Pereira 2017; Wang, Blei and Fei-Fei 2009.
    """
    require_run(n_topics=n_topics, sweeps=sweeps, max_iter=max_iter, tol=tol)
    require_priors(alpha=alpha, word_prior=word_prior, confusion_prior=confusion_prior)
    require(0 <= l2 < np.inf, "l2", "0 or more", l2)
    corpus, ann = matched(counts, annotations, "classes")
    response = ClassResponse.begin(ann, n_topics, omega=confusion_prior, l2=l2)
    beliefs = TopicBeliefs.even(corpus, n_topics, alpha)
    zeta_wt = (
        class_tilted(corpus, ann.label_counts(), n_topics, seed)
        if start_tw is None
        else given(start_tw, corpus.n_words, n_topics)
    )
    run = run_topics(
        corpus,
        beliefs,
        TopicState(zeta_wt, response),
        word_prior=word_prior,
        visits=Visits(most_sweeps=sweeps),
        max_iter=max_iter,
        tol=tol * (float(corpus.count.sum()) + ann.n_annotations),
    )
    response = run.state.response
    return TopicFit(
        np.ascontiguousarray(run.state.zeta_wt.T),
        np.ascontiguousarray(response.eta_kt.T),
        response.confusion_akl(),
        response.posterior_dk,
        beliefs.gamma_dt,
        alpha,
        run.objective,
        run.converged,
    )


def predict_topics(fit: TopicFit, counts: Any) -> Floats:
    """Class probabilities of new documents by their words, softmax(eta . E zbar), shape (d, k)."""
    return classes_by_words(fit.zeta_tw, fit.eta_tk, fit.alpha, counts)


def classes_by_words(zeta_tw: Floats, eta_tk: Floats, alpha: float, counts: Any) -> Floats:
    """See `predict_topics`; by the parts of a fit that it needs."""
    return np.exp(log_softmax(topics_by_words(zeta_tw, alpha, counts) @ eta_tk))


def topics_by_words(zeta_tw: Floats, alpha: float, counts: Any) -> Floats:
    """E zbar of new documents by their words alone, shape (d, t)."""
    corpus = as_corpus(counts)
    n_topics, n_words = zeta_tw.shape
    if corpus.n_words != n_words:
        raise DataError(f"{corpus.n_words} columns of counts where the topics are of {n_words}")
    beliefs = TopicBeliefs.even(corpus, n_topics, alpha)
    log_word_wt = np.ascontiguousarray(expected_log(zeta_tw, axis=1).T)
    expect_plain(corpus, beliefs, log_word_wt, THOROUGH)
    return beliefs.topic_share_dt()


def require_run(*, n_topics: int, sweeps: int, max_iter: int, tol: float) -> None:
    """Refuse settings of a run that cannot be."""
    for name, value in (("n_topics", n_topics), ("sweeps", sweeps), ("max_iter", max_iter)):
        require(value >= 1, name, ">= 1", value)
    require(tol >= 0, "tol", ">= 0", tol)


def require_priors(**priors: float) -> None:
    """Refuse priors that are not above 0, or not finite."""
    for name, prior in priors.items():
        require(0 < prior < np.inf, name, "above 0", prior)


def matched(counts: Any, annotations: Annotations, kind: Kind) -> tuple[Corpus, Annotations]:
    """Counts and labels of the same documents; refused where they are not."""
    corpus, ann = as_corpus(counts), annotations.as_kind(kind)
    if corpus.n_documents != ann.n_items:
        raise DataError(f"{corpus.n_documents} rows of counts for {ann.n_items} items")
    if ann.n_annotations == 0:
        raise DataError("there is not a single label; nothing can be learnt")
    if corpus.n_words == 0:
        raise DataError("counts have no columns; there is not a single word to learn from")
    return corpus, ann
