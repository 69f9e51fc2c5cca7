"""Documents whose response is a class: the kernels of the E-step and of the logits.

With e_k[t] = exp(eta[k,t] / N) for a document of N words, the softmax's normaliser is bounded by
Jensen's inequality::

    E log sum_k exp(eta_k . zbar) <= log sum_k prod_j (phi[j] . e_k)^c_j = L

(Wang, Blei and Fei-Fei 2009). Without words zbar is the prior's mean, and L is exact.
"""

import numpy as np

from manyhands.aggregation.kernels.confusion_pass import normalise_scores
from manyhands.core.arrays import Bools, Codes, Floats, Offsets
from manyhands.core.kernels import kernel
from manyhands.methods.topics.beliefs import recount, soften, visit_plain, word_bound
from manyhands.methods.topics.dirichlet import expect_log_shares

_HALVINGS = 30
_ROUNDING = 1e-14  # of a logarithm near 0


@kernel
def expect_classes(
    first: int,
    last: int,
    offsets: Offsets,
    word: Codes,
    count: Floats,
    log_word: Floats,
    alpha: float,
    eta: Floats,
    said: Floats,
    labelled: Bools,
    most_sweeps: int,
    tol: float,
    phi: Floats,
    gamma: Floats,
    posterior: Floats,
) -> float:
    """Bring the beliefs about a block of documents up, in place; the sum of their bounds.

    `said` holds sum_n E log pi[a_n,k,y_n]. Where nobody labelled, words alone settle the topics,
    topics alone the class, and the response adds nothing to the bound.
    """
    total = 0.0
    log_norm = np.empty(eta.shape[0])
    for d in range(first, last):
        here = slice(offsets[d], offsets[d + 1])
        words, counts, topics = word[here], count[here], phi[here]
        if not labelled[d]:
            visit_plain(words, counts, log_word, alpha, most_sweeps, tol, topics, gamma[d])
            settle_class(gamma[d], alpha, eta, said[d], posterior[d])
        else:
            factor = _factors(counts, eta)
            _visit(
                words, counts, log_word, alpha, eta, factor, said[d],
                most_sweeps, tol, topics, gamma[d], posterior[d],
            )  # fmt: skip
            total += settle_class(gamma[d], alpha, eta, said[d], posterior[d])
            _log_products(counts, topics, eta, factor, log_norm)
            total -= normalise_scores(log_norm, -1)
        total += word_bound(words, counts, log_word, alpha, topics, gamma[d])
    return total


@kernel
def settle_class(
    gamma: Floats, alpha: float, eta: Floats, said: Floats, posterior: Floats
) -> float:
    """The best posterior ~ exp(eta_k . E zbar + said_k), in place, and the log of its norm.

    That log is what the class adds to the bound: sum_k q_k (eta_k . E zbar + said_k - log q_k).
    """
    n_classes, n_topics = eta.shape
    size = 0.0
    for t in range(n_topics):
        size += gamma[t] - alpha
    for k in range(n_classes):
        score = 0.0
        for t in range(n_topics):
            score += eta[k, t] * ((gamma[t] - alpha) / size if size > 0.5 else 1.0 / n_topics)
        posterior[k] = score + said[k]
    return normalise_scores(posterior, -1)


@kernel
def _visit(
    word: Codes,
    count: Floats,
    log_word: Floats,
    alpha: float,
    eta: Floats,
    factor: Floats,
    said: Floats,
    most_sweeps: int,
    tol: float,
    phi: Floats,
    gamma: Floats,
    posterior: Floats,
) -> None:
    """Coordinate ascent for one labelled document: phi word by word, gamma, posterior."""
    n_classes, n_topics = eta.shape
    lean, share = np.empty(n_topics), np.empty(n_classes)
    fresh, score = np.empty(n_topics), np.empty(n_topics)
    dot, ratio = np.empty(n_classes), np.empty(n_classes)
    before = np.empty(n_classes)
    size = count.sum()
    for _ in range(most_sweeps):
        expect_log_shares(gamma, lean)
        for k in range(n_classes):
            before[k] = posterior[k]
            for t in range(n_topics):
                lean[t] += posterior[k] * eta[k, t] / max(size, 1.0)
        _log_products(count, phi, eta, factor, share)
        normalise_scores(share, -1)
        for j in range(len(word)):
            _move_word(
                count[j], lean, log_word[word[j]], factor, share, phi[j], fresh, score, dot, ratio
            )
        moved = recount(count, phi, alpha, gamma)
        settle_class(gamma, alpha, eta, said, posterior)
        if moved < tol and np.abs(posterior - before).max() < tol:
            break


@kernel
def _move_word(
    count: float,
    lean: Floats,
    log_word: Floats,
    factor: Floats,
    share: Floats,
    phi: Floats,
    fresh: Floats,
    score: Floats,
    dot: Floats,
    ratio: Floats,
) -> None:
    """A better phi of one cell, and the share of each class in L there, both in place.

    ::

        phi ~ exp(lean + E log beta - h),    h[t] = sum_k share_k e_k[t] / (phi . e_k)

    h is the slope of L over c. For a word that occurs once L lies below its tangent and the step
    climbs; for others it is halved until it surely does. With steps of size s, r_k the ratio of
    new to old phi . e_k and m the sum of |phi's change|, the bound gains at least::

        c s (m^2 / 2 + sum_k share_k (r_k - 1)) - log sum_k share_k (1 + s (r_k - 1))^c
    """
    n_classes, n_topics = factor.shape
    for t in range(n_topics):
        score[t] = lean[t] + log_word[t]
    for k in range(n_classes):
        dot[k] = _dot(phi, factor[k])
        weight = share[k] / dot[k]
        for t in range(n_topics):
            score[t] -= weight * factor[k, t]
    soften(score, fresh)
    rise = 0.0
    for k in range(n_classes):
        ratio[k] = _dot(fresh, factor[k]) / dot[k]
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
    """The largest of 1, 1/2, 1/4 ... for which the bound does not fall; 0 if none."""
    moved = 0.0
    for t in range(len(phi)):
        moved += abs(fresh[t] - phi[t])
    sure = count * (0.5 * moved * moved + rise)
    step = 1.0
    for _ in range(_HALVINGS):
        total = 0.0
        for k in range(len(share)):
            total += share[k] * (1.0 + step * (ratio[k] - 1.0)) ** count
        if np.log(total) <= step * sure + _ROUNDING:
            return step
        step *= 0.5
    return 0.0


@kernel
def _dot(left: Floats, right: Floats) -> float:
    even = odd = 0.0  # two sums, for neither to wait on the other
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
def _log_products(
    count: Floats, phi: Floats, eta: Floats, factor: Floats, log_norm: Floats
) -> None:
    """sum_j c_j log(phi[j] . e_k) of every class, into `log_norm`."""
    for k in range(len(log_norm)):
        total = eta[k].mean() if len(count) == 0 else 0.0
        for j in range(len(count)):
            total += count[j] * np.log(_dot(phi[j], factor[k]))
        log_norm[k] = total


@kernel
def logit_slope(
    first: int,
    last: int,
    offsets: Offsets,
    count: Floats,
    labelled: Bools,
    phi: Floats,
    eta: Floats,
    slope: Floats,
) -> float:
    """The sum of L over a block of labelled documents; its gradient by eta is added to `slope`.

    ::

        dL/d eta[k,t] = share_k e_k[t] / N sum_j c_j phi[j,t] / (phi[j] . e_k)
    """
    n_classes, n_topics = eta.shape
    log_norm, pull = np.empty(n_classes), np.empty((n_classes, n_topics))
    total = 0.0
    for d in range(first, last):
        if labelled[d]:
            here = slice(offsets[d], offsets[d + 1])
            _log_product_slopes(count[here], phi[here], eta, log_norm, pull)
            total += normalise_scores(log_norm, -1)
            for k in range(n_classes):
                for t in range(n_topics):
                    slope[k, t] += log_norm[k] * pull[k, t]
    return total


@kernel
def _log_product_slopes(
    count: Floats, phi: Floats, eta: Floats, log_norm: Floats, pull: Floats
) -> None:
    """The same as `_log_products`, and the gradient of each by its own eta_k into `pull`."""
    n_classes, n_topics = eta.shape
    if len(count) == 0:
        for k in range(n_classes):
            log_norm[k] = eta[k].mean()
        pull[:] = 1.0 / n_topics
        return
    factor, size = _factors(count, eta), count.sum()
    log_norm[:] = 0.0
    pull[:] = 0.0
    for j in range(len(count)):
        for k in range(n_classes):
            dot = _dot(phi[j], factor[k])
            log_norm[k] += count[j] * np.log(dot)
            weight = count[j] / (dot * size)
            for t in range(n_topics):
                pull[k, t] += weight * phi[j, t]
    for k in range(n_classes):
        for t in range(n_topics):
            pull[k, t] *= factor[k, t]
