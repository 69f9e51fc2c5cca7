"""Mixture: labels come from a few groups with a confusion each, whoever gave them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax, logsumexp

from manyhands.aggregation.base import (
    CLASS_PSEUDO_COUNT,
    MAY_BE_INFINITE,
    ClassAggregator,
    IterativeAggregator,
    Parameters,
)
from manyhands.aggregation.cost import Cost
from manyhands.aggregation.dawid_skene import fit_class_prior
from manyhands.aggregation.em import EMRun, run_em
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.mixture_pass import LabelPatterns, group_log_likelihoods
from manyhands.aggregation.worker_clustering import GroupParameters
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.settings import AT_LEAST_ONE, COUNT, POSITIVE, generator, setting

_MAX_SECONDS = 60.0  # of all starts
_DECIMALS = 3  # so that there are at most a thousand different shares


class MixtureParameters(GroupParameters):
    """Groups of annotations; membership is estimated from an annotator's labels afterwards."""

    def annotator_traits(self) -> Mapping[str, AnyArray]:
        """The probability of every group."""
        return self.member_columns("group")

    def log_crowd_lk(self) -> Floats:
        """Log B[k,l] with B = sum_m alpha_m beta_m: the confusion of the whole crowd."""
        log_joint_mlk = self.log_share_m[:, None, None] + self.log_confusion_mlk
        return np.asarray(logsumexp(log_joint_mlk, axis=0))


_State = tuple[MixtureParameters, float]  # parameters and their log-prior


@dataclass(frozen=True, kw_only=True)
class Mixture(IterativeAggregator[MixtureParameters], ClassAggregator[MixtureParameters]):
    """Every label is drawn from one of `n_groups` groups m with shares alpha, and its confusion.

    The likelihood needs only the counts of labels, so the model works without annotators::

        E:  q_ik ~ pi_k prod_n B[k, y_n]  with  B[k,l] = sum_m alpha_m beta_m[k,l]
            q(m | k, l) = alpha_m beta_m[k,l] / B[k,l]
        M:  N[k,l] = sum_n q_ik [y_n = l] + pseudo_count
            alpha_m ~ sum_kl N[k,l] q(m | k, l),  beta_m[k,l] ~ N[k,l] q(m | k, l)
            pi_k ~ sum_i q_ik + class_pseudo_count

    The objective never falls::

        sum_i log sum_k pi_k prod_n B[k,y_n] + pseudo_count sum_kl log B[k,l]
            + class_pseudo_count sum_k log pi_k

    The class prior takes the place of the network in the paper, and the labels of an item share
    its truth. Afterwards the membership of each annotator is estimated; their confusion is that of
    the groups weighted by it::

        p(m | a) ~ alpha_m prod_n sum_k q_ik beta_m[k, y_n]

    Initial groups come from k-means over annotations by how far each agrees with the other labels
    of its item, the most agreeing group first. There are `n_restarts` starts, fewer where there are
    so many items and classes that they could take longer than a minute; the highest objective
    wins, and among equal ones the first. Counts determine B, but the division of B into groups
    depends on the start. With known annotators who gave many labels, `WorkerClustering` separates
    groups better.

    Source: Mena and Nanculef 2019 (Crowd Mixture Model).

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> Mixture(n_groups=2).fit(ann).labels.tolist()
    [0, 1, 0]
    """

    name: ClassVar[str] = "mixture"
    parameters_type: ClassVar[type[Parameters]] = MixtureParameters
    cheaper: ClassVar[str] = "max_iter"

    n_groups: int = setting(3, "Number of groups.", rule=AT_LEAST_ONE)
    n_restarts: int = setting(20, "Largest number of starts.", rule=AT_LEAST_ONE)
    pseudo_count: float = setting(
        1.0, "Pseudo-labels in every cell of the crowd's confusion.", rule=POSITIVE
    )
    class_pseudo_count: float = setting(1.0, CLASS_PSEUDO_COUNT, rule=MAY_BE_INFINITE)
    seed: int = setting(0, "Random starts are drawn from it.", rule=COUNT)

    def cost(self, annotations: Annotations) -> Cost:
        """The memory and time of a fit to these labels, from one start."""
        n_classes = annotations.n_classes
        # At most as many shares of labels in their items as there are.
        n_shares = min(np.unique(annotations.labels_per_item).sum(), 10**_DECIMALS) + 2
        return Cost(
            item_tables=8.0,
            n_other=float((n_shares + 10 * self.n_groups) * n_classes**2),
            seconds=self.max_iter * self._step_seconds(annotations),
        )

    def _step_seconds(self, annotations: Annotations) -> float:
        n_items, n_classes = annotations.n_items, annotations.n_classes
        return 1e-9 * n_classes * (60 * n_items + 150 * self.n_groups * n_classes)

    def _n_starts(self, annotations: Annotations) -> int:
        """As many starts as take a minute at most, if every one takes all steps; at least one."""
        one = self.max_iter * self._step_seconds(annotations)
        return max(1, min(self.n_restarts, int(_MAX_SECONDS / one)))

    def fit_parameters(
        self, evidence: Evidence, start: MixtureParameters | None = None
    ) -> EMRun[MixtureParameters]:
        """Fit the model, from its own initial parameters or from the given ones."""
        patterns = evidence.total(LabelPatterns.of)
        if start is None:
            run = self._best_run(evidence.annotations, patterns)
        else:
            run = self._run_from(start, evidence.annotations, patterns)
        log_likelihood_am = evidence.total(_group_log_likelihoods, self, run.state[0])
        parameters = _with_members(run.state[0], log_likelihood_am)
        return EMRun(parameters, run.objective, run.converged)

    def _best_run(self, annotations: Annotations, patterns: LabelPatterns) -> EMRun[_State]:
        mass_k = patterns.n_r @ patterns.majority_rk
        log_prior_k, _ = fit_class_prior(mass_k, self.class_pseudo_count)

        def run(counts_mlk: Floats) -> EMRun[_State]:
            log_counts_mlk = np.log(counts_mlk + self.pseudo_count / self.n_groups)
            return self._run_from(_from_counts(log_prior_k, log_counts_mlk), annotations, patterns)

        n_starts = self._n_starts(annotations)
        starts = group_counts(patterns, self.n_groups, n_starts, self.seed)
        return self._best_of(annotations, map(run, starts))

    def _run_from(
        self, start: MixtureParameters, annotations: Annotations, patterns: LabelPatterns
    ) -> EMRun[_State]:
        def step(state: _State) -> tuple[_State, float]:
            parameters, log_p_parameters = state
            log_crowd_lk = parameters.log_crowd_lk()
            expected = patterns(parameters.log_prior_k, log_crowd_lk)
            value = expected.log_likelihood + log_p_parameters
            value += self.pseudo_count * float(log_crowd_lk.sum())
            log_prior_k, log_p_prior = fit_class_prior(expected.mass_k, self.class_pseudo_count)
            log_joint_mlk = parameters.log_share_m[:, None, None] + parameters.log_confusion_mlk
            log_counts_lk = np.log(expected.counts_lk + self.pseudo_count)
            log_counts_mlk = log_joint_mlk - log_crowd_lk + log_counts_lk
            return (_from_counts(log_prior_k, log_counts_mlk), log_p_prior), value

        pseudo = self.class_pseudo_count
        log_p_prior = 0.0 if np.isinf(pseudo) else pseudo * float(start.log_prior_k.sum())
        return run_em(
            (start, log_p_prior),
            step,
            max_iter=self.max_iter,
            tol=self.tol * annotations.n_annotations,
        )

    def estimate_items(self, evidence: Evidence, parameters: MixtureParameters) -> dict[str, Any]:
        """The fields of a `Consensus` that describe items, under these parameters."""
        patterns, pattern_i = LabelPatterns.with_items(evidence)
        expected = patterns(parameters.log_prior_k, parameters.log_crowd_lk())
        return {"probabilities": expected.posterior_rk[pattern_i]}


def _from_counts(log_prior_k: Floats, log_counts_mlk: Floats) -> MixtureParameters:
    """alpha_m ~ sum_kl counts, beta_m[k,l] ~ counts; no memberships yet."""
    log_total_mk = logsumexp(log_counts_mlk, axis=1)
    return MixtureParameters(
        log_prior_k,
        np.asarray(log_softmax(logsumexp(log_total_mk, axis=1))),
        log_counts_mlk - log_total_mk[:, None, :],
        np.zeros((0, len(log_counts_mlk))),
    )


def _group_log_likelihoods(
    evidence: Evidence, model: Mixture, parameters: MixtureParameters
) -> Floats:
    posterior_ik = model.estimate_items(evidence, parameters)["probabilities"]
    return group_log_likelihoods(
        evidence.annotations, posterior_ik, np.exp(parameters.log_confusion_mlk)
    )


def _with_members(parameters: MixtureParameters, log_likelihood_am: Floats) -> MixtureParameters:
    """The same with p(m | a) ~ alpha_m prod_n sum_k q_ik beta_m[k, y_n]."""
    log_member_am = log_softmax(parameters.log_share_m + log_likelihood_am, axis=1)
    return replace(parameters, member_am=np.exp(log_member_am))


def group_counts(
    patterns: LabelPatterns, n_groups: int, n_starts: int, seed: int
) -> Iterator[Floats]:
    """Soft counts (m, l, k) of groups of annotations, for up to `n_starts` initial centres.

    The feature of an annotation is the share of its item's labels that equal its own. K-means
    divides annotations by it into groups, the most agreeing first; annotators play no part. The
    first start has its centres at even quantiles, the others at random quantiles. Centres that
    were used before are skipped, so there may be fewer starts. A group may be empty. The result
    does not depend on the names or the order of items, annotators or classes.
    """
    share_v, n_v, counts_vlk = _by_share(patterns)
    rng = generator(seed, "groups of annotations")
    reached_v = np.cumsum(n_v) / n_v.sum()
    level_m = (np.arange(n_groups) + 0.5) / n_groups
    used: set[bytes] = set()
    for _ in range(n_starts):
        centre = np.unique(np.searchsorted(reached_v, level_m))
        level_m = rng.random(n_groups)
        if centre.tobytes() in used:
            continue
        used.add(centre.tobytes())
        counts_mlk = np.zeros((n_groups, *counts_vlk.shape[1:]))
        np.add.at(counts_mlk, _nearest(share_v, n_v, centre), counts_vlk)
        yield counts_mlk


def _by_share(patterns: LabelPatterns) -> tuple[Floats, Floats, Floats]:
    """The distinct shares of labels in their items, largest first, their counts, soft counts."""
    majority_rk, counts_rl = patterns.majority_rk, patterns.dense_counts_rl
    r, label = np.nonzero(counts_rl)
    weight = patterns.n_r[r] * counts_rl[r, label]
    share = np.round(majority_rk[r, label], _DECIMALS)
    share_v, index = np.unique(-share, return_inverse=True)
    n_classes = counts_rl.shape[1]
    cell, shape = index.reshape(-1) * n_classes + label, (len(share_v), n_classes)
    counts_vlk: Floats = np.stack(
        [
            np.bincount(cell, weight * majority_rk[r, k], shape[0] * shape[1]).reshape(shape)
            for k in range(n_classes)
        ],
        axis=2,
    )
    n_v = np.bincount(index.reshape(-1), weight, len(share_v))
    return -share_v, n_v.astype(np.float64), counts_vlk.astype(np.float64, copy=False)


def _nearest(share_v: Floats, n_v: Floats, centre: AnyArray) -> Codes:
    """The group of every share, by weighted k-means with these shares as initial centres."""
    from sklearn.cluster import KMeans

    means = KMeans(len(centre), init=share_v[centre, None], n_init=1)
    group_v = means.fit(share_v[:, None], sample_weight=n_v).labels_
    rank_m = np.argsort(np.argsort(-means.cluster_centers_[:, 0]))
    return np.asarray(rank_m[group_v].astype(np.int32))
