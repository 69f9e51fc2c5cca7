"""The compiled loops over documents with class labels: the E-step and the gradient of eta.

With e_k[t] = exp(eta[k,t] / N) for a document of N words, Jensen's inequality bounds the
normaliser of the softmax::

    E log sum_k exp(eta_k . zbar) <= log sum_k prod_j (phi[j] . e_k)^c_j = L

(Wang, Blei and Fei-Fei 2009). Without words zbar is the mean of the prior, and L is exact.
"""

from typing import NamedTuple

import numpy as np

from manyhands.aggregation.kernels.confusion_loops import normalise_scores
from manyhands.core.arrays import Bools, Floats
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

_MAX_HALVINGS = 30
_ROUNDING = 1e-14  # error of a logarithm near 0


class Classes(NamedTuple):
    """Of every document: sum_n E log pi[a_n,k,y_n], whether it has labels, and the posterior."""

    log_said: Floats
    is_labelled: Bools
    posterior: Floats


@kernel
def update_classes_block(
    first: int, last: int, cells: Cells, topics: Topics, eta: Floats, classes: Classes
) -> float:
    """Update the posterior of documents `first` up to `last`, in place; returns their bound.

    Without labels the topics depend on the words alone, the class depends on the topics alone, and
    the response adds nothing to the bound.
    """
    total = 0.0
    log_norm = np.empty(eta.shape[0])
    for d in range(first, last):
        words = words_of(d, cells)
        log_said, posterior = classes.log_said[d], classes.posterior[d]
        if not classes.is_labelled[d]:
            update_unlabelled(words, topics)
            _update_class(words.gamma, topics.alpha, eta, log_said, posterior)
        else:
            factor = _factors(words.counts, eta)
            _update_document(words, topics, eta, factor, log_said, posterior)
            total += _update_class(words.gamma, topics.alpha, eta, log_said, posterior)
            _log_products(words, eta, factor, log_norm)
            total -= normalise_scores(log_norm, -1)
        total += word_bound(words, topics)
    return total


@kernel
def _update_class(
    gamma: Floats, alpha: float, eta: Floats, log_said: Floats, posterior: Floats
) -> float:
    """Set the posterior to q_k ~ exp(eta_k . E zbar + log_said_k); returns the log of its norm.

    That is its contribution to the bound: sum_k q_k (eta_k . E zbar + log_said_k - log q_k).
    """
    n_classes, n_topics = eta.shape
    size = 0.0
    for t in range(n_topics):
        size += gamma[t] - alpha
    for k in range(n_classes):
        score = 0.0
        for t in range(n_topics):
            score += eta[k, t] * ((gamma[t] - alpha) / size if size > 0.5 else 1.0 / n_topics)
        posterior[k] = score + log_said[k]
    return normalise_scores(posterior, -1)


@kernel
def _update_document(
    words: Words, topics: Topics, eta: Floats, factor: Floats, log_said: Floats, posterior: Floats
) -> None:
    """Coordinate ascent for one labelled document: phi word by word, gamma, posterior."""
    n_classes, n_topics = eta.shape
    log_topic, share, before = np.empty(n_topics), np.empty(n_classes), np.empty(n_classes)
    score, ratio = np.empty(n_topics), np.empty(n_classes)
    size, sweeps = words.counts.sum(), topics.sweeps
    for _ in range(sweeps.max_sweeps):
        expect_log(words.gamma, log_topic)
        for k in range(n_classes):
            before[k] = posterior[k]
            for t in range(n_topics):
                log_topic[t] += posterior[k] * eta[k, t] / max(size, 1.0)
        _log_products(words, eta, factor, share)
        normalise_scores(share, -1)
        for j in range(len(words.word)):
            np.add(log_topic, topics.log_word[words.word[j]], score)
            _update_word(words.counts[j], factor, score, share, words.phi[j], ratio)
        moved = update_gamma(words, topics.alpha)
        _update_class(words.gamma, topics.alpha, eta, log_said, posterior)
        if moved < sweeps.tol and np.abs(posterior - before).max() < sweeps.tol:
            break


@kernel
def _update_word(
    count: float, factor: Floats, score: Floats, share: Floats, phi: Floats, ratio: Floats
) -> None:
    """Improve phi of one cell, and update the share of each class in L, both in place.

    ::

        phi ~ exp(score - h),    h[t] = sum_k share_k e_k[t] / (phi . e_k)

    h is the gradient of L over c, and `score` is E log theta + sum_k q_k eta_k / N + E log beta.
    For a word that occurs once, L lies below its tangent and the full step raises the bound. For
    others the step is halved until the bound surely rises. With step size s, r_k the ratio of new
    to old phi . e_k, and m the sum of the absolute changes of phi, the bound gains at least::

        c s (m^2 / 2 + sum_k share_k (r_k - 1)) - log sum_k share_k (1 + s (r_k - 1))^c
    """
    n_classes, n_topics = factor.shape
    for k in range(n_classes):
        ratio[k] = _dot(phi, factor[k])
        weight = share[k] / ratio[k]
        for t in range(n_topics):
            score[t] -= weight * factor[k, t]
    normalise_scores(score, -1)
    fresh = score
    rise = 0.0
    for k in range(n_classes):
        ratio[k] = _dot(fresh, factor[k]) / ratio[k]
        rise += share[k] * (ratio[k] - 1.0)
    step = 1.0 if count == 1.0 else _safe_step(count, share, ratio, rise, phi, fresh)
    total = 0.0
    for k in range(n_classes):
        share[k] *= (1.0 + step * (ratio[k] - 1.0)) ** count
        total += share[k]
    for k in range(n_classes):
        share[k] /= total
    for t in range(n_topics):
        phi[t] += step * (fresh[t] - phi[t])


@kernel
def _safe_step(
    count: float, share: Floats, ratio: Floats, rise: float, phi: Floats, fresh: Floats
) -> float:
    """The largest of 1, 1/2, 1/4 ... for which the bound does not fall; 0 if there is none."""
    moved = sum_of_changes(phi, fresh)
    gain = count * (0.5 * moved * moved + rise)
    step = 1.0
    for _ in range(_MAX_HALVINGS):
        total = 0.0
        for k in range(len(share)):
            total += share[k] * (1.0 + step * (ratio[k] - 1.0)) ** count
        if np.log(total) <= step * gain + _ROUNDING:
            return step
        step *= 0.5
    return 0.0


@kernel
def _dot(left: Floats, right: Floats) -> float:
    even = odd = 0.0  # two independent sums can run in parallel
    for t in range(0, len(left) - 1, 2):
        even += left[t] * right[t]
        odd += left[t + 1] * right[t + 1]
    if len(left) % 2:
        even += left[-1] * right[-1]
    return even + odd


@kernel
def _factors(count: Floats, eta: Floats) -> Floats:
    """e_k = exp(eta_k / N) of one document, shape (k, t)."""
    return np.asarray(np.exp(eta / max(count.sum(), 1.0)))


@kernel
def _log_products(words: Words, eta: Floats, factor: Floats, log_norm: Floats) -> None:
    """Write sum_j c_j log(phi[j] . e_k) of every class into `log_norm`."""
    for k in range(len(log_norm)):
        total = eta[k].mean() if len(words.counts) == 0 else 0.0
        for j in range(len(words.counts)):
            total += words.counts[j] * np.log(_dot(words.phi[j], factor[k]))
        log_norm[k] = total


@kernel
def normaliser_block(
    first: int, last: int, cells: Cells, labelled: Bools, eta: Floats, gradient: Floats
) -> float:
    """The sum of L over the labelled documents `first` up to `last`.

    The gradient with respect to eta is added to `gradient`.

    ::

        dL/d eta[k,t] = share_k e_k[t] / N sum_j c_j phi[j,t] / (phi[j] . e_k)
    """
    n_classes, n_topics = eta.shape
    log_norm, slope = np.empty(n_classes), np.empty((n_classes, n_topics))
    total = 0.0
    for d in range(first, last):
        if labelled[d]:
            _log_product_slopes(words_of(d, cells), eta, log_norm, slope)
            total += normalise_scores(log_norm, -1)
            for k in range(n_classes):
                for t in range(n_topics):
                    gradient[k, t] += log_norm[k] * slope[k, t]
    return total


@kernel
def _log_product_slopes(words: Words, eta: Floats, log_norm: Floats, slope: Floats) -> None:
    """As `_log_products`, and write the gradient of each by its own eta_k into `slope`."""
    n_classes, n_topics = eta.shape
    if len(words.counts) == 0:
        for k in range(n_classes):
            log_norm[k] = eta[k].mean()
        slope[:] = 1.0 / n_topics
        return
    factor, size = _factors(words.counts, eta), words.counts.sum()
    log_norm[:] = 0.0
    slope[:] = 0.0
    for j in range(len(words.counts)):
        for k in range(n_classes):
            dot = _dot(words.phi[j], factor[k])
            log_norm[k] += words.counts[j] * np.log(dot)
            weight = words.counts[j] / (dot * size)
            for t in range(n_topics):
                slope[k, t] += weight * words.phi[j, t]
    for k in range(n_classes):
        for t in range(n_topics):
            slope[k, t] *= factor[k, t]
