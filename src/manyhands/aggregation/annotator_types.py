"""Annotator types: like others of a group, with a confusion of their own, or a spammer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln, log_softmax, psi

from manyhands.aggregation.base import Aggregator, Parameters
from manyhands.aggregation.confidence import discount_correlation
from manyhands.aggregation.cost import Cost, confusion_cost
from manyhands.aggregation.dawid_skene import ConfusionAggregator, PassParameters
from manyhands.aggregation.em import EMRun, best_run
from manyhands.aggregation.evidence import Evidence, count_labels
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass, Expectation
from manyhands.aggregation.kernels.type_pass import TypeExpectation, TypePriors, expect_types
from manyhands.aggregation.one_coin import OneCoin
from manyhands.aggregation.worker_clustering import WorkerClustering
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Bools, Floats
from manyhands.core.settings import NOT_NEGATIVE, POSITIVE, Rule, setting

_GROUPS = (0.95, 0.75, 0.5, 0.25)  # prior skill of each group: 0 is chance, 1 is perfect
_OWN_SKILL = 0.6  # of the prior mean of own confusions
_SPAM = 0.5  # prior mean of each pseudo-count of a spammer's labels
_SPAM_WEIGHT = 2.0  # of that prior, in annotators
_STEPS_WITHOUT_LEARNING = 3  # until items have left the start, priors learn its errors
_FLOOR = 1e-6  # of a pseudo-count; classes that nobody uses have no more
_SAME_BOUND = 1e-9  # per label: a later start must be better by more
_STARTS = Rule(lambda value: 1 <= value <= 3, "1, 2 or 3")
_SHARE = Rule(lambda value: 0 <= value <= 1, "between 0 and 1")


@dataclass(frozen=True)
class TypeParameters(PassParameters):
    """Soft counts of items and of annotators, and the learnt priors of types.

    Everything else follows from these: the counts determine the posterior of each annotator's
    type and confusion.
    """

    mass_k: Floats
    counts_alk: Floats
    share_t: Floats
    shared_mlk: Floats
    own_lk: Floats
    spam_l: Floats
    class_pseudo_k: Floats

    @property
    def priors(self) -> TypePriors:
        """The priors of types."""
        return TypePriors(self.share_t, self.shared_mlk, self.own_lk, self.spam_l)

    @cached_property
    def types(self) -> TypeExpectation:
        """The types of all annotators under these parameters."""
        return expect_types(self.counts_alk, self.priors)

    @property
    def _expected_log_prior_k(self) -> Floats:
        pseudo_k = self.mass_k + self.class_pseudo_k
        return np.asarray(psi(pseudo_k) - psi(pseudo_k.sum()))

    @property
    def log_prior_k(self) -> Floats:
        """The log-probability of every class of an item without labels."""
        return np.asarray(log_softmax(self._expected_log_prior_k))

    def expected(self, expect: ConfusionPass) -> Expectation:
        """The E-step under these parameters."""
        return expect(self._expected_log_prior_k, self.types.log_confusion_alk)

    def log_evidence(self) -> float:
        """Minus the divergence of the posterior of all parameters from their prior."""
        log_beta = _log_beta(self.mass_k + self.class_pseudo_k) - _log_beta(self.class_pseudo_k)
        of_classes = log_beta - self.mass_k @ self._expected_log_prior_k
        return float(of_classes) - self.types.divergence

    def confusion(self) -> Floats:
        """The mean of every annotator's confusion, shape (a, k, l)."""
        member_at, n = self.types.member_at, len(self.shared_mlk)
        said_al = self.counts_alk.sum(axis=2)
        own_alk = self.own_lk + self.counts_alk
        own_alk /= own_alk.sum(axis=1, keepdims=True)
        spam_al = self.spam_l + said_al
        spam_al /= spam_al.sum(axis=1, keepdims=True)
        mean_alk = np.einsum("am,mlk->alk", member_at[:, :n], self.shared_mlk)
        mean_alk += member_at[:, n, None, None] * own_alk
        mean_alk += (member_at[:, n + 1, None] * spam_al)[:, :, None]
        return np.asarray(mean_alk.transpose(0, 2, 1))

    def annotator_traits(self) -> Mapping[str, AnyArray]:
        """The probability of every type."""
        member_at, n = self.types.member_at, len(self.shared_mlk)
        return {
            "shared_confusion": member_at[:, :n].sum(axis=1),
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
    """Every annotator is of one type: like a group, with own habits, or a spammer.

    Truth z_i has the distribution pi. The type t_a has the distribution share, and decides how an
    annotator labels an item of class k::

        group m (four of them):  a label of shared_m[k], the same for all of the group
        own confusion:           a label of C_a[k],  C_a[k] ~ Dirichlet(own[k])
        spammer:                 a label of c_a whatever the class,  c_a ~ Dirichlet(spam)

    Who gave few labels is judged by the group they resemble; a confusion of their own is for
    annotators with enough labels to show it. Labels of a spammer do not count. So annotators who
    always press the same button cannot turn every item into one class, as they can in
    `DawidSkene`.

    Variational EM with q(z) q(pi) q(t, parameters of t), n the soft counts of an annotator and psi
    the digamma function::

        q_ik ~ exp(E log pi_k + sum_n E log C[a_n, k, y_n])
        q(t_a = t) ~ share_t exp(log evidence of n_a under t)
        E log C[a, k, l] = sum_t q(t) E log C_t[k, l];  own: psi(own + n)[k, l] - psi(sum over l)

    The priors are learnt: share and shared in closed form, own and spam by Minka's fixed point.
    The objective is the evidence lower bound + log-priors of these; it never falls. EM starts from
    the majority, from `OneCoin` and from `WorkerClustering`, and the highest bound wins.

    The model takes labels for independent given the truth, and people share mistakes. So
    `probabilities` are the posterior q of an item with n labels to the power
    1 / (1 + (n - 1) correlation): as if it had fewer labels. `raw_probabilities` are q itself.

    Settings
    --------
    group_strength:
        weight of a group's prior, in labels per class. Its mean has a skill of 0.95, 0.75, 0.5 or
        0.25 (0 is chance, 1 is perfect) and even errors.
    own_strength, own_weight:
        own[k] has a Gamma prior whose mean is `own_strength` pseudo-labels, right 0.6 of the way
        from chance to perfect, with the weight of `own_weight` annotators.
    tol:
        larger than elsewhere: labels that share mistakes reward small steps away from the truth.

    Sources: Hovy et al. 2013 (MACE) for spammers, Kim and Ghahramani 2012 for Bayesian confusions,
    Imamura et al. 2018 for groups.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> AnnotatorTypes().fit(ann).labels.tolist()
    [0, 1, 0]
    """

    name: ClassVar[str] = "annotator-types"
    parameters_type: ClassVar[type[Parameters]] = TypeParameters
    cheaper: ClassVar[str] = "max_iter or n_starts"

    tol: float = setting(1e-4, "EM ends once a step gains less per label.", rule=NOT_NEGATIVE)
    correlation: float = setting(
        0.2, "Correlation of an item's labels, for the confidence; 0: independent.", rule=_SHARE
    )
    group_strength: float = setting(
        30.0, "Prior weight of a group's confusion, in labels per class.", rule=POSITIVE
    )
    own_strength: float = setting(
        10.0, "Prior weight of own confusions, in labels per class.", rule=POSITIVE
    )
    own_weight: float = setting(100.0, "Weight of that prior, in annotators.", rule=POSITIVE)
    class_pseudo_count: float = setting(5.0, "Pseudo-items per class.", rule=POSITIVE)
    n_starts: int = setting(3, "Starts: majority, one-coin, worker-clustering.", rule=_STARTS)

    def cost(self, annotations: Annotations) -> Cost:
        """The memory and time of a fit to these labels."""
        return confusion_cost(
            annotations,
            item_tables=11.0,
            tables=10.5,
            more=150,
            steps=self.max_iter * self.n_starts,
            nanoseconds=50,
        )

    def fit_parameters(
        self, evidence: Evidence, start: TypeParameters | None = None
    ) -> EMRun[TypeParameters]:
        """Fit the model, from its own initial parameters or from the given ones."""
        ann, expect, used_k = evidence.annotations, self.confusion_pass(evidence), _used(evidence)
        first = self.first_parameters(ann.n_annotators, used_k)
        if start is not None and np.array_equal(start.class_pseudo_k, first.class_pseudo_k):
            return self._fit_from(evidence, expect, start, start.expected(expect))
        runs = (
            self._fit_from(evidence, expect, first, expect.count(posterior_ik))
            for posterior_ik in self._starts(expect)
        )
        return best_run(runs, _SAME_BOUND * ann.n_annotations)

    def _starts(self, expect: ConfusionPass) -> Iterator[Floats]:
        evidence, device = expect.evidence, self.device
        yield expect.majority()
        others: list[Aggregator[Any]] = [OneCoin(device=device), WorkerClustering(device=device)]
        for model in others[: self.n_starts - 1]:
            model.require_affordable(evidence.annotations)
            start = model.fit_parameters(evidence).state
            yield evidence.of_items(_posterior, model, start)

    def _fit_from(
        self,
        evidence: Evidence,
        expect: ConfusionPass,
        start: TypeParameters,
        expected: Expectation,
    ) -> EMRun[TypeParameters]:
        used_k = _used(evidence)
        initial = self._counted(start, expected, used_k)
        begun = None if evidence.parts is None else evidence.parts.continued(initial)
        steps = count(0 if begun is None else len(begun.objective))

        def maximise(expected: Expectation, before: TypeParameters) -> tuple[TypeParameters, float]:
            learns = next(steps) >= _STEPS_WITHOUT_LEARNING
            better = self._learn(before, used_k) if learns else before
            return self._counted(better, expected, used_k)

        return self._alternate(
            evidence, initial, lambda each: each.expected(expect), maximise, begun
        )

    def _counted(
        self, parameters: TypeParameters, expected: Expectation, used_k: Bools
    ) -> tuple[TypeParameters, float]:
        """The parameters with the counts of an E-step, and their part of the bound."""
        counts_alk = expected.counts_alk.copy()
        counted = replace(parameters, mass_k=expected.mass_k, counts_alk=counts_alk)
        return counted, counted.log_evidence() + self._log_hyperprior(counted, used_k)

    def estimate_items(self, evidence: Evidence, parameters: TypeParameters) -> dict[str, Any]:
        """The fields of a `Consensus` that describe items, under these parameters."""
        expect = self.confusion_pass(evidence, counts=False)
        raw_ik = parameters.expected(expect).posterior_ik
        doubted_ik = discount_correlation(
            raw_ik, evidence.annotations.labels_per_item, self.correlation
        )
        return {"probabilities": evidence.clamp(doubted_ik), "raw_probabilities": raw_ik}

    def first_parameters(self, n_annotators: int, used_k: Bools) -> TypeParameters:
        """The priors before anything is learnt; `used_k`: the classes that people use."""
        n_classes, n_types = len(used_k), len(_GROUPS) + 2
        return TypeParameters(
            mass_k=np.zeros(n_classes),
            counts_alk=np.zeros((n_annotators, n_classes, n_classes)),
            share_t=np.full(n_types, 1.0 / n_types),
            shared_mlk=_group_means(used_k),
            own_lk=_even_errors(_OWN_SKILL, used_k) * self.own_strength,
            spam_l=np.where(used_k, _SPAM, _FLOOR),
            class_pseudo_k=np.where(used_k, self.class_pseudo_count, _FLOOR),
        )

    def _learn(self, before: TypeParameters, used_k: Bools) -> TypeParameters:
        """Better priors: shares and groups in closed form, Dirichlets by Minka's fixed point."""
        total, weight = before.types.statistics, self.own_weight
        shared_mlk = total.shared_mlk + self.group_strength * _group_means(used_k)
        own_lk = before.own_lk * total.own_lk + weight * _even_errors(_OWN_SKILL, used_k)
        own_lk /= total.own_total_k + weight / self.own_strength
        spam_l = before.spam_l * total.spam_l + _SPAM_WEIGHT * np.where(used_k, _SPAM, _FLOOR)
        spam_l /= total.spam_total[0] + _SPAM_WEIGHT
        return replace(
            before,
            share_t=(total.member_t + 1.0) / (total.member_t.sum() + len(total.member_t)),
            shared_mlk=shared_mlk / shared_mlk.sum(axis=1, keepdims=True),
            own_lk=np.maximum(own_lk, _FLOOR),
            spam_l=np.maximum(spam_l, _FLOOR),
        )

    def _log_hyperprior(self, parameters: TypeParameters, used_k: Bools) -> float:
        """The log-priors of the learnt priors, up to a constant."""
        own_lk, spam_l = parameters.own_lk, parameters.spam_l
        of_groups = (_group_means(used_k) * np.log(parameters.shared_mlk)).sum()
        of_own = (_even_errors(_OWN_SKILL, used_k) * np.log(own_lk)).sum()
        of_own -= own_lk.sum() / self.own_strength
        of_spam = (np.where(used_k, _SPAM, _FLOOR) * np.log(spam_l) - spam_l).sum()
        value = self.group_strength * of_groups + self.own_weight * of_own
        return float(value + _SPAM_WEIGHT * of_spam + np.log(parameters.share_t).sum())


def _used(evidence: Evidence) -> Bools:
    """The classes that were said, or that are the known truth of an item."""
    used_k: Bools = evidence.total(_count_uses) > 0
    return used_k


def _count_uses(evidence: Evidence) -> Floats:
    known_k = np.bincount(
        evidence.known[evidence.known >= 0], minlength=evidence.annotations.n_classes
    )
    return count_labels(evidence) + known_k


def _posterior(evidence: Evidence, model: Aggregator[Any], parameters: Parameters) -> Floats:
    return np.asarray(model.estimate_items(evidence, parameters)["probabilities"])


def _even_errors(skill: float, used_k: Bools) -> Floats:
    """A confusion (l, k) of this skill (0 is chance, 1 is perfect) with equal errors."""
    n = max(int(used_k.sum()), 1)
    accuracy = 1.0 / n + (1.0 - 1.0 / n) * skill
    right = np.eye(len(used_k), dtype=bool)
    error_lk = np.where(used_k[:, None], (1.0 - accuracy) / max(n - 1, 1), 0.0)
    mean_lk = np.maximum(np.where(right, accuracy, error_lk), _FLOOR)
    return np.asarray(mean_lk / mean_lk.sum(axis=0))


def _group_means(used_k: Bools) -> Floats:
    return np.stack([_even_errors(skill, used_k) for skill in _GROUPS])


def _log_beta(pseudo_k: Floats) -> float:
    return float(gammaln(pseudo_k).sum() - gammaln(pseudo_k.sum()))
