"""Worker clustering: annotators belong to a few hidden clusters that share a confusion."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.special import log_softmax

from manyhands.aggregation.base import (
    CLASS_PSEUDO_COUNT,
    MAY_BE_INFINITE,
    Parameters,
)
from manyhands.aggregation.cost import Cost, confusion_cost
from manyhands.aggregation.dawid_skene import (
    ConfusionAggregator,
    PassParameters,
    fit_class_prior,
)
from manyhands.aggregation.em import EMRun
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.confusion_pass import (
    ConfusionPass,
    Expectation,
    crowd_confusion,
    fit_confusions,
)
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import AT_LEAST_ONE, POSITIVE, setting


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

    def right(self) -> Floats:
        """The diagonals of confusions."""
        right_mk = np.exp(np.einsum("mkk->mk", self.log_confusion_mlk))
        return np.asarray(np.einsum("am,mk->ak", self.member_am, right_mk))

    def with_unseen_annotators(self, n_new: int) -> Self:
        """The same with annotators appended whose membership is the average one."""
        new_am = np.repeat(np.exp(self.log_share_m)[None], n_new, axis=0)
        return replace(self, member_am=np.concatenate([self.member_am, new_am]))

    def member_columns(self, noun: str) -> Mapping[str, AnyArray]:
        """Membership as columns `<noun>_1`, `<noun>_2` and so on."""
        return {f"{noun}_{m + 1}": column for m, column in enumerate(self.member_am.T)}


class ClusterParameters(GroupParameters, PassParameters):
    """Clusters of annotators: each annotator belongs to one, with some probability."""

    def annotator_traits(self) -> Mapping[str, AnyArray]:
        """The probability of every cluster."""
        return self.member_columns("cluster")

    def expected(self, expect: ConfusionPass) -> Expectation:
        """The E-step: log-confusions are averaged over the clusters of an annotator."""
        log_confusion_alk = np.einsum("am,mlk->alk", self.member_am, self.log_confusion_mlk)
        return expect(self.log_prior_k, log_confusion_alk)


@dataclass(frozen=True, kw_only=True)
class WorkerClustering(ConfusionAggregator[ClusterParameters]):
    """Annotator a belongs to cluster m with probability r_am; a cluster shares one confusion C_m.

    Truth z_i has the distribution pi, cluster c_a the distribution share, and the label is drawn
    from row z_i of the cluster's confusion. Variational EM with q(z) q(c)::

        q_ik ~ pi_k exp sum_n sum_m r_am log C_m[k, y_n]
        r_am ~ share_m exp sum_n sum_k q_ik log C_m[k, y_n]
        C_m[k,l] ~ sum_a r_am sum_n q_ik [y_n = l] + pseudo_count

    The objective is the evidence lower bound + log-priors; it never falls. The initial clusters
    are levels of accuracy against the majority, so the result does not depend on names or order.

    Source: Imamura, Sato and Sugiyama 2018.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> WorkerClustering(n_clusters=2).fit(ann).labels.tolist()
    [0, 1, 0]
    """

    name: ClassVar[str] = "worker-clustering"
    parameters_type: ClassVar[type[Parameters]] = ClusterParameters
    cheaper: ClassVar[str] = "max_iter"

    n_clusters: int = setting(3, "Number of clusters.", rule=AT_LEAST_ONE)
    pseudo_count: float = setting(
        1.0, "Pseudo-labels in every cell of a cluster's confusion.", rule=POSITIVE
    )
    class_pseudo_count: float = setting(1.0, CLASS_PSEUDO_COUNT, rule=MAY_BE_INFINITE)

    def cost(self, annotations: Annotations) -> Cost:
        """The memory and time of a fit to these labels."""
        more = 3 + 2 * self.n_clusters
        return confusion_cost(
            annotations, tables=3.2, more=more, steps=self.max_iter, nanoseconds=20
        )

    def fit_parameters(
        self, evidence: Evidence, start: ClusterParameters | None = None
    ) -> EMRun[ClusterParameters]:
        """Fit the model, from its own initial parameters or from the given ones."""
        expect = self.confusion_pass(evidence)
        if start is None:
            expected = expect.count(expect.majority())
            member_am = accuracy_levels(expected.counts_alk, self.n_clusters)
        else:
            expected, member_am = start.expected(expect), start.member_am

        def maximise(
            expected: Expectation, before: ClusterParameters
        ) -> tuple[ClusterParameters, float]:
            return self._maximise(expected, memberships(expected.counts_alk, before))

        initial = self._maximise(expected, member_am)
        return self._alternate(evidence, initial, lambda each: each.expected(expect), maximise)

    def _maximise(
        self, expected: Expectation, member_am: Floats
    ) -> tuple[ClusterParameters, float]:
        """The M-step, with its part of the bound: log-priors and the entropy of memberships."""
        log_prior_k, log_p_prior = fit_class_prior(expected.mass_k, self.class_pseudo_count)
        n_classes = len(log_prior_k)
        counts_mlk = np.einsum("am,alk->mlk", member_am, expected.counts_alk)
        pseudo_1lk = np.full((1, n_classes, n_classes), self.pseudo_count)
        confusions = fit_confusions(counts_mlk, pseudo_1lk)
        share_m = (member_am.sum(axis=0) + 1.0) / (member_am.sum() + self.n_clusters)
        parameters = ClusterParameters(
            log_prior_k, np.log(share_m), confusions.log_confusion_alk, member_am
        )
        log_p = log_p_prior + confusions.log_prior + float(np.log(share_m).sum())
        return parameters, log_p + _membership_bound(parameters)


def memberships(counts_alk: Floats, parameters: ClusterParameters) -> Floats:
    """r_am ~ share_m exp sum_lk counts[a,l,k] log C_m[l,k]."""
    score_am = np.einsum("alk,mlk->am", counts_alk, parameters.log_confusion_mlk, optimize=True)
    return np.asarray(np.exp(log_softmax(score_am + parameters.log_share_m, axis=1)))


def accuracy_levels(counts_alk: Floats, n_clusters: int) -> Floats:
    """Each annotator in one of the clusters by accuracy, the lowest accuracy first."""
    n_a = counts_alk.sum(axis=(1, 2))
    right_a = np.einsum("akk->a", counts_alk)
    strength = 5.0
    crowd = np.diagonal(crowd_confusion(counts_alk, strength)).mean()
    accuracy_a = (right_a + strength * crowd) / (n_a + strength)
    edges = np.quantile(accuracy_a, np.arange(1, n_clusters) / n_clusters)
    # Rounded, because the order of a sum must not move an annotator to another cluster.
    level_a = np.searchsorted(np.round(edges, 9), np.round(accuracy_a, 9), side="left")
    return np.asarray(np.eye(n_clusters)[level_a])


def _membership_bound(parameters: ClusterParameters) -> float:
    """sum_am r_am (log share_m - log r_am)."""
    member_am = parameters.member_am
    log_member_am = np.log(np.where(member_am > 0, member_am, 1.0))
    return float((member_am * (parameters.log_share_m - log_member_am)).sum())
