"""What is believed of documents' topics, and the kernels that any kind of response shares.

A response (what people said of a document) adds a lean to the topics of its words; everything
here takes that lean as given. A document without a response is visited by `visit_plain`.
"""

from dataclasses import dataclass

import numpy as np

from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.kernels import kernel, run_blocks
from manyhands.methods.topics.corpus import Corpus
from manyhands.methods.topics.dirichlet import expect_log_shares, log_beta


@dataclass(frozen=True)
class Visits:
    """How long a document is dwelt upon: at most so many sweeps over its words, and until when.

    A visit ends when a sweep moves no topic's count by more than `tol` words on average.
    """

    most_sweeps: int
    tol: float = 1e-3


THOROUGH = Visits(most_sweeps=100, tol=1e-4)


@dataclass(frozen=True)
class TopicBeliefs:
    """Beliefs about the documents of a corpus, improved in place.

    ::

        q(z_j) = phi[j],    q(theta_d) = Dirichlet(gamma[d]),    gamma[d] = alpha + sum_j c_j phi[j]

    Memory: cells x topics numbers, for the topics of every word of every document.
    """

    alpha: float
    phi_jt: Floats
    gamma_dt: Floats

    @classmethod
    def even(cls, corpus: Corpus, n_topics: int, alpha: float) -> "TopicBeliefs":
        """All topics equally probable, for every word."""
        gamma_dt = alpha + np.repeat(corpus.size_d[:, None] / n_topics, n_topics, axis=1)
        return cls(alpha, np.full((corpus.n_cells, n_topics), 1.0 / n_topics), gamma_dt)

    def topic_share_dt(self) -> Floats:
        """The mean topic of a document's words, E zbar; without words, that of the prior."""
        n_topics = self.gamma_dt.shape[1]
        held_dt = self.gamma_dt - self.alpha
        size_d = held_dt.sum(axis=1, keepdims=True)
        even_dt = np.full_like(held_dt, 1.0 / n_topics)
        return np.asarray(np.divide(held_dt, size_d, out=even_dt, where=size_d > 0.5))

    def word_counts(self, corpus: Corpus) -> Floats:
        """How often every word is of every topic, sum_j c_j phi[j], shape (w, t)."""
        counts_wt = np.zeros((corpus.n_words, self.phi_jt.shape[1]))
        order, offsets = corpus.word_order, corpus.word_offsets

        def work(words: tuple[int, int]) -> None:
            _count_words(*words, offsets, order, corpus.count, self.phi_jt, counts_wt)

        run_blocks(work, corpus.word_blocks)
        return counts_wt


def expect_plain(
    corpus: Corpus, beliefs: TopicBeliefs, log_word_wt: Floats, visits: Visits
) -> float:
    """Bring the beliefs about all documents up by their words alone; the sum of their bounds."""

    def work(documents: tuple[int, int]) -> float:
        return _expect_plain(
            *documents,
            corpus.offsets,
            corpus.word,
            corpus.count,
            log_word_wt,
            beliefs.alpha,
            visits.most_sweeps,
            visits.tol,
            beliefs.phi_jt,
            beliefs.gamma_dt,
        )

    return sum(run_blocks(work, corpus.document_blocks))


@kernel
def soften(score: Floats, share: Floats) -> None:
    """The softmax of scores, into `share`."""
    top = score[0]
    for t in range(1, len(score)):
        top = max(top, score[t])
    total = 0.0
    for t in range(len(score)):
        share[t] = np.exp(score[t] - top)
        total += share[t]
    for t in range(len(score)):
        share[t] /= total


@kernel
def recount(count: Floats, phi: Floats, alpha: float, gamma: Floats) -> float:
    """The best gamma of one document, alpha + sum_j c_j phi[j]; by how much it moved on average."""
    before = gamma.copy()
    gamma[:] = alpha
    for j in range(len(count)):
        for t in range(len(gamma)):
            gamma[t] += count[j] * phi[j, t]
    moved = 0.0
    for t in range(len(gamma)):
        moved += abs(gamma[t] - before[t])
    return float(moved / len(gamma))


@kernel
def visit_plain(
    word: Codes,
    count: Floats,
    log_word: Floats,
    alpha: float,
    most_sweeps: int,
    tol: float,
    phi: Floats,
    gamma: Floats,
) -> None:
    """Coordinate ascent for one document: phi[j] ~ exp(E log theta + E log beta), then gamma."""
    score, log_theta = np.empty(len(gamma)), np.empty(len(gamma))
    for _ in range(most_sweeps):
        expect_log_shares(gamma, log_theta)
        for j in range(len(word)):
            for t in range(len(gamma)):
                score[t] = log_theta[t] + log_word[word[j], t]
            soften(score, phi[j])
        if recount(count, phi, alpha, gamma) < tol:
            break


@kernel
def word_bound(
    word: Codes, count: Floats, log_word: Floats, alpha: float, phi: Floats, gamma: Floats
) -> float:
    """What one document's words add to the bound, at its best gamma.

    ::

        sum_j c_j sum_t phi[j,t] (E log beta[t,w] - log phi[j,t]) + log B(gamma) - log B(alpha)
    """
    total = 0.0
    for j in range(len(word)):
        part = 0.0
        for t in range(len(gamma)):
            share = phi[j, t]
            if share > 0.0:
                part += share * (log_word[word[j], t] - np.log(share))
        total += count[j] * part
    return float(total + log_beta(gamma) - log_beta(np.full(len(gamma), alpha)))


@kernel
def _expect_plain(
    first: int,
    last: int,
    offsets: Offsets,
    word: Codes,
    count: Floats,
    log_word: Floats,
    alpha: float,
    most_sweeps: int,
    tol: float,
    phi: Floats,
    gamma: Floats,
) -> float:
    total = 0.0
    for d in range(first, last):
        here = slice(offsets[d], offsets[d + 1])
        words, counts, topics = word[here], count[here], phi[here]
        visit_plain(words, counts, log_word, alpha, most_sweeps, tol, topics, gamma[d])
        total += word_bound(words, counts, log_word, alpha, topics, gamma[d])
    return total


@kernel
def _count_words(
    first: int,
    last: int,
    offsets: Offsets,
    order: Offsets,
    count: Floats,
    phi: Floats,
    counts: Floats,
) -> None:
    for w in range(first, last):
        for n in range(offsets[w], offsets[w + 1]):
            j = order[n]
            for t in range(phi.shape[1]):
                counts[w, t] += count[j] * phi[j, t]
