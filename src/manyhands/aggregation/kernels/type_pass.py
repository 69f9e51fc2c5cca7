"""Types of annotators: what soft counts say about them, and the expected log-confusions.

Given counts n[l, k] of an annotator (label l said of class k), the evidence of a type has its
parameters integrated out: log B(prior + n) - log B(prior), B the Beta function of a Dirichlet.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, psi

from manyhands.core.arrays import Floats
from manyhands.core.kernels import even_ranges, kernel, run_blocks

_MAX_BLOCKS = 16
_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


class TypePriors(NamedTuple):
    """Priors of the types: groups, own confusion, spammer; `share_t` in this order.

    The annotators of group m share the confusion `shared_mlk[m]`. The others have Dirichlet
    priors: `own_lk` for every column of a confusion, `spam_l` for the labels of a spammer.
    """

    share_t: Floats
    shared_mlk: Floats
    own_lk: Floats
    spam_l: Floats


class TypeStatistics(NamedTuple):
    """Sums over annotators, weighted by the probabilities of their types, to learn priors from."""

    member_t: Floats
    shared_mlk: Floats
    own_lk: Floats
    own_total_k: Floats
    spam_l: Floats
    spam_total: Floats


class TypeExpectation(NamedTuple):
    """What soft counts say about annotators under some priors.

    `divergence` is that of the posterior of types and their parameters from the prior.
    """

    log_confusion_alk: Floats
    member_at: Floats
    divergence: float
    statistics: TypeStatistics


class _Constants(NamedTuple):
    """The priors, with the values of log gamma and its derivative that all annotators share."""

    log_share: Floats
    log_shared: Floats
    own: Floats
    own_digamma: Floats
    own_gamma: Floats
    own_total: Floats
    own_total_digamma: Floats
    own_total_gamma: Floats
    spam: Floats
    spam_digamma: Floats
    spam_gamma: Floats
    spam_total: Floats  # the sum, its digamma, its log gamma


class _Annotator(NamedTuple):
    """Room for the values of one annotator."""

    said: Floats
    evidence: Floats
    own_digamma: Floats
    own_total: Floats
    spam_digamma: Floats
    sums: Floats  # labels, digamma of the spammer's total


def expect_types(counts_alk: Floats, priors: TypePriors) -> TypeExpectation:
    """The types of all annotators, and what better priors are learnt from."""
    n, n_types = counts_alk.shape[1], len(priors.share_t)
    blocks = even_ranges(len(counts_alk), _MAX_BLOCKS)
    log_confusion_alk = np.empty_like(counts_alk)
    member_at = np.empty((len(counts_alk), n_types))
    shapes = ((n_types,), (n_types - 2, n, n), (n, n), (n,), (n,), (1,))
    totals = [TypeStatistics(*map(np.zeros, shapes)) for _ in blocks]
    constants = _constants(priors)

    def work(block: int) -> float:
        return _expect_types(
            *blocks[block], counts_alk, constants, member_at, log_confusion_alk, totals[block]
        )

    divergence = sum(run_blocks(work, range(len(blocks))))
    total = TypeStatistics(*(np.sum(each, axis=0) for each in zip(*totals, strict=True)))
    return TypeExpectation(log_confusion_alk, member_at, divergence, total)


def _constants(priors: TypePriors) -> _Constants:
    own, spam = priors.own_lk, priors.spam_l
    own_total, spam_total = own.sum(axis=0), spam.sum()
    return _Constants(
        np.log(priors.share_t),
        np.log(priors.shared_mlk),
        own,
        psi(own),
        gammaln(own),
        own_total,
        psi(own_total),
        gammaln(own_total),
        spam,
        psi(spam),
        gammaln(spam),
        np.array([spam_total, psi(spam_total), gammaln(spam_total)]),
    )


@kernel
def stirling(x: float) -> tuple[float, float, float]:
    """The digamma of x > 0, and two numbers whose log gamma(x) = first - log(second).

    Sums of log gamma take one logarithm for many arguments. Errors are below 1e-10.
    """
    shifted, by = x, 1.0
    below = 0.0
    if x < 4.0:  # to x + 4, with by = x (x + 1) (x + 2) (x + 3) and its derivative
        by = x * (6.0 + x * (11.0 + x * (6.0 + x)))
        below = (6.0 + x * (22.0 + x * (18.0 + x * 4.0))) / by
        shifted = x + 4.0
    inverse = 1.0 / shifted
    square, log_x = inverse * inverse, math.log(shifted)
    series = 1 / 240 - square * (1 / 132 - square * (691 / 32760 - square / 12))
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * series)))
    tail = 1 / 1680 - square * (1 / 1188 - square * (691 / 360360 - square / 156))
    tail = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * tail)))
    log_gamma = (shifted - 0.5) * log_x - shifted + _HALF_LOG_TWO_PI + tail
    return log_x - 0.5 * inverse - series - below, log_gamma, by


@kernel
def digamma_and_log_gamma(x: float) -> tuple[float, float]:
    """The digamma and the log gamma of x > 0."""
    digamma, log_gamma, by = stirling(x)
    return digamma, log_gamma - math.log(by)


@kernel
def _weigh_types(counts: Floats, prior: _Constants, into: _Annotator) -> None:
    """The evidence of every type of one annotator.

    Logarithms cost most: those of products are taken once, before a product leaves the range.
    """
    n_classes, n_groups = counts.shape[0], len(prior.log_shared)
    n_labels = own_evidence = spam_evidence = 0.0
    own_product = spam_product = 1.0
    into.evidence[:] = 0.0
    into.own_total[:] = prior.own_total
    for label in range(n_classes):
        said = 0.0
        for k in range(n_classes):
            said += counts[label, k]
        into.said[label] = said
        if said == 0.0:
            continue
        n_labels += said
        into.spam_digamma[label], log_gamma, by = stirling(prior.spam[label] + said)
        spam_evidence += log_gamma - prior.spam_gamma[label]
        spam_product *= by
        for k in range(n_classes):
            n = counts[label, k]
            into.own_digamma[label, k], log_gamma, by = stirling(prior.own[label, k] + n)
            into.own_total[k] += n
            own_evidence += log_gamma - prior.own_gamma[label, k]
            own_product *= by
            if not 1e-200 < own_product < 1e200:
                own_evidence -= math.log(own_product)
                own_product = 1.0
            for m in range(n_groups):
                into.evidence[m] += n * prior.log_shared[m, label, k]
        if not 1e-200 < spam_product < 1e200:
            spam_evidence -= math.log(spam_product)
            spam_product = 1.0
    for k in range(n_classes):
        into.own_total[k], log_gamma, by = stirling(into.own_total[k])
        own_evidence -= log_gamma - prior.own_total_gamma[k]
        own_product /= by
        if not 1e-200 < own_product < 1e200:
            own_evidence -= math.log(own_product)
            own_product = 1.0
    into.sums[0] = n_labels
    into.sums[1], log_gamma, by = stirling(prior.spam_total[0] + n_labels)
    into.evidence[n_groups] = own_evidence - math.log(own_product)
    spam_evidence -= math.log(spam_product / by) + log_gamma - prior.spam_total[2]
    into.evidence[n_groups + 1] = spam_evidence


@kernel
def _share_out(log_share: Floats, evidence: Floats, member: Floats) -> float:
    """The probability of every type into `member`; returns the log evidence over all types."""
    top, total = -np.inf, 0.0
    for t in range(len(evidence)):
        top = max(top, log_share[t] + evidence[t])
    for t in range(len(evidence)):
        member[t] = math.exp(log_share[t] + evidence[t] - top)
        total += member[t]
    for t in range(len(evidence)):
        member[t] /= total
    return top + math.log(total)


@kernel
def _add_statistics(
    counts: Floats,
    prior: _Constants,
    each: _Annotator,
    member: Floats,
    total: TypeStatistics,
) -> None:
    n_classes, n_groups = counts.shape[0], len(prior.log_shared)
    own, spam = member[n_groups], member[n_groups + 1]
    total.member_t[:] += member
    total.spam_total[0] += spam * (each.sums[1] - prior.spam_total[1])
    for k in range(n_classes):
        total.own_total_k[k] += own * (each.own_total[k] - prior.own_total_digamma[k])
    for label in range(n_classes):
        if each.said[label] == 0.0:
            continue
        total.spam_l[label] += spam * (each.spam_digamma[label] - prior.spam_digamma[label])
        for k in range(n_classes):
            gain = each.own_digamma[label, k] - prior.own_digamma[label, k]
            total.own_lk[label, k] += own * gain
            for m in range(n_groups):
                total.shared_mlk[m, label, k] += member[m] * counts[label, k]


@kernel
def _expect_types(
    first: int,
    last: int,
    counts_alk: Floats,
    prior: _Constants,
    member_at: Floats,
    log_confusion_alk: Floats,
    total: TypeStatistics,
) -> float:
    n_classes, n_groups = len(prior.spam), len(prior.log_shared)
    each = _Annotator(
        np.empty(n_classes),
        np.empty(n_groups + 2),
        np.empty((n_classes, n_classes)),
        np.empty(n_classes),
        np.empty(n_classes),
        np.empty(2),
    )
    divergence = 0.0
    for a in range(first, last):
        counts, member = counts_alk[a], member_at[a]
        _weigh_types(counts, prior, each)
        divergence -= _share_out(prior.log_share, each.evidence, member)
        if each.sums[0] > 0.0:
            _add_statistics(counts, prior, each, member, total)
        own, spam = member[n_groups], member[n_groups + 1]
        for label in range(n_classes):
            was_said = each.said[label] > 0.0
            habit = each.spam_digamma[label] if was_said else prior.spam_digamma[label]
            by_habit = spam * (habit - each.sums[1])
            for k in range(n_classes):
                digamma = each.own_digamma[label, k] if was_said else prior.own_digamma[label, k]
                value = by_habit + own * (digamma - each.own_total[k])
                for m in range(n_groups):
                    value += member[m] * prior.log_shared[m, label, k]
                log_confusion_alk[a, label, k] = value
                divergence += counts[label, k] * value
    return divergence
