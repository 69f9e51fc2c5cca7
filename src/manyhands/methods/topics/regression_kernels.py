"""The compiled loops over documents with numeric labels: the E-step and the sums for eta.

The labels of a document are a normal density of the prediction f = eta . zbar, with mean
`label_mean` and precision `tau`; zbar is the mean topic of its N words. Under q(z_j) = phi[j],
exactly::

    E f   = sum_j c_j phi[j] . eta / N
    Var f = sum_j c_j (phi[j] . eta^2 - (phi[j] . eta)^2) / N^2
    E log N(label_mean; f, 1 / tau) = constant - tau/2 ((label_mean - E f)^2 + Var f)

Without words zbar is the mean of the prior, and Var f is 0. Without labels `tau` is 0.
"""

from typing import NamedTuple

import numpy as np

from manyhands.aggregation.kernels.confusion_loops import normalise_scores
from manyhands.core.arrays import Floats
from manyhands.core.kernels import kernel
from manyhands.methods.topics.kernels import (
    Cells,
    Topics,
    Words,
    expect_log,
    sum_of_changes,
    update_gamma,
    update_unlabelled,
    word_bound,
    words_of,
)


class LabelMeans(NamedTuple):
    """The mean label of every document, and its precision as a measurement of f."""

    mean: Floats
    tau: Floats


class Prediction(NamedTuple):
    """Mean and variance of a number for every document."""

    mean_d: Floats
    variance_d: Floats

    @classmethod
    def zeros(cls, n_documents: int) -> "Prediction":
        """Mean and variance 0."""
        return cls(np.zeros(n_documents), np.zeros(n_documents))


@kernel
def update_values_block(
    first: int, last: int, cells: Cells, topics: Topics, eta: Floats, labels: LabelMeans
) -> float:
    """Update the posterior of documents `first` up to `last`, in place.

    Returns the contribution of their words to the bound. Without labels the topics depend on the
    words alone.
    """
    total = 0.0
    for d in range(first, last):
        words = words_of(d, cells)
        if labels.tau[d] > 0.0:
            _update_document(words, topics, eta, labels.mean[d], labels.tau[d])
        else:
            update_unlabelled(words, topics)
        total += word_bound(words, topics)
    return total


@kernel
def predict_block(first: int, last: int, cells: Cells, eta: Floats, prediction: Prediction) -> None:
    """Write E f and Var f of documents `first` up to `last` into `prediction`."""
    mean, variance = prediction
    for d in range(first, last):
        _, counts, topics, _ = words_of(d, cells)
        size = counts.sum()
        mean[d] = eta.mean() if len(counts) == 0 else 0.0
        variance[d] = 0.0
        for j in range(len(counts)):
            middle, square = _dot(topics[j], eta), 0.0
            for t in range(len(eta)):
                square += topics[j, t] * (eta[t] - middle) ** 2
            mean[d] += counts[j] * middle / size
            variance[d] += counts[j] * square / (size * size)


@kernel
def add_normal_equations(
    first: int, last: int, cells: Cells, labels: LabelMeans, squares: Floats, target: Floats
) -> None:
    """Add sum_d tau E[zbar zbar'] (its upper half) and sum_d tau label_mean E zbar of a block.

    ::

        E[zbar zbar'] = E zbar E zbar' + sum_j c_j (diag(phi[j]) - phi[j] phi[j]') / N^2
    """
    n_topics, (label_mean, tau) = len(target), labels
    share = np.empty(n_topics)
    for d in range(first, last):
        if tau[d] > 0.0:
            _, counts, topics, _ = words_of(d, cells)
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
                target[t] += tau[d] * label_mean[d] * share[t]


@kernel
def _add_product(weight: float, vector: Floats, squares: Floats) -> None:
    """Add weight x vector vector', its upper half."""
    for t in range(len(vector)):
        scaled = weight * vector[t]
        for u in range(t, len(vector)):
            squares[t, u] += scaled * vector[u]


@kernel
def _update_document(
    words: Words, topics: Topics, eta: Floats, label_mean: float, tau: float
) -> None:
    """Coordinate ascent for one labelled document: phi word by word, then gamma."""
    word, count, phi, gamma = words
    log_theta, score = np.empty(len(gamma)), np.empty(len(gamma))
    size = count.sum()
    for _ in range(topics.sweeps.max_sweeps):
        expect_log(gamma, log_theta)
        residual = label_mean
        for j in range(len(word)):
            residual -= count[j] / size * _dot(phi[j], eta)
        for j in range(len(word)):
            np.add(log_theta, topics.log_word[word[j]], score)
            residual -= _update_word(count[j], size, residual, tau, eta, score, phi[j])
        if update_gamma(words, topics.alpha) < topics.sweeps.tol:
            break


@kernel
def _update_word(
    count: float, size: float, residual: float, tau: float, eta: Floats, score: Floats, phi: Floats
) -> float:
    """Improve phi of one cell, in place; returns the change of E f.

    `score` is E log theta + E log beta. With residual = label_mean - E f and s = phi . eta, both
    before the step::

        phi ~ exp(score + tau/N eta (residual + (s - eta/2) / N))

    For a word that occurs once, that is the best phi. For others the bound lies below its
    linearisation in s by c k/2 s^2 with k = (c - 1) tau / N^2, and the full step may be too long.
    With m the sum of the absolute changes of phi and r the change of s, a step of size h gains at
    least c (h m^2 - k h^2 r^2) / 2, which is largest at h = m^2 / (2 k r^2).
    """
    before = _dot(phi, eta)
    for t in range(len(eta)):
        score[t] += tau / size * eta[t] * (residual + (before - 0.5 * eta[t]) / size)
    normalise_scores(score, -1)
    fresh = score
    change, moved = _dot(fresh, eta) - before, sum_of_changes(phi, fresh)
    linear, quadratic = moved * moved, 2.0 * (count - 1.0) * tau / (size * size) * change * change
    step = linear / quadratic if quadratic > linear else 1.0
    for t in range(len(eta)):
        phi[t] += step * (fresh[t] - phi[t])
    return count / size * step * change


@kernel
def _dot(left: Floats, right: Floats) -> float:
    total = 0.0
    for t in range(len(left)):
        total += left[t] * right[t]
    return total
