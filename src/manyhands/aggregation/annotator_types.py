"""Annotator types: everyone is skilled, has habits of their own, or is a spammer."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln, log_softmax, psi

from manyhands.aggregation.base import Parameters
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.dawid_skene import ConfusionAggregator, PassParameters
from manyhands.aggregation.evidence import Evidence, majority_posterior
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass, Expectation
from manyhands.aggregation.kernels.type_pass import TypePass, TypePriors
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import NOT_NEGATIVE, POSITIVE, setting

_SKILLS = (0.9, 0.6, 0.3)  # levels: how far above chance, 1 is perfect
_OWN_SKILL = 0.6  # of the prior mean of own confusions
_SPAM = 0.5  # prior mean of each pseudo-count of a spammer's labels
_SPAM_WEIGHT = 2.0  # of that prior, in annotators
_WRONG = 10.0  # pseudo-labels of even errors per class
_LEARN_EVERY = 3  # steps: learning priors costs as much as a step without it
_FLOOR = 1e-3  # of a learnt pseudo-count


@dataclass(frozen=True)
class TypeParameters(PassParameters):
    """Soft counts of items and of annotators, and the learnt priors of types.

    Everything else follows from these: the counts determine the posterior of each annotator's
    type and confusion.
    """

    mass_k: Floats
    counts_alk: Floats
    share_t: Floats
    skill_jb: Floats
    wrong_lk: Floats
    own_lk: Floats
    spam_l: Floats
    class_pseudo_count: float

    @property
    def priors(self) -> TypePriors:
        """The priors of types."""
        return TypePriors(self.share_t, self.skill_jb, self.wrong_lk, self.own_lk, self.spam_l)

    @cached_property
    def _expected(self) -> tuple[Floats, Floats, float]:
        return TypePass(self.counts_alk.sum(axis=2)).expect(self.counts_alk, self.priors)

    @property
    def _expected_log_prior_k(self) -> Floats:
        pseudo_k = self.mass_k + self.class_pseudo_count
        return np.asarray(psi(pseudo_k) - psi(pseudo_k.sum()))

    @property
    def log_prior_k(self) -> Floats:
        """The log-probability of every class of an item without labels."""
        return np.asarray(log_softmax(self._expected_log_prior_k))

    def expected(self, expect: ConfusionPass) -> Expectation:
        """The E-step under these parameters."""
        return expect(self._expected_log_prior_k, self._expected[0])

    def log_evidence(self) -> float:
        """Minus the divergence of the posterior of all parameters from their prior."""
        pseudo_k = self.mass_k + self.class_pseudo_count
        log_beta = gammaln(pseudo_k).sum() - gammaln(pseudo_k.sum())
        flat_k = np.full_like(self.mass_k, self.class_pseudo_count)
        log_beta -= gammaln(flat_k).sum() - gammaln(flat_k.sum())
        return float(log_beta - self.mass_k @ self._expected_log_prior_k) - self._expected[2]

    def confusion(self) -> Floats:
        """The mean of every annotator's confusion, shape (a, k, l)."""
        member_at, n = self._expected[1], len(self.skill_jb)
        said_al, right_a = self.counts_alk.sum(axis=2), np.einsum("akk->a", self.counts_alk)
        n_a = said_al.sum(axis=1)
        hit_aj = (self.skill_jb[:, 0] + right_a[:, None]) / (
            self.skill_jb.sum(axis=1) + n_a[:, None]
        )
        hit_a = (member_at[:, :n] * hit_aj).sum(axis=1)
        miss_a = member_at[:, :n].sum(axis=1) - hit_a
        own_alk = self.own_lk + self.counts_alk
        own_alk /= own_alk.sum(axis=1, keepdims=True)
        spam_al = (self.spam_l + said_al) / (self.spam_l.sum() + n_a)[:, None]
        right = np.eye(len(self.spam_l), dtype=bool)
        mean_alk = np.where(right, hit_a[:, None, None], miss_a[:, None, None] * self.wrong_lk)
        mean_alk += member_at[:, n, None, None] * own_alk
        mean_alk += (member_at[:, n + 1, None] * spam_al)[:, :, None]
        return np.asarray(mean_alk.transpose(0, 2, 1))

    def annotator_traits(self) -> Mapping[str, AnyArray]:
        """The probability of every type."""
        member_at, n = self._expected[1], len(self.skill_jb)
        return {
            "skilled": member_at[:, :n].sum(axis=1),
            "own_confusion": member_at[:, n],
            "spammer": member_at[:, n + 1],
        }

    def with_unseen_annotators(self, n_new: int) -> Self:
        """The same with annotators appended of whom only the priors are known."""
        if n_new == 0:
            return self
        new_alk = np.zeros((n_new, *self.counts_alk.shape[1:]))
        return replace(self, counts_alk=np.concatenate([self.counts_alk, new_alk]))


@dataclass(frozen=True, kw_only=True)
class AnnotatorTypes(ConfusionAggregator[TypeParameters]):
    """Every annotator is of one type: skilled, with habits of their own, or a spammer.

    Truth z_i has the distribution pi. The type t_a has the distribution share, and decides how an
    annotator labels an item of class k::

        skilled (three levels j):  right with probability p_a ~ Beta(b_j), else a label of wrong[k]
        own confusion:             a label of C_a[k],  C_a[k] ~ Dirichlet(own[k])
        spammer:                   a label of c_a whatever the class,  c_a ~ Dirichlet(spam)

    Who gave few labels is judged by few numbers (skill or habit); a confusion of their own is for
    annotators with enough labels to show it. Labels of a spammer do not count. So annotators who
    always press the same button cannot turn every item into one class, as they can in
    `DawidSkene`.

    Variational EM with q(z) q(pi) q(t, parameters of t), n the soft counts of an annotator and psi
    the digamma function::

        q_ik ~ exp(E log pi_k + sum_n E log C[a_n, k, y_n])
        q(t_a = t) ~ share_t exp(log B(prior_t + n_a) - log B(prior_t)),  B the Beta function
        E log C[a, k, l] = sum_t q(t) (psi(prior_t + n_a)[k, l] - psi(sum over l))

    The priors share, wrong, own and spam are learnt: the first two in closed form, the others by
    Minka's fixed point. The objective is the evidence lower bound + log-priors of these; it never
    falls.

    Settings
    --------
    skill_strength:
        weight of a level, in labels: how far the accuracies of one level lie apart. The levels are
        0.9, 0.6 and 0.3 of the way from chance to perfect.
    own_strength, own_weight:
        own[k] has a Gamma prior whose mean is `own_strength` pseudo-labels, right 0.6 of the way
        from chance to perfect, with the weight of `own_weight` annotators.
    tol:
        larger than elsewhere: labels that share mistakes reward small steps away from the truth.

    Sources: Hovy et al. 2013 (MACE) for spammers, Kim and Ghahramani 2012 for Bayesian confusions.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> AnnotatorTypes().fit(ann).labels.tolist()
    [0, 1, 0]
    """

    name: ClassVar[str] = "annotator-types"
    parameters_type: ClassVar[type[Parameters]] = TypeParameters

    tol: float = setting(1e-4, "EM ends once a step gains less per label.", rule=NOT_NEGATIVE)
    skill_strength: float = setting(20.0, "Weight of a level of skill, in labels.", rule=POSITIVE)
    own_strength: float = setting(
        10.0, "Prior weight of own confusions, in labels per class.", rule=POSITIVE
    )
    own_weight: float = setting(100.0, "Weight of that prior, in annotators.", rule=POSITIVE)
    class_pseudo_count: float = setting(5.0, "Pseudo-items per class.", rule=POSITIVE)

    def _fit(self, evidence: Evidence, start: TypeParameters | None) -> Consensus:
        ann, expect = evidence.annotations, ConfusionPass(evidence)
        types = TypePass(_labels_said(evidence))
        if start is None:
            start = self.first_parameters(ann.n_annotators, ann.n_classes)
            expected = expect.count(majority_posterior(evidence))
        else:
            expected = start.expected(expect)
        steps = count()

        def maximise(expected: Expectation, before: TypeParameters) -> tuple[TypeParameters, float]:
            better = replace(before, mass_k=expected.mass_k, counts_alk=expected.counts_alk.copy())
            if next(steps) % _LEARN_EVERY == 0:
                better = self._learn(better, types)
            return better, better.log_evidence() + self._log_hyperprior(better)

        counted = replace(start, mass_k=expected.mass_k, counts_alk=expected.counts_alk.copy())
        initial = counted, counted.log_evidence() + self._log_hyperprior(counted)
        return self._alternate(evidence, initial, lambda each: each.expected(expect), maximise)

    def first_parameters(self, n_annotators: int, n_classes: int) -> TypeParameters:
        """The priors before anything is learnt."""
        accuracy_j = _above_chance(np.array(_SKILLS), n_classes)
        skill_jb = self.skill_strength * np.stack([accuracy_j, 1.0 - accuracy_j], axis=1)
        n_types = len(skill_jb) + 2
        return TypeParameters(
            mass_k=np.zeros(n_classes),
            counts_alk=np.zeros((n_annotators, n_classes, n_classes)),
            share_t=np.full(n_types, 1.0 / n_types),
            skill_jb=np.maximum(skill_jb, 1e-6),
            wrong_lk=_even_errors(n_classes),
            own_lk=self._own_mean(n_classes) * self.own_strength,
            spam_l=np.full(n_classes, _SPAM),
            class_pseudo_count=self.class_pseudo_count,
        )

    def _own_mean(self, n_classes: int) -> Floats:
        accuracy = _above_chance(_OWN_SKILL, n_classes)
        right = np.eye(n_classes, dtype=bool)
        return np.asarray(np.where(right, accuracy, (1.0 - accuracy) * _even_errors(n_classes)))

    def _learn(self, before: TypeParameters, types: TypePass) -> TypeParameters:
        """Better priors: shares and errors in closed form, Dirichlets by Minka's fixed point."""
        total = types.statistics(before.counts_alk, before.priors)
        n_classes, weight = len(before.spam_l), self.own_weight
        own_lk = before.own_lk * total.own_lk + weight * self._own_mean(n_classes)
        own_lk /= total.own_total_k + weight / self.own_strength
        spam_l = before.spam_l * total.spam_l + _SPAM_WEIGHT * _SPAM
        spam_l /= total.spam_total[0] + _SPAM_WEIGHT
        wrong_lk = (total.wrong_lk + _WRONG * _even_errors(n_classes)) * (1 - np.eye(n_classes))
        wrong_lk /= np.maximum(wrong_lk.sum(axis=0), 1e-300)
        share_t = (total.member_t + 1.0) / (total.member_t.sum() + len(total.member_t))
        return replace(
            before,
            share_t=share_t,
            wrong_lk=wrong_lk,
            own_lk=np.maximum(own_lk, _FLOOR),
            spam_l=np.maximum(spam_l, _FLOOR),
        )

    def _log_hyperprior(self, parameters: TypeParameters) -> float:
        """The log-priors of the learnt priors, up to a constant."""
        n_classes = len(parameters.spam_l)
        own_lk, spam_l = parameters.own_lk, parameters.spam_l
        value = self.own_weight * (
            (self._own_mean(n_classes) * np.log(own_lk)).sum() - own_lk.sum() / self.own_strength
        )
        value += _SPAM_WEIGHT * (_SPAM * np.log(spam_l) - spam_l).sum()
        value += np.log(parameters.share_t).sum()
        off = ~np.eye(n_classes, dtype=bool)
        if n_classes > 1:
            value += _WRONG / (n_classes - 1) * np.log(parameters.wrong_lk[off]).sum()
        return float(value)


def _labels_said(evidence: Evidence) -> Floats:
    ann = evidence.annotations
    cell = ann.annotator.astype(np.int64) * ann.n_classes + ann.label
    said = np.bincount(cell, minlength=ann.n_annotators * ann.n_classes)
    return said.reshape(ann.n_annotators, ann.n_classes).astype(np.float64)


def _above_chance(skill: Any, n_classes: int) -> Any:
    return 1.0 / n_classes + (1.0 - 1.0 / n_classes) * skill


def _even_errors(n_classes: int) -> Floats:
    return np.full((n_classes, n_classes), 1.0 / max(n_classes - 1, 1))
