"""Mixture: labels come from a few groups that share a confusion, whoever gave them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp

from manyhands.aggregation.agreement_groups import group_counts
from manyhands.aggregation.base import ClassAggregator, IterativeSettings
from manyhands.aggregation.confusions import fit_class_prior
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.em import EMRun, run_em
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.groups import GroupParameters
from manyhands.aggregation.label_patterns import LabelPatterns
from manyhands.aggregation.majority import majority_posterior
from manyhands.aggregation.passes import TINY
from manyhands.core.arrays import AnyArray, Codes, Floats, Offsets
from manyhands.core.kernels import even_blocks, kernel, run_blocks
from manyhands.core.settings import require

_BLOCKS = 16
_LEAST_GAIN = 1e-9  # per label: below it two starts ended at the same likelihood


class MixtureParameters(GroupParameters):
    """Groups of annotations; membership is what an annotator's labels say afterwards."""

    def log_crowd_lk(self) -> Floats:
        """Log B[k,l] with B = sum_m alpha_m beta_m: what the crowd says, whoever labels."""
        log_joint_mlk = self.log_share_m[:, None, None] + self.log_confusion_mlk
        return np.asarray(logsumexp(log_joint_mlk, axis=0))


_State = tuple[MixtureParameters, float]  # parameters and their log-prior


@dataclass(frozen=True, kw_only=True)
class Mixture(IterativeSettings, ClassAggregator[MixtureParameters]):
    """Every label comes from one of a few groups, drawn anew with shares alpha, and its confusion.

    There are `n_groups` groups m. The likelihood needs the counts of labels only, so that it works
    with no annotators at all::

        E:  q_ik ~ pi_k prod_n B[k, y_n]  with  B[k,l] = sum_m alpha_m beta_m[k,l]
            q(m | k, l) = alpha_m beta_m[k,l] / B[k,l]
        M:  N[k,l] = sum_n q_ik [y_n = l] + pseudo_count
            alpha_m ~ sum_kl N[k,l] q(m | k, l),  beta_m[k,l] ~ N[k,l] q(m | k, l)
            pi_k ~ sum_i q_ik + class_pseudo_count

    The objective never falls::

        sum_i log sum_k pi_k prod_n B[k,y_n] + pseudo_count sum_kl log B[k,l]
            + class_pseudo_count sum_k log pi_k

    The class prior takes the place of the network in the source, and the labels of an item share
    its truth. Afterwards each annotator is placed, and portrayed by the groups so weighted::

        p(m | a) ~ alpha_m prod_n sum_k q_ik beta_m[k, y_n]

    Groups start from label shares and k-means over annotations by how far each agrees with the
    others of its item, most agreeing first, `n_restarts` times; the highest objective is kept, and
    of equal ones the first. Counts determine B; how B falls into groups is what the start suggests.
    Where annotators are known and have many labels, `WorkerClustering` tells groups better.

    Source: Mena and Nanculef 2019 (Crowd Mixture Model).

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> Mixture(n_groups=2).fit(ann).labels.tolist()
    [0, 1, 0]
    """

    n_groups: int = 3
    n_restarts: int = 20
    pseudo_count: float = 1.0
    class_pseudo_count: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("n_groups", "n_restarts"):
            value = getattr(self, name)
            require(isinstance(value, int) and value >= 1, name, ">= 1", value)
        require(0 < self.pseudo_count < np.inf, "pseudo_count", "> 0", self.pseudo_count)
        require(self.class_pseudo_count >= 0, "class_pseudo_count", ">= 0", self.class_pseudo_count)

    def confusion(self, consensus: Consensus) -> Floats:
        """Group confusions weighted by each annotator's membership, shape (a, k, l)."""
        parameters: MixtureParameters = consensus.parameters
        return parameters.confusion_akl()

    def _fit(self, evidence: Evidence, start: MixtureParameters | None) -> Consensus:
        patterns = LabelPatterns(evidence)
        if start is None:
            run = self._best_run(evidence, patterns)
        else:
            run = self._run(patterns, start, evidence.annotations.n_annotations)
        parameters, _ = run.state
        beliefs = self._beliefs(evidence, parameters)
        parameters = _placed(parameters, evidence, beliefs["probabilities"])
        return self._consensus(evidence, parameters, beliefs, run.objective, run.converged)

    def _best_run(self, evidence: Evidence, patterns: LabelPatterns) -> EMRun[_State]:
        """The run that ends highest; a later one must gain more than what ends the loop."""
        n_annotations = evidence.annotations.n_annotations
        margin = max(self.tol, _LEAST_GAIN) * n_annotations
        mass_k = majority_posterior(evidence).sum(axis=0)
        log_prior_k, _ = fit_class_prior(mass_k, self.class_pseudo_count)
        best: EMRun[_State] | None = None
        for counts_mlk in group_counts(evidence, self.n_groups, self.n_restarts, self.seed):
            log_counts_mlk = np.log(counts_mlk + self.pseudo_count / self.n_groups)
            run = self._run(patterns, _shared_out(log_prior_k, log_counts_mlk), n_annotations)
            if best is None or run.objective[-1] > best.objective[-1] + margin:
                best = run
        assert best is not None, "there is at least one start"
        return best

    def _run(
        self, patterns: LabelPatterns, start: MixtureParameters, n_annotations: int
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
            return (_shared_out(log_prior_k, log_counts_mlk), log_p_prior), value

        pseudo = self.class_pseudo_count
        log_p_prior = 0.0 if np.isinf(pseudo) else pseudo * float(start.log_prior_k.sum())
        tol = self.tol * n_annotations
        return run_em((start, log_p_prior), step, max_iter=self.max_iter, tol=tol)

    def _beliefs(self, evidence: Evidence, parameters: MixtureParameters) -> dict[str, Any]:
        patterns = LabelPatterns(evidence)
        expected = patterns(parameters.log_prior_k, parameters.log_crowd_lk())
        return {"probabilities": patterns.posterior_ik(expected)}

    def _with_unseen_annotators(
        self, parameters: MixtureParameters, n_new: int
    ) -> MixtureParameters:
        return parameters.with_strangers(n_new)

    def _annotator_traits(self, parameters: MixtureParameters) -> Mapping[str, AnyArray]:
        return parameters.columns("group")


def _shared_out(log_prior_k: Floats, log_counts_mlk: Floats) -> MixtureParameters:
    """alpha_m ~ sum_kl counts, beta_m[k,l] ~ counts; nobody is placed yet."""
    log_total_mk = logsumexp(log_counts_mlk, axis=1)
    return MixtureParameters(
        log_prior_k,
        np.asarray(log_softmax(logsumexp(log_total_mk, axis=1))),
        log_counts_mlk - log_total_mk[:, None, :],
        np.zeros((0, len(log_counts_mlk))),
    )


def _placed(
    parameters: MixtureParameters, evidence: Evidence, posterior_ik: Floats
) -> MixtureParameters:
    """The same with p(m | a) ~ alpha_m prod_n sum_k q_ik beta_m[k, y_n]."""
    ann = evidence.annotations
    confusion_lmk = np.exp(parameters.log_confusion_mlk).transpose(1, 0, 2).copy()
    blocks = even_blocks(ann.item_offsets, _BLOCKS)
    log_said_bam = np.zeros((len(blocks), ann.n_annotators, len(parameters.log_share_m)))

    def work(block: int) -> None:
        _say(
            *blocks[block],
            ann.item_offsets,
            ann.annotator,
            ann.label,
            posterior_ik,
            confusion_lmk,
            log_said_bam[block],
        )

    run_blocks(work, range(len(blocks)))
    log_member_am = log_softmax(parameters.log_share_m + log_said_bam.sum(axis=0), axis=1)
    return replace(parameters, member_am=np.exp(log_member_am))


@kernel
def _say(
    first: int,
    last: int,
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    posterior: Floats,
    confusion: Floats,
    label_log_prob: Floats,
) -> None:
    n_groups, n_classes = confusion.shape[1], confusion.shape[2]
    for i in range(first, last):
        for n in range(offsets[i], offsets[i + 1]):
            for m in range(n_groups):
                said = 0.0
                for k in range(n_classes):
                    said += posterior[i, k] * confusion[label[n], m, k]
                label_log_prob[annotator[n], m] += np.log(max(said, TINY))
