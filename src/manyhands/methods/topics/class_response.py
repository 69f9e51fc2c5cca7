"""The class response: a document's class by its topics, seen through everybody's confusions."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from manyhands.aggregation.evidence import gather_evidence
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass
from manyhands.aggregation.majority import majority_posterior
from manyhands.annotations import Annotations
from manyhands.core.arrays import Bools, Codes, Floats, Offsets
from manyhands.core.kernels import even_blocks, kernel, run_blocks
from manyhands.methods.topics.beliefs import TopicBeliefs, Visits
from manyhands.methods.topics.class_documents import expect_classes, logit_slope
from manyhands.methods.topics.corpus import Corpus
from manyhands.methods.topics.dirichlet import expected_log, prior_gain

_BLOCKS = 16
_STEPS = 5  # up the logits' bound, from one M-step to the next


@dataclass(frozen=True)
class ClassResponse:
    """Class c_d ~ softmax(eta . zbar_d), labels y_n ~ pi[a_n, c_d], pi[a,k] ~ Dirichlet(omega).

    ::

        q(pi[a,k]) = Dirichlet(xi[a,:,k]),    xi[a,l,k] = omega + sum_n q_dk [a_n = a, y_n = l]
        q(c_d = k) ~ exp(eta_k . E zbar_d + sum_n E log pi[a_n,k,y_n])
        eta        up  sum_d (sum_k q_dk eta_k . E zbar_d - L_d) - l2/2 |eta|^2

    with the bound L_d of the normaliser of `class_documents`, which is convex in eta; documents
    nobody labelled are not in the sum. `posterior_dk` is improved in place.
    """

    annotations: Annotations
    omega: float
    l2: float
    eta_kt: Floats
    xi_alk: Floats
    posterior_dk: Floats

    @classmethod
    def begin(
        cls, annotations: Annotations, n_topics: int, *, omega: float, l2: float
    ) -> "ClassResponse":
        """Classes by label shares, confusions by those, and topics that say nothing of a class."""
        eta_kt = np.zeros((annotations.n_classes, n_topics))
        posterior_dk = majority_posterior(gather_evidence(annotations)).copy()
        xi_alk = omega + _label_counts(annotations, posterior_dk)
        return cls(annotations, omega, l2, eta_kt, xi_alk, posterior_dk)

    def expect(
        self, corpus: Corpus, beliefs: TopicBeliefs, log_word_wt: Floats, visits: Visits
    ) -> float:
        """Bring the beliefs about every document up, in place; the sum of their bounds."""
        said_dk = _said(self.annotations, expected_log(self.xi_alk, axis=1))
        labelled_d = self._labelled_d()

        def work(documents: tuple[int, int]) -> float:
            return expect_classes(
                *documents,
                corpus.offsets,
                corpus.word,
                corpus.count,
                log_word_wt,
                beliefs.alpha,
                self.eta_kt,
                said_dk,
                labelled_d,
                visits.most_sweeps,
                visits.tol,
                beliefs.phi_jt,
                beliefs.gamma_dt,
                self.posterior_dk,
            )

        return sum(run_blocks(work, corpus.document_blocks))

    def maximise(self, corpus: Corpus, beliefs: TopicBeliefs) -> "ClassResponse":
        """The response with better logits and the best beliefs about confusions."""
        xi_alk = self.omega + _label_counts(self.annotations, self.posterior_dk)
        return replace(self, xi_alk=xi_alk, eta_kt=self._climb(corpus, beliefs))

    def prior_gain(self) -> float:
        """What logits and confusions add to the bound; the prior of eta up to a constant."""
        penalty = 0.5 * self.l2 * float(np.square(self.eta_kt).sum())
        return prior_gain(self.xi_alk, self.omega, axis=1) - penalty

    def confusion_akl(self) -> Floats:
        """Everybody's expected confusion."""
        mean_alk = self.xi_alk / self.xi_alk.sum(axis=1, keepdims=True)
        return np.ascontiguousarray(mean_alk.transpose(0, 2, 1))

    def _climb(self, corpus: Corpus, beliefs: TopicBeliefs) -> Floats:
        """Some steps of L-BFGS up the bound of the logits."""
        labelled_d = self._labelled_d()
        told_dk = self.posterior_dk * labelled_d[:, None]
        target_kt = told_dk.T @ beliefs.topic_share_dt()

        def loss(flat: Floats) -> tuple[float, Floats]:
            eta_kt = flat.reshape(target_kt.shape)
            value, slope_kt = _norms(corpus, beliefs, labelled_d, eta_kt)
            value += 0.5 * self.l2 * float(np.vdot(eta_kt, eta_kt))
            value -= float(np.vdot(eta_kt, target_kt))
            return value, (slope_kt + self.l2 * eta_kt - target_kt).ravel()

        begin = self.eta_kt.ravel()
        found = minimize(loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
        better = np.isfinite(found.x).all() and found.fun <= loss(begin)[0]
        return np.asarray(found.x).reshape(target_kt.shape) if better else self.eta_kt

    def _labelled_d(self) -> Bools:
        return np.asarray(self.annotations.labels_per_item > 0)


def _norms(
    corpus: Corpus, beliefs: TopicBeliefs, labelled_d: Bools, eta_kt: Floats
) -> tuple[float, Floats]:
    """The sum of L_d over labelled documents, and its gradient by eta."""
    slopes_bkt = np.zeros((len(corpus.document_blocks), *eta_kt.shape))

    def work(block: int) -> float:
        return logit_slope(
            *corpus.document_blocks[block],
            corpus.offsets,
            corpus.count,
            labelled_d,
            beliefs.phi_jt,
            eta_kt,
            slopes_bkt[block],
        )

    value = sum(run_blocks(work, range(len(corpus.document_blocks))))
    return value, slopes_bkt.sum(axis=0)


def _label_counts(annotations: Annotations, posterior_dk: Floats) -> Floats:
    """How often everybody gave each label to each class, as it seems, shape (a, l, k)."""
    return ConfusionPass(gather_evidence(annotations)).count(posterior_dk).counts_alk


def _said(annotations: Annotations, log_confusion_alk: Floats) -> Floats:
    """sum_n E log pi[a_n,k,y_n] of every document, shape (d, k)."""
    ann, offsets = annotations, annotations.item_offsets
    said_dk = np.zeros((ann.n_items, ann.n_classes))

    def work(items: tuple[int, int]) -> None:
        _add_labels(*items, offsets, ann.annotator, ann.label, log_confusion_alk, said_dk)

    run_blocks(work, even_blocks(offsets, _BLOCKS))
    return said_dk


@kernel
def _add_labels(
    first: int,
    last: int,
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    log_confusion: Floats,
    said: Floats,
) -> None:
    for d in range(first, last):
        for n in range(offsets[d], offsets[d + 1]):
            for k in range(said.shape[1]):
                said[d, k] += log_confusion[annotator[n], label[n], k]
