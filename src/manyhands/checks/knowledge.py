"""How far the labels of an annotator depend on the items: knowledge, from -1 to 1.

An annotator with knowledge g > 0 sees the class of an item with probability g and otherwise draws a
label as if blindfolded, in the shares q of all labels that the annotator gave. With g < 0, a class
other than the true one is drawn with probability -g. With s = P(class is the label | others),

    p(label) = g s + (1 - g) q(label)                              for g >= 0
    p(label) = -g (1 - s) q(label) / (1 - c) + (1 + g) q(label)     for g < 0,

where c is the mean of s over what the annotator could have said, sum_l q(l) P(class is l). Labels
that are given at random, or that are always the same, have g = 0, whatever their shares.

The likelihood of every g of a grid is computed for each annotator. The distribution of g in the
crowd is estimated from all annotators (a nonparametric maximum likelihood with a weak prior), so
that a weak annotator is judged by what annotators of this crowd are like.

For numbers, g is the slope of the annotator's ranks on the mean rank of the others, normal with
the variance of the permutation test of `AgreementWithOthers`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from manyhands.annotations import Annotations
from manyhands.checks.agreement_with_others import agreement_of_ranks, mid_ranks
from manyhands.checks.posterior_of_others import OthersPosterior
from manyhands.core.arrays import Floats

GRID = np.linspace(-1.0, 1.0, 41)
# Halfway between points of the grid: below the first an annotator is against the truth, between the
# two at random. One label against the truth tells less than one label that is right.
AGAINST, CHANCE = -0.225, 0.125
PRIOR_ANNOTATORS = 4.0  # the weight of the prior of the crowd's distribution
MIN_ROOM = 0.07  # share of labels that knowledge must be able to add to chance
N_STEPS = 200
N_ROUNDS = 3
FIRST_KNOWLEDGE = 0.5
_SPIKE = 4.0  # the prior of no knowledge, in points of the grid
_TINY = 1e-12


@dataclass(frozen=True)
class Knowledge:
    """The posterior of every annotator's knowledge over `GRID`, and the labels it rests on."""

    posterior_ag: Floats
    n_compared_a: Floats
    agreement_a: Floats  # expected share of labels that the others confirm; slope for numbers
    chance_a: Floats  # the same share for labels drawn at random in the annotator's own shares

    @property
    def mean_a(self) -> Floats:
        """The expected knowledge."""
        return np.asarray(self.posterior_ag @ GRID)

    @property
    def p_random(self) -> Floats:
        """P(the labels do not depend on the items)."""
        return np.asarray(self.posterior_ag[:, (GRID > AGAINST) & (GRID < CHANCE)].sum(axis=1))

    @property
    def p_adversarial(self) -> Floats:
        """P(the labels are against what the items are)."""
        return np.asarray(self.posterior_ag[:, GRID < AGAINST].sum(axis=1))


def knowledge_of_classes(annotations: Annotations) -> tuple[Knowledge, OthersPosterior]:
    """The knowledge of annotators who gave classes, and the posterior of others that it gives.

    All annotators weigh the same at first, and then as much as their knowledge was found to be.
    """
    knowledge_a = np.full(annotations.n_annotators, FIRST_KNOWLEDGE)
    for _ in range(N_ROUNDS):
        others = OthersPosterior.weighted(annotations, knowledge_a)
        knowledge = knowledge_given(others)
        knowledge_a = knowledge.mean_a
    return knowledge, OthersPosterior.weighted(annotations, knowledge_a)


def knowledge_of_sets(annotations: Annotations) -> tuple[Knowledge, OthersPosterior]:
    """The knowledge of annotators who gave sets of classes, the same for all classes.

    Whether a class was said is a label of two classes. The log-likelihoods of all classes are
    added. The posterior of others is that of whole sets.
    """
    classes = [annotations.of_class(name) for name in annotations.classes.tolist()]
    knowledge_a = np.full(annotations.n_annotators, FIRST_KNOWLEDGE)
    for _ in range(N_ROUNDS):
        evidence = [evidence_given(OthersPosterior.weighted(each, knowledge_a)) for each in classes]
        total_ag = np.sum([each.log_likelihood_ag for each in evidence], axis=0)
        knowledge_a = crowd_posterior(total_ag) @ GRID
    right_a = np.mean([each.right_a for each in evidence], axis=0)
    chance_a = np.mean([each.chance_a for each in evidence], axis=0)
    knowledge = Knowledge(crowd_posterior(total_ag), evidence[0].n_a, right_a, chance_a)
    return knowledge, OthersPosterior.weighted(annotations.as_wholes(), knowledge_a)


class Evidence(NamedTuple):
    """What labels say of the knowledge of their annotators; see `Knowledge`."""

    log_likelihood_ag: Floats
    n_a: Floats
    right_a: Floats
    chance_a: Floats


def knowledge_given(others: OthersPosterior) -> Knowledge:
    """The knowledge of annotators; a label counts if its item has another one."""
    found = evidence_given(others)
    posterior_ag = crowd_posterior(found.log_likelihood_ag)
    return Knowledge(posterior_ag, found.n_a, found.right_a, found.chance_a)


def evidence_given(others: OthersPosterior) -> Evidence:
    """What the labels of some classes say; a label counts if its item has another one."""
    ann = others.annotations
    used = np.flatnonzero((ann.labels_per_item >= 2)[ann.item])
    owner, q_n = ann.annotator[used], others.shares(ann.annotator[used], ann.label[used])
    s_n, c_n, top_n = (each[used] for each in others.without_own())
    against_n = (1.0 - s_n) / np.maximum(1.0 - c_n, _TINY)
    log_likelihood_ag = np.empty((ann.n_annotators, len(GRID)))
    for place, g in enumerate(GRID):
        ratio_n = g * s_n / q_n + (1.0 - g) if g >= 0 else -g * against_n + (1.0 + g)
        log_n = np.log(np.maximum(ratio_n, _TINY))  # of p(label) / q(label): q is the same for all
        log_likelihood_ag[:, place] = np.bincount(owner, log_n, ann.n_annotators)
    n_a = np.bincount(owner, minlength=ann.n_annotators).astype(np.float64)

    def mean(weight_n: Floats) -> Floats:
        return np.bincount(owner, weight_n, ann.n_annotators) / np.maximum(n_a, 1.0)

    # Where the items hardly differ, knowing them cannot be told from repeating the same label.
    log_likelihood_ag[mean(top_n) - mean(c_n) < MIN_ROOM] = 0.0
    return Evidence(log_likelihood_ag, n_a, mean(s_n), mean(c_n))


def knowledge_of_numbers(annotations: Annotations) -> Knowledge:
    """The knowledge of annotators who gave numbers."""
    found = agreement_of_ranks(annotations, mid_ranks(annotations.label))
    known = found.is_varied_a & (found.n_compared_a >= 3)
    scale_a = np.where(known, np.maximum(found.max_excess_a, _TINY), 1.0)
    slope_a = np.where(known, found.excess_a / scale_a, 0.0)
    variance_a = np.where(known, found.variance_a / scale_a**2, 1.0)
    off_ag = slope_a[:, None] - GRID
    log_likelihood = np.where(known[:, None], -(off_ag**2) / (2.0 * variance_a[:, None]), 0.0)
    nothing = np.zeros(annotations.n_annotators)
    posterior = crowd_posterior(log_likelihood)
    return Knowledge(posterior, np.where(known, found.n_compared_a, 0.0), slope_a, nothing)


def crowd_posterior(log_likelihood_ag: Floats) -> Floats:
    """The posterior of each annotator, with the distribution of the crowd as the prior.

    >>> crowd_posterior(np.zeros((1, len(GRID)))).sum().round(6).item()
    1.0
    """
    prior_g = np.ones(len(GRID))
    prior_g[len(GRID) // 2] += _SPIKE
    prior_g /= prior_g.sum()
    likelihood_ag = np.exp(log_likelihood_ag - log_likelihood_ag.max(axis=1, keepdims=True))
    informed = np.ptp(log_likelihood_ag, axis=1) > 0
    crowd_g, n_informed = prior_g, int(informed.sum())
    for _ in range(N_STEPS):
        posterior_ag = likelihood_ag[informed] * crowd_g
        posterior_ag /= posterior_ag.sum(axis=1, keepdims=True)
        total_g = posterior_ag.sum(axis=0) + PRIOR_ANNOTATORS * prior_g
        crowd_g = total_g / (n_informed + PRIOR_ANNOTATORS)
    posterior_ag = likelihood_ag * crowd_g
    return np.asarray(posterior_ag / posterior_ag.sum(axis=1, keepdims=True))
