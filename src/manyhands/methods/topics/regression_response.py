"""The number response: a document's number by its topics, seen through biases and precisions."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve

from manyhands.aggregation.gaussian_steps import NetworkedParameters
from manyhands.core.arrays import Floats
from manyhands.core.kernels import run_blocks
from manyhands.methods.topics.beliefs import TopicBeliefs, Visits
from manyhands.methods.topics.corpus import Corpus
from manyhands.methods.topics.regression_annotators import Explained, NumberPeople
from manyhands.methods.topics.regression_documents import expect_numbers, explain, gather_squares

_STEPS = 5  # of annotators and rho, which cost little, from one M-step to the next


@dataclass(frozen=True)
class NumberResponse:
    """Number x_d ~ N(eta . zbar_d, 1 / rho), labels y_n ~ N(x_d + bias_a, 1 / precision_a).

    Given the topics all is normal, so x_d has no belief of its own but is integrated out::

        q(x_d | z_d) = N((rho eta . zbar_d + P_d said_d) / (rho + P_d), 1 / (rho + P_d))
        (l2 + sum_d tau_d E[zbar zbar']) eta = sum_d tau_d said_d E zbar

    with said_d, tau_d and P_d, and the steps of rho and annotators, in `NumberPeople`. Documents
    nobody labelled are in none of the sums. `explained` is improved in place.
    """

    crowd: NumberPeople
    l2: float
    eta_t: Floats
    people: NetworkedParameters
    explained: Explained

    @classmethod
    def begin(cls, crowd: NumberPeople, n_topics: int, *, l2: float) -> "NumberResponse":
        """Annotators of equal precision, and topics that say nothing of numbers."""
        n_documents = crowd.annotations.n_items
        return cls(crowd, l2, np.zeros(n_topics), crowd.begin(), _nothing(n_documents))

    def expect(
        self, corpus: Corpus, beliefs: TopicBeliefs, log_word_wt: Floats, visits: Visits
    ) -> float:
        """Bring the beliefs about every document up, in place; the sum of their bounds."""
        said_d, tau_d = self.crowd.said(self.people)

        def work(documents: tuple[int, int]) -> float:
            return expect_numbers(
                *documents,
                corpus.offsets,
                corpus.word,
                corpus.count,
                log_word_wt,
                beliefs.alpha,
                self.eta_t,
                said_d,
                tau_d,
                visits.most_sweeps,
                visits.tol,
                beliefs.phi_jt,
                beliefs.gamma_dt,
            )

        words = sum(run_blocks(work, corpus.document_blocks))
        _explain(corpus, beliefs, self.eta_t, self.explained)
        return words + self.crowd.bound(self.explained, self.people)

    def maximise(self, corpus: Corpus, beliefs: TopicBeliefs) -> "NumberResponse":
        """The response with the best weights, and better annotators and rho."""
        eta_t, people = self._weights(corpus, beliefs), self.people
        explained = _nothing(corpus.n_documents)
        _explain(corpus, beliefs, eta_t, explained)
        for _ in range(_STEPS):
            people = self.crowd.better(explained, people)
        eta_t, people = self.crowd.moved(eta_t, self.l2, people)
        return replace(self, eta_t=eta_t, people=people, explained=explained)

    def prior_gain(self) -> float:
        """The log-priors of weights, annotators and rho, up to a constant."""
        penalty = 0.5 * self.l2 * float(np.square(self.eta_t).sum())
        return self.crowd.log_prior(self.people) - penalty

    def values(self) -> Explained:
        """Mean and variance of every document's number, by words and labels."""
        return self.crowd.values(self.explained, self.people)

    def _weights(self, corpus: Corpus, beliefs: TopicBeliefs) -> Floats:
        """The best eta for these beliefs and annotators."""
        said_d, tau_d = self.crowd.said(self.people)
        n_topics, n_blocks = len(self.eta_t), len(corpus.document_blocks)
        squares_btu = np.zeros((n_blocks, n_topics, n_topics))
        target_bt = np.zeros((n_blocks, n_topics))

        def work(block: int) -> None:
            gather_squares(
                *corpus.document_blocks[block],
                corpus.offsets,
                corpus.count,
                said_d,
                tau_d,
                beliefs.phi_jt,
                squares_btu[block],
                target_bt[block],
            )

        run_blocks(work, range(n_blocks))
        upper_tu = squares_btu.sum(axis=0) + self.l2 * np.eye(n_topics)
        return np.asarray(solve(upper_tu, target_bt.sum(axis=0), lower=False, assume_a="pos"))


def _nothing(n_documents: int) -> Explained:
    return Explained(np.zeros(n_documents), np.zeros(n_documents))


def _explain(corpus: Corpus, beliefs: TopicBeliefs, eta_t: Floats, explained: Explained) -> None:
    """Mean and variance of every document's f, in place."""

    def work(documents: tuple[int, int]) -> None:
        explain(
            *documents,
            corpus.offsets,
            corpus.count,
            beliefs.phi_jt,
            eta_t,
            explained.mean_d,
            explained.variance_d,
        )

    run_blocks(work, corpus.document_blocks)
