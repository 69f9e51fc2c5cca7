"""The class of a document by its topics, observed through the confusions of the annotators."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from manyhands.aggregation.evidence import gather_evidence
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass
from manyhands.aggregation.majority import majority_posterior
from manyhands.annotations import Annotations
from manyhands.core.arrays import Bools, Floats
from manyhands.core.kernels import even_blocks, run_blocks
from manyhands.methods.topics.classification_kernels import (
    add_label_scores,
    normaliser_block,
    update_classes_block,
)
from manyhands.methods.topics.corpus import Corpus
from manyhands.methods.topics.kernels import Sweeps, Topics
from manyhands.methods.topics.variational import DocumentPosterior, expected_log, negative_kl

_MAX_BLOCKS = 16
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

    def e_step(
        self, corpus: Corpus, posterior: DocumentPosterior, log_word_wt: Floats, sweeps: Sweeps
    ) -> float:
        """See `Response.e_step`."""
        label_score_dk = _label_scores(self.annotations, expected_log(self.xi_alk, axis=1))
        cells, topics = posterior.cells(corpus), Topics(log_word_wt, posterior.alpha)
        labels = label_score_dk, self._is_labelled_d()
        updated = posterior.gamma_dt, self.posterior_dk

        def work(documents: tuple[int, int]) -> float:
            return update_classes_block(
                *documents, cells, topics, sweeps, self.eta_kt, *labels, *updated
            )

        return sum(run_blocks(work, corpus.document_blocks))

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
    gradient_bkt = np.zeros((len(corpus.document_blocks), *eta_kt.shape))

    blocks, cells = corpus.document_blocks, posterior.cells(corpus)

    def work(block: int) -> float:
        return normaliser_block(*blocks[block], cells, is_labelled_d, eta_kt, gradient_bkt[block])

    value = sum(run_blocks(work, range(len(blocks))))
    return value, gradient_bkt.sum(axis=0)


def _label_counts(annotations: Annotations, posterior_dk: Floats) -> Floats:
    """Expected number of times that annotators gave each label to each class, (a, l, k)."""
    return ConfusionPass(gather_evidence(annotations)).count(posterior_dk).counts_alk


def _label_scores(annotations: Annotations, log_confusion_alk: Floats) -> Floats:
    """sum_n E log pi[a_n,k,y_n] of every document, shape (d, k)."""
    ann, offsets = annotations, annotations.item_offsets
    score_dk = np.zeros((ann.n_items, ann.n_classes))

    def work(items: tuple[int, int]) -> None:
        add_label_scores(*items, offsets, ann.annotator, ann.label, log_confusion_alk, score_dk)

    run_blocks(work, even_blocks(offsets, _MAX_BLOCKS))
    return score_dk
