"""The compiled loops over documents that are the same for every kind of label."""

import math
from typing import NamedTuple

import numpy as np

from manyhands.aggregation.kernels.confusion_loops import normalise_scores
from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.kernels import kernel

_ASYMPTOTIC = 10.0  # from here on the series of the digamma function is exact to the last digit


class Cells(NamedTuple):
    """The words of all documents and their posterior; document d has offsets[d:d + 2]."""

    offsets: Offsets
    word: Codes
    counts: Floats
    phi: Floats
    gamma: Floats


class Words(NamedTuple):
    """The cells of one document, and its gamma."""

    word: Codes
    counts: Floats
    phi: Floats
    gamma: Floats


class Sweeps(NamedTuple):
    """How often the words of a document are swept in one E-step.

    The sweeps end after `max_sweeps`, or when a sweep moves the count of a topic by less than
    `tol` words on average.
    """

    max_sweeps: int
    tol: float = 1e-3


class Topics(NamedTuple):
    """E log beta of every word and topic (w, t), and the prior of a document's topics."""

    log_word: Floats
    alpha: float
    sweeps: Sweeps


@kernel
def words_of(document: int, cells: Cells) -> Words:
    """The cells of one document."""
    here = slice(cells.offsets[document], cells.offsets[document + 1])
    return Words(cells.word[here], cells.counts[here], cells.phi[here], cells.gamma[document])


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
    shift = digamma(belief.sum())
    for t in range(len(belief)):
        log_share[t] = digamma(belief[t]) - shift


@kernel
def log_beta(belief: Floats) -> float:
    """The logarithm of B(b) = prod_j Gamma(b_j) / Gamma(sum_j b_j)."""
    log_product = 0.0
    for each in belief:
        log_product += math.lgamma(each)
    return float(log_product - math.lgamma(belief.sum()))


@kernel
def update_gamma(words: Words, alpha: float) -> float:
    """Set gamma of one document to alpha + sum_j c_j phi[j]; returns its mean absolute change."""
    gamma, before = words.gamma, words.gamma.copy()
    gamma[:] = alpha
    for j in range(len(words.counts)):
        for t in range(len(gamma)):
            gamma[t] += words.counts[j] * words.phi[j, t]
    return sum_of_changes(before, gamma) / len(gamma)


@kernel
def sum_of_changes(before: Floats, after: Floats) -> float:
    """The sum of the absolute differences."""
    moved = 0.0
    for t in range(len(before)):
        moved += abs(after[t] - before[t])
    return moved


@kernel
def update_unlabelled(words: Words, topics: Topics) -> None:
    """Coordinate ascent for one document: phi[j] ~ exp(E log theta + E log beta), then gamma."""
    log_theta = np.empty(len(words.gamma))
    for _ in range(topics.sweeps.max_sweeps):
        expect_log(words.gamma, log_theta)
        for j in range(len(words.word)):
            np.add(log_theta, topics.log_word[words.word[j]], words.phi[j])
            normalise_scores(words.phi[j], -1)
        if update_gamma(words, topics.alpha) < topics.sweeps.tol:
            break


@kernel
def word_bound(words: Words, topics: Topics) -> float:
    """The contribution of one document's words to the bound, at its best gamma.

    ::

        sum_j c_j sum_t phi[j,t] (E log beta[t,w] - log phi[j,t]) + log B(gamma) - log B(alpha)
    """
    gamma, total = words.gamma, 0.0
    for j in range(len(words.word)):
        part = 0.0
        for t in range(len(gamma)):
            share = words.phi[j, t]
            if share > 0.0:
                part += share * (topics.log_word[words.word[j], t] - np.log(share))
        total += words.counts[j] * part
    return float(total + log_beta(gamma) - log_beta(np.full(len(gamma), topics.alpha)))


@kernel
def update_unlabelled_block(first: int, last: int, cells: Cells, topics: Topics) -> None:
    """Update documents `first` up to `last` by their words alone."""
    for d in range(first, last):
        update_unlabelled(words_of(d, cells), topics)
