"""The compiled loops over documents that are the same for every kind of label."""

import math

import numpy as np

from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.kernels import kernel

_ASYMPTOTIC = 10.0  # from here on the series of the digamma function is exact to the last digit


@kernel
def digamma(x: float) -> float:
    """The derivative of log Gamma, for x > 0."""
    shift = 0.0
    while x < _ASYMPTOTIC:
        shift -= 1.0 / x
        x += 1.0
    s = 1.0 / (x * x)
    series = s * (
        1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132 - s * 691 / 32760))))
    )
    return float(shift + math.log(x) - 0.5 / x - series)


@kernel
def expect_log(belief: Floats, log_share: Floats) -> None:
    """Write E log p for p ~ Dirichlet(belief) into `log_share`."""
    total = 0.0
    for t in range(len(belief)):
        total += belief[t]
    shift = digamma(total)
    for t in range(len(belief)):
        log_share[t] = digamma(belief[t]) - shift


@kernel
def log_beta(belief: Floats) -> float:
    """The logarithm of B(b) = prod_j Gamma(b_j) / Gamma(sum_j b_j)."""
    total = log_product = 0.0
    for t in range(len(belief)):
        total += belief[t]
        log_product += math.lgamma(belief[t])
    return float(log_product - math.lgamma(total))


@kernel
def softmax(score: Floats, share: Floats) -> None:
    """Write the softmax of the scores into `share`."""
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
def update_gamma(count: Floats, phi: Floats, alpha: float, gamma: Floats) -> float:
    """Set gamma of one document to alpha + sum_j c_j phi[j]; returns its mean absolute change."""
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
def update_unlabelled(
    word: Codes,
    count: Floats,
    log_word: Floats,
    alpha: float,
    max_sweeps: int,
    tol: float,
    phi: Floats,
    gamma: Floats,
) -> None:
    """Coordinate ascent for one document: phi[j] ~ exp(E log theta + E log beta), then gamma."""
    score, log_theta = np.empty(len(gamma)), np.empty(len(gamma))
    for _ in range(max_sweeps):
        expect_log(gamma, log_theta)
        for j in range(len(word)):
            for t in range(len(gamma)):
                score[t] = log_theta[t] + log_word[word[j], t]
            softmax(score, phi[j])
        if update_gamma(count, phi, alpha, gamma) < tol:
            break


@kernel
def word_bound(
    word: Codes, count: Floats, log_word: Floats, alpha: float, phi: Floats, gamma: Floats
) -> float:
    """The contribution of one document's words to the bound, at its best gamma.

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
def update_unlabelled_block(
    first: int,
    last: int,
    offsets: Offsets,
    word: Codes,
    count: Floats,
    log_word: Floats,
    alpha: float,
    max_sweeps: int,
    tol: float,
    phi: Floats,
    gamma: Floats,
) -> float:
    """Update documents `first` up to `last` by their words alone; returns their bound."""
    total = 0.0
    for d in range(first, last):
        here = slice(offsets[d], offsets[d + 1])
        words, counts, topics = word[here], count[here], phi[here]
        update_unlabelled(words, counts, log_word, alpha, max_sweeps, tol, topics, gamma[d])
        total += word_bound(words, counts, log_word, alpha, topics, gamma[d])
    return total


@kernel
def count_words(
    first: int,
    last: int,
    offsets: Offsets,
    order: Offsets,
    count: Floats,
    phi: Floats,
    counts: Floats,
) -> None:
    """Add how often words `first` up to `last` belong to every topic to `counts`."""
    for w in range(first, last):
        for n in range(offsets[w], offsets[w + 1]):
            j = order[n]
            for t in range(phi.shape[1]):
                counts[w, t] += count[j] * phi[j, t]
