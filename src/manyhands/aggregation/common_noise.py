"""Common noise: a label comes from the confusion that all share, or from the annotator's own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from manyhands.aggregation.base import ClassAggregator, IterativeSettings
from manyhands.aggregation.confusions import first_look, fit_class_prior, fit_confusions
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.em import run_em
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.majority import majority_posterior
from manyhands.aggregation.passes import TINY, ConfusionPass, Expectation
from manyhands.aggregation.sources import even_mistakes, mix_sources, split_sources
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import require


@dataclass(frozen=True)
class CommonNoiseParameters:
    """Class prior, the shared confusion, everybody's own, and how often it is the shared one.

    `log_even_lk` stands for the own confusion of an unseen annotator.
    """

    log_prior_k: Floats
    log_common_lk: Floats
    log_own_alk: Floats
    share_a: Floats
    log_even_lk: Floats

    @cached_property
    def log_portrait_alk(self) -> Floats:
        """The logarithm of how annotators label: share x common + (1 - share) x own."""
        return mix_sources(self.log_common_lk, self.log_own_alk, self.share_a)

    def common_kl(self) -> Floats:
        """The shared confusion, row = true class, column = label said."""
        return np.exp(self.log_common_lk).T

    def own_akl(self) -> Floats:
        """Everybody's own confusion."""
        return np.exp(self.log_own_alk).transpose(0, 2, 1)

    def with_strangers(self, n_new: int) -> "CommonNoiseParameters":
        """The same with average annotators added."""
        if n_new == 0:
            return self
        strangers_alk = np.repeat(self.log_even_lk[None], n_new, axis=0)
        return replace(
            self,
            log_own_alk=np.concatenate([self.log_own_alk, strangers_alk]),
            share_a=np.append(self.share_a, np.full(n_new, self.share_a.mean())),
        )


_State = tuple[CommonNoiseParameters, float]  # parameters and their log-prior


@dataclass(frozen=True, kw_only=True)
class CommonNoise(IterativeSettings, ClassAggregator[CommonNoiseParameters]):
    """With probability w_a a label of annotator a comes from the shared confusion G, else from C_a.

    An annotator's portrait is P_a = w_a G + (1 - w_a) C_a. EM over truths and sources s_n::

        E:  q_ik ~ pi_k prod_n P[a_n, k, y_n]
            r[a,k,l] = p(s_n = common | z = k, y_n = l) = w_a G[k,l] / P[a,k,l]
        M:  N[a,k,l] = sum_n q_ik [a_n = a, y_n = l] + prior_strength crowd[k,l]
            G[k,l] ~ sum_a N r
            C[a,k,l] ~ N (1 - r) + own_strength even[k,l]
            w_a = (sum_kl N r + share_pseudo_count) / (sum_kl N + 2 share_pseudo_count)
            pi_k ~ sum_i q_ik + class_pseudo_count

    The objective never falls::

        sum_i log sum_k pi_k prod_n P[a_n,k,y_n] + prior_strength sum_akl crowd[k,l] log P[a,k,l]
            + own_strength sum_akl even[k,l] log C[a,k,l]
            + share_pseudo_count sum_a [log w_a + log(1 - w_a)] + class_pseudo_count sum_k log pi_k

    The source gives every annotation an omega of its own, whose closed form is r. Without features
    such an omega is fitted to one label and ends at 0 or 1, so that nothing can be foretold: here
    the labels of an annotator have one, whose closed form is the mean of r.

    Any portrait can be written with w_a = 0, so labels alone do not tell the two confusions apart;
    the priors do.

    Settings
    --------
    prior_strength:
        pseudo-labels per class that everybody gave as the crowd does: the pooled prior of
        `DawidSkene` on the portrait. It decides who is good; the split is left open.
    own_strength:
        pseudo-labels per class that an own confusion begins with. They are right as often as the
        crowd's and have no favourite mistake: a favourite that many have goes to G. With two
        classes there is but one mistake, and w_a says little.
    share_pseudo_count:
        labels from either source that everybody begins with.

    Source: Chu, Ma and Wang 2021, appendix B (CoNAL by EM).

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> CommonNoise().fit(ann).labels.tolist()
    [0, 1, 0]
    """

    max_iter: int = 500
    prior_strength: float = 10.0
    own_strength: float = 3.0
    share_pseudo_count: float = 1.0
    class_pseudo_count: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("prior_strength", "own_strength"):
            value = getattr(self, name)
            require(0 <= value < np.inf, name, "0 or more", value)
        require(
            0 < self.share_pseudo_count < np.inf,
            "share_pseudo_count",
            "> 0",
            self.share_pseudo_count,
        )
        require(self.class_pseudo_count >= 0, "class_pseudo_count", ">= 0", self.class_pseudo_count)

    def confusion(self, consensus: Consensus) -> Floats:
        """Every annotator's portrait, shape (a, k, l)."""
        parameters: CommonNoiseParameters = consensus.parameters
        return np.exp(parameters.log_portrait_alk).transpose(0, 2, 1)

    def _fit(self, evidence: Evidence, start: CommonNoiseParameters | None) -> Consensus:
        expect = ConfusionPass(evidence)
        begun, crowd_lk = self._first(expect)
        start = begun if start is None else start
        expected = expect(start.log_prior_k, start.log_portrait_alk)

        def step(state: _State) -> tuple[_State, float]:
            parameters, log_p_parameters = state
            expected = expect(parameters.log_prior_k, parameters.log_portrait_alk)
            better = self._maximise(expected, parameters, crowd_lk)
            return better, expected.log_likelihood + log_p_parameters

        begin = self._maximise(expected, start, crowd_lk)
        tol = self.tol * evidence.annotations.n_annotations
        run = run_em(begin, step, max_iter=self.max_iter, tol=tol)
        parameters, _ = run.state
        beliefs = self._beliefs(evidence, parameters)
        return self._consensus(evidence, parameters, beliefs, run.objective, run.converged)

    def _first(self, expect: ConfusionPass) -> tuple[CommonNoiseParameters, Floats]:
        """The crowd as the shared confusion and own ones that hold all labels; the crowd (l, k)."""
        expected, crowd_lk = first_look(
            expect,
            majority_posterior(expect.evidence),
            lambda crowd_lk: self.prior_strength * crowd_lk[None],
            self.prior_strength,
            self.class_pseudo_count,
        )
        log_prior_k, _ = fit_class_prior(expected.mass_k, self.class_pseudo_count)
        even_lk = even_mistakes(crowd_lk)
        pseudo_lk = self.prior_strength * crowd_lk + self.own_strength * even_lk
        log_own_alk = fit_confusions(expected.counts_alk, pseudo_lk[None]).log_confusion_alk
        share_a = np.full(len(log_own_alk), 0.5)
        log_even_lk = np.log(np.maximum(even_lk, TINY))
        begun = CommonNoiseParameters(
            log_prior_k, np.log(crowd_lk), log_own_alk, share_a, log_even_lk
        )
        return begun, crowd_lk

    def _maximise(
        self, expected: Expectation, before: CommonNoiseParameters, crowd_lk: Floats
    ) -> _State:
        pseudo_lk, even_lk = self.prior_strength * crowd_lk, even_mistakes(crowd_lk)
        split = split_sources(
            expected.counts_alk,
            pseudo_lk,
            before.log_common_lk,
            before.log_portrait_alk,
            before.share_a,
        )
        log_prior_k, log_p_prior = fit_class_prior(expected.mass_k, self.class_pseudo_count)
        common = fit_confusions(split.common_lk[None], np.zeros((1, *even_lk.shape)))
        own = fit_confusions(split.own_alk, self.own_strength * even_lk[None])
        begun = self.share_pseudo_count
        share_a = (split.common_a + begun) / (split.total_a + 2.0 * begun)
        after = CommonNoiseParameters(
            log_prior_k,
            common.log_confusion_alk[0],
            own.log_confusion_alk,
            share_a,
            np.log(np.maximum(even_lk, TINY)),
        )
        log_p_share = begun * float((np.log(share_a) + np.log1p(-share_a)).sum())
        log_p_portraits = float((pseudo_lk * after.log_portrait_alk.sum(axis=0)).sum())
        return after, log_p_prior + own.log_prior + log_p_share + log_p_portraits

    def _beliefs(self, evidence: Evidence, parameters: CommonNoiseParameters) -> dict[str, Any]:
        expected = ConfusionPass(evidence)(parameters.log_prior_k, parameters.log_portrait_alk)
        return {"probabilities": expected.posterior_ik}

    def _with_unseen_annotators(
        self, parameters: CommonNoiseParameters, n_new: int
    ) -> CommonNoiseParameters:
        return parameters.with_strangers(n_new)

    def _annotator_traits(self, parameters: CommonNoiseParameters) -> Mapping[str, AnyArray]:
        return {"common_share": parameters.share_a}
