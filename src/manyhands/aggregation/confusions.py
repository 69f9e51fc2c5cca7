"""Parameters of confusion models, and the parts of their M-step that need no kernel."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from manyhands.aggregation.kernels.confusion_pass import (
    TINY,
    ConfusionPass,
    Expectation,
    fit_confusions,
)
from manyhands.aggregation.parameters import Parameters
from manyhands.core.arrays import AnyArray, Floats


@dataclass(frozen=True)
class ConfusionParameters(Parameters):
    """Class prior and confusions in log space; `log_crowd_lk` is for unseen annotators."""

    log_prior_k: Floats
    log_confusion_alk: Floats
    log_crowd_lk: Floats

    def confusion(self) -> Floats:
        """Every annotator's confusion, shape (a, k, l)."""
        return np.exp(self.log_confusion_alk).transpose(0, 2, 1)

    def with_unseen_annotators(self, n_new: int) -> Self:
        """The same with average annotators appended."""
        if n_new == 0:
            return self
        new_alk = np.repeat(self.log_crowd_lk[None], n_new, axis=0)
        return replace(self, log_confusion_alk=np.concatenate([self.log_confusion_alk, new_alk]))


@dataclass(frozen=True)
class GroupParameters(Parameters):
    """Class prior, sizes and confusions of groups, and each annotator's membership (a, m)."""

    log_prior_k: Floats
    log_share_m: Floats
    log_confusion_mlk: Floats
    member_am: Floats

    def confusion(self) -> Floats:
        """Group confusions weighted by membership, shape (a, k, l)."""
        confusion_mlk = np.exp(self.log_confusion_mlk)
        return np.asarray(np.einsum("am,mlk->akl", self.member_am, confusion_mlk))

    def with_unseen_annotators(self, n_new: int) -> Self:
        """The same with annotators appended whose membership is the average one."""
        new_am = np.repeat(np.exp(self.log_share_m)[None], n_new, axis=0)
        return replace(self, member_am=np.concatenate([self.member_am, new_am]))

    def member_columns(self, noun: str) -> Mapping[str, AnyArray]:
        """Membership as columns `<noun>_1`, `<noun>_2` and so on."""
        return {f"{noun}_{m + 1}": column for m, column in enumerate(self.member_am.T)}


def crowd_confusion(counts_alk: Floats, strength: float) -> Floats:
    """The confusion of an average annotator, (l, k), with one pseudo-label so that none is empty.

    P[k,l] ~ sum_a w_ak counts[a,k,l] / n_ak  with  w_ak = n_ak / (n_ak + strength)

    This is a mean over annotators, not over labels, so that a few busy annotators do not determine
    it. An annotator with few labels has less weight; beyond that the number of labels does not
    matter.
    """
    n_labels = counts_alk.shape[1]
    n_ak = counts_alk.sum(axis=1)
    weight_ak = 1.0 / (n_ak + strength)
    total_lk = np.einsum("alk,ak->lk", counts_alk, weight_ak) + 1.0 / (n_labels * (1.0 + strength))
    return np.asarray(total_lk / total_lk.sum(axis=0))


def first_expectation(
    expect: ConfusionPass,
    posterior_ik: Floats,
    pseudo_counts: Callable[[Floats], Floats],
    strength: float,
    class_pseudo_count: float,
) -> tuple[Expectation, Floats]:
    """The expectation one EM step after `posterior_ik`, and the crowd's confusion (l, k) there.

    Label distributions blur every confusion, so the crowd's confusion is estimated after one step.
    `pseudo_counts` returns the pseudo-counts of that step for the crowd's blurred confusion.
    """
    weight = max(strength, 1.0)
    expected = expect.count(posterior_ik)
    pseudo_alk = pseudo_counts(crowd_confusion(expected.counts_alk, weight))
    log_prior_k, _ = fit_class_prior(expected.mass_k, class_pseudo_count)
    first = fit_confusions(expected.counts_alk, pseudo_alk)
    expected = expect(log_prior_k, first.log_confusion_alk)
    return expected, crowd_confusion(expected.counts_alk, weight)


def fit_class_prior(mass_k: Floats, pseudo: float) -> tuple[Floats, float]:
    """Log pi_k with pi_k ~ mass_k + pseudo, and the log-prior pseudo * sum_k log pi_k.

    mass_k is sum_i q_ik. An infinite pseudo-count keeps all classes equally probable.
    """
    if np.isinf(pseudo):
        return np.full(len(mass_k), -np.log(len(mass_k))), 0.0
    raised_k = mass_k + pseudo
    log_prior_k = np.log(np.maximum(raised_k / raised_k.sum(), TINY))
    return log_prior_k, pseudo * float(log_prior_k.sum())
