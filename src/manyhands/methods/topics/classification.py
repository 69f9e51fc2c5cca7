"""MA-sLDAc: supervised topics for classes from crowd labels."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from torch import Tensor

from manyhands.aggregation.evidence import gather_evidence, majority_posterior
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass
from manyhands.annotations import Annotations
from manyhands.core.arrays import Bools, Floats
from manyhands.core.kernels import run_blocks
from manyhands.core.settings import require
from manyhands.methods.base import About, Method, Paper
from manyhands.methods.linear.base import log_softmax
from manyhands.methods.topics.base import TopicMethod, TopicNetwork
from manyhands.methods.topics.classification_kernels import (
    Classes,
    normaliser_block,
    update_classes_block,
)
from manyhands.methods.topics.corpus import Corpus, check_documents
from manyhands.methods.topics.kernels import Topics
from manyhands.methods.topics.variational import (
    DocumentPosterior,
    TopicFit,
    VariationalEM,
    expected_log,
    negative_kl,
    require_positive,
)

_STEPS = 5  # of L-BFGS for eta, in every M-step


@dataclass(frozen=True)
class ClassResponse:
    """Class c_d ~ softmax(eta . zbar_d), labels y_n ~ pi[a_n, c_d], pi[a,k] ~ Dirichlet(omega).

    ::

        q(pi[a,k]) = Dirichlet(xi[a,:,k]),    xi[a,l,k] = omega + sum_n q_dk [a_n = a, y_n = l]
        q(c_d = k) ~ exp(eta_k . E zbar_d + sum_n E log pi[a_n,k,y_n])
        eta maximises  sum_d (sum_k q_dk eta_k . E zbar_d - L_d) - l2/2 |eta|^2

    with the bound L_d of the normaliser in `classification_kernels`, which is convex in eta. The
    sum is over the documents with labels. `posterior_dk` is updated in place.
    """

    annotations: Annotations
    omega: float
    l2: float
    eta_kt: Floats
    xi_alk: Floats
    posterior_dk: Floats

    @classmethod
    def initial(
        cls, annotations: Annotations, n_topics: int, *, omega: float, l2: float
    ) -> "ClassResponse":
        """Classes by label distributions, confusions from those, and eta = 0."""
        eta_kt = np.zeros((annotations.n_classes, n_topics))
        posterior_dk = majority_posterior(gather_evidence(annotations)).copy()
        xi_alk = omega + _label_counts(annotations, posterior_dk)
        return cls(annotations, omega, l2, eta_kt, xi_alk, posterior_dk)

    def e_step(self, corpus: Corpus, posterior: DocumentPosterior, topics: Topics) -> float:
        """See `Response.e_step`."""
        log_said_dk = _log_said(self.annotations, expected_log(self.xi_alk, axis=1))
        classes = Classes(log_said_dk, self._is_labelled_d(), self.posterior_dk)
        cells = posterior.cells(corpus)
        return sum(corpus.run(update_classes_block, cells, topics, self.eta_kt, classes))

    def m_step(self, corpus: Corpus, posterior: DocumentPosterior) -> "ClassResponse":
        """The response with better eta and the best posterior of the confusions."""
        xi_alk = self.omega + _label_counts(self.annotations, self.posterior_dk)
        return replace(self, xi_alk=xi_alk, eta_kt=self._improve_eta(corpus, posterior))

    def prior_term(self) -> float:
        """See `Response.prior_term`; the prior of eta is up to a constant."""
        penalty = 0.5 * self.l2 * float(np.square(self.eta_kt).sum())
        return negative_kl(self.xi_alk, self.omega, axis=1) - penalty

    def confusion_akl(self) -> Floats:
        """The expected confusions of the annotators."""
        mean_alk = self.xi_alk / self.xi_alk.sum(axis=1, keepdims=True)
        return np.ascontiguousarray(mean_alk.transpose(0, 2, 1))

    def _improve_eta(self, corpus: Corpus, posterior: DocumentPosterior) -> Floats:
        """Some steps of L-BFGS that raise the bound of eta."""
        is_labelled_d = self._is_labelled_d()
        labelled_dk = self.posterior_dk * is_labelled_d[:, None]
        target_kt = labelled_dk.T @ posterior.mean_topic_dt()

        def loss(flat: Floats) -> tuple[float, Floats]:
            eta_kt = flat.reshape(target_kt.shape)
            value, gradient_kt = normalisers(corpus, posterior, is_labelled_d, eta_kt)
            value += 0.5 * self.l2 * float(np.vdot(eta_kt, eta_kt))
            value -= float(np.vdot(eta_kt, target_kt))
            return value, (gradient_kt + self.l2 * eta_kt - target_kt).ravel()

        start = self.eta_kt.ravel()
        result = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
        is_better = np.isfinite(result.x).all() and result.fun <= loss(start)[0]
        return np.asarray(result.x).reshape(target_kt.shape) if is_better else self.eta_kt

    def _is_labelled_d(self) -> Bools:
        return np.asarray(self.annotations.labels_per_item > 0)


def normalisers(
    corpus: Corpus, posterior: DocumentPosterior, is_labelled_d: Bools, eta_kt: Floats
) -> tuple[float, Floats]:
    """The sum of L_d over labelled documents, and its gradient with respect to eta."""
    blocks, cells = corpus.document_blocks, posterior.cells(corpus)
    gradient_bkt = np.zeros((len(blocks), *eta_kt.shape))

    def work(block: int) -> float:
        return normaliser_block(*blocks[block], cells, is_labelled_d, eta_kt, gradient_bkt[block])

    value = sum(run_blocks(work, range(len(blocks))))
    return value, gradient_bkt.sum(axis=0)


def _label_counts(annotations: Annotations, posterior_dk: Floats) -> Floats:
    """Expected number of times that annotators gave each label to each class, (a, l, k)."""
    return ConfusionPass(gather_evidence(annotations)).count(posterior_dk).counts_alk


def _log_said(annotations: Annotations, log_confusion_alk: Floats) -> Floats:
    """sum_n E log pi[a_n,k,y_n] of every document, shape (d, k)."""
    n = annotations.n_annotations
    rows_dn = csr_matrix((np.ones(n), np.arange(n), annotations.item_offsets))
    return np.asarray(rows_dn @ log_confusion_alk[annotations.annotator, annotations.label])


class TopicClassifier(TopicNetwork):
    """log softmax(eta . E zbar) of documents, from counts of words."""

    def __init__(self, n_words: int, n_topics: int, n_classes: int) -> None:
        super().__init__(n_words, torch.zeros(n_topics, n_classes))
        self.settings = {"n_words": n_words, "n_topics": n_topics, "n_classes": n_classes}

    def predict(self, mean_topic_bt: Floats, eta: Floats) -> Tensor:
        """Log-probabilities of the classes, shape (b, k)."""
        class_bk = np.exp(log_softmax(mean_topic_bt @ eta))
        return torch.from_numpy(class_bk).log()


@dataclass(frozen=True)
class TopicClassifierFit(TopicFit):
    """Topics, the class weights `eta_tk` of the topics, confusions, and the documents fitted.

    `posterior_dk` are the class probabilities by words and labels.
    """

    eta_tk: Floats
    confusion_akl: Floats
    posterior_dk: Floats


def fit_topic_classifier(
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
) -> TopicClassifierFit:
    """Fit supervised latent Dirichlet allocation with confusions, by variational EM.

    Row d of `counts` has the words of item d. With tau, omega for the two priors::

        beta_t ~ Dirichlet(tau)            the words of topic t
        theta_d ~ Dirichlet(alpha)         the topics of document d
        z ~ theta_d,  w ~ beta_z           every word of it
        c_d ~ softmax(eta . zbar_d)        its class, by the mean of its words' topics
        pi_ak ~ Dirichlet(omega)           the labels of annotator a for class k
        y_n ~ pi[a_n, c_d]                 every label of it

    All but eta have mean-field posteriors, q(beta) q(theta) q(z) q(c) q(pi), and equal words of a
    document share their q(z). eta is a point estimate with a Gaussian prior of precision `l2`. The
    objective is the bound of log p(words, labels) + log p(eta), up to a constant, and never
    falls::

        sum_d [ sum_j c_j sum_t phi_jt (E log theta_dt + E log beta_tw - log phi_jt)
              + E log p(theta_d) - E log q(theta_d)
              + sum_k q_dk (eta_k . E zbar_d + sum_n E log pi[a_n,k,y_n] - log q_dk) - L_d ]
            + E log p(beta) - E log q(beta) + E log p(pi) - E log q(pi) - l2/2 |eta|^2

    L_d bounds the normaliser of the softmax, see `classification_kernels`. The third line is for
    documents with labels. The others contribute to the topics, and their class is
    softmax(eta . E zbar_d).

    EM ends when a step gains less than `tol` per word and label. `start_tw`, positive and with
    `n_topics` rows, is the first posterior of the words of topics. By default it is random, and
    each topic leans towards the words of one class. `sweeps` is the number of sweeps over the
    words of a document in every E-step: with many, documents commit themselves to the first
    topics, and the bound ends lower.

    Cost: a sweep takes cells x topics x classes operations; cells x topics numbers are held.

    Sources: Rodrigues, Lourenco, Ribeiro and Pereira 2017; Wang, Blei and Fei-Fei 2009.
    """
    em = VariationalEM(n_topics, alpha, word_prior, start_tw, sweeps, max_iter, tol, seed)
    require_positive({"confusion_prior": confusion_prior})
    require(0 <= l2 < np.inf, "l2", "0 or more", l2)
    corpus, ann = check_documents(counts, annotations, "classes")
    first = ClassResponse.initial(ann, n_topics, omega=confusion_prior, l2=l2)
    topics, response = em.run(corpus, first, ann.label_counts(), ann.n_annotations)
    return TopicClassifierFit(
        **vars(topics),
        eta_tk=np.ascontiguousarray(response.eta_kt.T),
        confusion_akl=response.confusion_akl(),
        posterior_dk=response.posterior_dk,
    )


@dataclass(frozen=True)
class TopicModel(TopicMethod):
    """Supervised topics and confusions; `settings` are those of `fit_topic_classifier`."""

    network_class = TopicClassifier
    solve = staticmethod(fit_topic_classifier)

    def estimates(
        self, fit: TopicClassifierFit, counts: Any, annotations: Annotations
    ) -> tuple[Floats, Any]:
        """See `TopicMethod.estimates`."""
        return fit.eta_tk, fit.confusion_akl


ROWS: dict[str, Method] = {
    "ma-slda-c": TopicModel(
        paper=Paper(preset="p0/labelme"),
        about=About(
            source="Rodrigues et al. 2017 (MA-sLDAc)",
            equation="c ~ softmax(eta . mean topic of the words), y_n ~ C_a[c]; variational",
            cost="a sweep takes words x topics x K operations",
            when="texts as counts of words, and topics that people can read",
        ),
    ),
}
