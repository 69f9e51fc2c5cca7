"""Documents whose response is a number: the kernels of the E-step and of the weights.

What people said of a document is a normal density around `said` of precision `tau`, and topics
are to explain where it lies: f = eta . zbar, with zbar the mean topic of its N words. Under
q(z_j) = phi[j], exactly::

    E f   = sum_j c_j phi[j] . eta / N
    Var f = sum_j c_j (phi[j] . eta^2 - (phi[j] . eta)^2) / N^2
    E log N(said; f, 1 / tau) = constant - tau/2 ((said - E f)^2 + Var f)

Without words zbar is the prior's mean, and Var f is 0. A `tau` of 0: nobody labelled.
"""

import numpy as np

from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.kernels import kernel
from manyhands.methods.topics.beliefs import recount, soften, visit_plain, word_bound
from manyhands.methods.topics.dirichlet import expect_log_shares


@kernel
def expect_numbers(
    first: int,
    last: int,
    offsets: Offsets,
    word: Codes,
    count: Floats,
    log_word: Floats,
    alpha: float,
    eta: Floats,
    said: Floats,
    tau: Floats,
    most_sweeps: int,
    tol: float,
    phi: Floats,
    gamma: Floats,
) -> float:
    """Bring the beliefs about a block of documents up, in place; what their words add to the bound.

    Where nobody labelled, words alone settle the topics.
    """
    total = 0.0
    for d in range(first, last):
        here = slice(offsets[d], offsets[d + 1])
        words, counts, topics = word[here], count[here], phi[here]
        if tau[d] > 0.0:
            _visit(
                words, counts, log_word, alpha, eta, said[d], tau[d],
                most_sweeps, tol, topics, gamma[d],
            )  # fmt: skip
        else:
            visit_plain(words, counts, log_word, alpha, most_sweeps, tol, topics, gamma[d])
        total += word_bound(words, counts, log_word, alpha, topics, gamma[d])
    return total


@kernel
def explain(
    first: int,
    last: int,
    offsets: Offsets,
    count: Floats,
    phi: Floats,
    eta: Floats,
    mean: Floats,
    variance: Floats,
) -> None:
    """E f and Var f of a block of documents, in place."""
    for d in range(first, last):
        here = slice(offsets[d], offsets[d + 1])
        counts, topics = count[here], phi[here]
        size = counts.sum()
        mean[d] = eta.mean() if len(counts) == 0 else 0.0
        variance[d] = 0.0
        for j in range(len(counts)):
            middle = square = 0.0
            for t in range(len(eta)):
                middle += topics[j, t] * eta[t]
            for t in range(len(eta)):
                square += topics[j, t] * (eta[t] - middle) ** 2
            mean[d] += counts[j] * middle / size
            variance[d] += counts[j] * square / (size * size)


@kernel
def gather_squares(
    first: int,
    last: int,
    offsets: Offsets,
    count: Floats,
    said: Floats,
    tau: Floats,
    phi: Floats,
    squares: Floats,
    target: Floats,
) -> None:
    """Add a block's sum_d tau E[zbar zbar'] and sum_d tau said E zbar; the former's upper half.

    ::

        E[zbar zbar'] = E zbar E zbar' + sum_j c_j (diag(phi[j]) - phi[j] phi[j]') / N^2
    """
    n_topics = len(target)
    share = np.empty(n_topics)
    for d in range(first, last):
        if tau[d] > 0.0:
            here = slice(offsets[d], offsets[d + 1])
            counts, topics = count[here], phi[here]
            size = counts.sum()
            share[:] = 1.0 / n_topics if len(counts) == 0 else 0.0
            for j in range(len(counts)):
                weight = tau[d] * counts[j] / (size * size)
                for t in range(n_topics):
                    share[t] += counts[j] * topics[j, t] / size
                    squares[t, t] += weight * topics[j, t]
                _add_product(-weight, topics[j], squares)
            _add_product(tau[d], share, squares)
            for t in range(n_topics):
                target[t] += tau[d] * said[d] * share[t]


@kernel
def _add_product(weight: float, vector: Floats, squares: Floats) -> None:
    """Add weight x vector vector', its upper half."""
    for t in range(len(vector)):
        scaled = weight * vector[t]
        for u in range(t, len(vector)):
            squares[t, u] += scaled * vector[u]


@kernel
def _visit(
    word: Codes,
    count: Floats,
    log_word: Floats,
    alpha: float,
    eta: Floats,
    said: float,
    tau: float,
    most_sweeps: int,
    tol: float,
    phi: Floats,
    gamma: Floats,
) -> None:
    """Coordinate ascent for one labelled document: phi word by word, then gamma."""
    log_theta, score, fresh = np.empty(len(gamma)), np.empty(len(gamma)), np.empty(len(gamma))
    size = count.sum()
    for _ in range(most_sweeps):
        expect_log_shares(gamma, log_theta)
        off = said
        for j in range(len(word)):
            off -= count[j] / size * _dot(phi[j], eta)
        for j in range(len(word)):
            for t in range(len(gamma)):
                score[t] = log_theta[t] + log_word[word[j], t]
            off -= _move_word(count[j], size, off, tau, eta, score, phi[j], fresh)
        if recount(count, phi, alpha, gamma) < tol:
            break


@kernel
def _move_word(
    count: float,
    size: float,
    off: float,
    tau: float,
    eta: Floats,
    score: Floats,
    phi: Floats,
    fresh: Floats,
) -> float:
    """A better phi of one cell, in place; by how much E f rises. `score` is what words say.

    With off = said - E f and s = phi . eta, both before the step::

        phi ~ exp(score + tau/N eta (off + (s - eta/2) / N))

    For a word that occurs once that is the best phi. For others the bound is less than linear in
    s, by -c k/2 s^2 with k = (c - 1) tau / N^2, and the step may be too long: with m the sum of
    |phi's change| and r the change of s, a step of size h gains at least c (h m^2 - k h^2 r^2) / 2,
    which is most at h = m^2 / (2 k r^2).
    """
    before = _dot(phi, eta)
    for t in range(len(eta)):
        score[t] += tau / size * eta[t] * (off + (before - 0.5 * eta[t]) / size)
    soften(score, fresh)
    rise, moved = _dot(fresh, eta) - before, 0.0
    for t in range(len(eta)):
        moved += abs(fresh[t] - phi[t])
    most, curved = moved * moved, 2.0 * (count - 1.0) * tau / (size * size) * rise * rise
    step = most / curved if curved > most else 1.0
    for t in range(len(eta)):
        phi[t] += step * (fresh[t] - phi[t])
    return count / size * step * rise


@kernel
def _dot(left: Floats, right: Floats) -> float:
    total = 0.0
    for t in range(len(left)):
        total += left[t] * right[t]
    return total
