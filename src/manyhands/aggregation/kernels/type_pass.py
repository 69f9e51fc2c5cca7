"""Types of annotators: what soft counts say about them, and the expected log-confusions.

Given counts n[l, k] of an annotator (label l said of class k), the evidence of a type has its
parameters integrated out: log B(prior + n) - log B(prior), B the Beta function of a Dirichlet.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, psi

from manyhands.core.arrays import Floats
from manyhands.core.kernels import even_blocks, kernel, run_blocks

_MAX_BLOCKS = 16
_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


class TypePriors(NamedTuple):
    """Priors of the types: levels of skill, own confusion, spammer; `share_t` in this order.

    Skilled annotators of level j have a Beta prior with pseudo-labels `skill_jb` right and wrong;
    `wrong_lk` is what they say of class k when they are wrong. The others have Dirichlet priors:
    `own_lk` for every column of a confusion, `spam_l` for the labels of a spammer.
    """

    share_t: Floats
    skill_jb: Floats
    wrong_lk: Floats
    own_lk: Floats
    spam_l: Floats


class _Constants(NamedTuple):
    """The priors, with the values of log gamma and its derivative that all annotators share."""

    log_share: Floats
    skill: Floats
    skill_gamma: Floats
    log_wrong: Floats
    own: Floats
    own_digamma: Floats
    own_gamma: Floats
    own_total_digamma: Floats
    own_total_gamma: Floats
    spam: Floats
    spam_digamma: Floats
    spam_gamma: Floats
    spam_total: Floats  # the sum, its digamma, its log gamma


class _Annotator(NamedTuple):
    """Room for the values of one annotator."""

    evidence: Floats
    member: Floats
    own_digamma: Floats
    own_total: Floats
    spam_digamma: Floats
    skill_log: Floats  # (levels, 2): expected log-probability of a right and of a wrong label
    sums: Floats  # labels, digamma of the spammer's total


class TypeStatistics(NamedTuple):
    """Sums over annotators, weighted by the probabilities of their types, to learn priors from."""

    member_t: Floats
    wrong_lk: Floats
    own_lk: Floats
    own_total_k: Floats
    spam_l: Floats
    spam_total: Floats


class TypePass:
    """Passes over the annotators of one set of annotations; `said_al` counts their labels."""

    def __init__(self, said_al: Floats) -> None:
        self._said_al = said_al
        self._blocks = even_blocks(np.arange(len(said_al) + 1), _MAX_BLOCKS)

    def statistics(self, counts_alk: Floats, priors: TypePriors) -> TypeStatistics:
        """What the priors are learnt from."""
        n, n_types, constants = self._said_al.shape[1], len(priors.share_t), _constants(priors)
        shapes = ((n_types,), (n, n), (n, n), (n,), (n,), (1,))
        parts = [TypeStatistics(*map(np.zeros, shapes)) for _ in self._blocks]

        def work(block: int) -> None:
            _add_statistics(
                *self._blocks[block], self._said_al, counts_alk, constants, parts[block]
            )

        run_blocks(work, range(len(self._blocks)))
        return TypeStatistics(*(np.sum(each, axis=0) for each in zip(*parts, strict=True)))

    def expect(self, counts_alk: Floats, priors: TypePriors) -> tuple[Floats, Floats, float]:
        """Expected log-confusions (a, l, k), memberships (a, t), and their divergence.

        That is the divergence of the posterior of types and their parameters from the prior.
        """
        log_confusion_alk = np.empty_like(counts_alk)
        member_at = np.empty((len(counts_alk), len(priors.share_t)))
        constants = _constants(priors)

        def work(block: int) -> float:
            return _expect_types(
                *self._blocks[block],
                self._said_al,
                counts_alk,
                constants,
                member_at,
                log_confusion_alk,
            )

        return log_confusion_alk, member_at, sum(run_blocks(work, range(len(self._blocks))))


def _constants(priors: TypePriors) -> _Constants:
    own, spam, skill = priors.own_lk, priors.spam_l, priors.skill_jb
    own_total, spam_total = own.sum(axis=0), spam.sum()
    return _Constants(
        np.log(priors.share_t),
        skill,
        gammaln(skill).sum(axis=1) - gammaln(skill.sum(axis=1)),
        np.log(np.where(np.eye(len(own)) > 0, 1.0, priors.wrong_lk)),
        own,
        psi(own),
        gammaln(own),
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
def _weigh_types(said: Floats, counts: Floats, prior: _Constants, into: _Annotator) -> None:
    """The evidence and the probability of every type of one annotator."""
    n_classes, n_levels = len(said), len(prior.skill)
    n_labels = right = log_errors = own_evidence = spam_evidence = 0.0
    into.own_total[:] = 0.0
    for label in range(n_classes):
        if said[label] == 0.0:
            into.spam_digamma[label] = prior.spam_digamma[label]
            for k in range(n_classes):
                into.own_digamma[label, k] = prior.own_digamma[label, k]
                into.own_total[k] += prior.own[label, k]
            continue
        n_labels += said[label]
        right += counts[label, label]
        digamma, log_gamma = digamma_and_log_gamma(prior.spam[label] + said[label])
        into.spam_digamma[label] = digamma
        spam_evidence += log_gamma - prior.spam_gamma[label]
        product = 1.0
        for k in range(n_classes):
            cell = prior.own[label, k] + counts[label, k]
            digamma, log_gamma, by = stirling(cell)
            into.own_digamma[label, k] = digamma
            into.own_total[k] += cell
            own_evidence += log_gamma - prior.own_gamma[label, k]
            log_errors += counts[label, k] * prior.log_wrong[label, k]
            product *= by
            if not 1e-200 < product < 1e200:
                own_evidence -= math.log(product)
                product = 1.0
        own_evidence -= math.log(product)
    for k in range(n_classes):
        digamma, log_gamma = digamma_and_log_gamma(into.own_total[k])
        into.own_total[k] = digamma
        own_evidence -= log_gamma - prior.own_total_gamma[k]
    digamma, log_gamma = digamma_and_log_gamma(prior.spam_total[0] + n_labels)
    into.sums[0], into.sums[1] = n_labels, digamma
    into.evidence[n_levels] = own_evidence
    into.evidence[n_levels + 1] = spam_evidence - (log_gamma - prior.spam_total[2])
    for j in range(n_levels):
        hits, misses = prior.skill[j, 0] + right, prior.skill[j, 1] + max(n_labels - right, 0.0)
        hit_digamma, hit_gamma, hit_by = stirling(hits)
        miss_digamma, miss_gamma, miss_by = stirling(misses)
        digamma, log_gamma, by = stirling(hits + misses)
        log_gamma += math.log(hit_by * miss_by / by)
        into.skill_log[j, 0], into.skill_log[j, 1] = hit_digamma - digamma, miss_digamma - digamma
        into.evidence[j] = hit_gamma + miss_gamma - log_gamma - prior.skill_gamma[j] + log_errors
    top, total = -np.inf, 0.0
    for t in range(n_levels + 2):
        top = max(top, prior.log_share[t] + into.evidence[t])
    for t in range(n_levels + 2):
        into.member[t] = math.exp(prior.log_share[t] + into.evidence[t] - top)
        total += into.member[t]
    for t in range(n_levels + 2):
        into.member[t] /= total


@kernel
def _room(prior: _Constants) -> _Annotator:
    n_classes, n_types = len(prior.spam), len(prior.log_share)
    return _Annotator(
        np.empty(n_types),
        np.empty(n_types),
        np.empty((n_classes, n_classes)),
        np.empty(n_classes),
        np.empty(n_classes),
        np.empty((n_types - 2, 2)),
        np.empty(2),
    )


@kernel
def _add_statistics(
    first: int,
    last: int,
    said_al: Floats,
    counts_alk: Floats,
    prior: _Constants,
    total: TypeStatistics,
) -> None:
    n_classes, n_levels = len(prior.spam), len(prior.skill)
    each = _room(prior)
    for a in range(first, last):
        said, counts = said_al[a], counts_alk[a]
        _weigh_types(said, counts, prior, each)
        if each.sums[0] == 0.0:
            continue
        own, spam = each.member[n_levels], each.member[n_levels + 1]
        skilled = each.member[:n_levels].sum()
        total.member_t[:] += each.member
        total.spam_total[0] += spam * (each.sums[1] - prior.spam_total[1])
        for k in range(n_classes):
            total.own_total_k[k] += own * (each.own_total[k] - prior.own_total_digamma[k])
        for label in range(n_classes):
            if said[label] == 0.0:
                continue
            total.spam_l[label] += spam * (each.spam_digamma[label] - prior.spam_digamma[label])
            for k in range(n_classes):
                gain = each.own_digamma[label, k] - prior.own_digamma[label, k]
                total.own_lk[label, k] += own * gain
                total.wrong_lk[label, k] += skilled * counts[label, k]


@kernel
def _expect_types(
    first: int,
    last: int,
    said_al: Floats,
    counts_alk: Floats,
    prior: _Constants,
    member_at: Floats,
    log_confusion_alk: Floats,
) -> float:
    n_classes, n_levels = len(prior.spam), len(prior.skill)
    each = _room(prior)
    divergence = 0.0
    for a in range(first, last):
        counts = counts_alk[a]
        _weigh_types(said_al[a], counts, prior, each)
        member_at[a] = each.member
        log_right = log_error = skilled = 0.0
        for j in range(n_levels):
            log_right += each.member[j] * each.skill_log[j, 0]
            log_error += each.member[j] * each.skill_log[j, 1]
            skilled += each.member[j]
        own, spam = each.member[n_levels], each.member[n_levels + 1]
        for label in range(n_classes):
            by_habit = spam * (each.spam_digamma[label] - each.sums[1])
            for k in range(n_classes):
                value = by_habit + own * (each.own_digamma[label, k] - each.own_total[k])
                if label == k:
                    value += log_right
                else:
                    value += log_error + skilled * prior.log_wrong[label, k]
                log_confusion_alk[a, label, k] = value
                divergence += counts[label, k] * value
        for t in range(n_levels + 2):
            if each.member[t] > 0.0:
                log_ratio = math.log(each.member[t]) - prior.log_share[t]
                divergence += each.member[t] * (log_ratio - each.evidence[t])
    return divergence
