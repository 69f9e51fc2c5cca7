"""Common noise: a label comes from the confusion that all share, or from the annotator's own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from manyhands.aggregation.base import (
    CLASS_PSEUDO_COUNT,
    MAY_BE_INFINITE,
    Parameters,
)
from manyhands.aggregation.cost import Cost, confusion_cost
from manyhands.aggregation.dawid_skene import (
    ConfusionAggregator,
    PassParameters,
    first_expectation,
    fit_class_prior,
)
from manyhands.aggregation.em import EMRun
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.confusion_loops import TINY
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass, Expectation, fit_confusions
from manyhands.aggregation.kernels.label_sources import even_mistakes, mix_sources, split_sources
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, setting


@dataclass(frozen=True)
class CommonNoiseParameters(PassParameters):
    """Class prior, shared confusion, own confusions, and shares of labels from the shared one.

    `log_even_lk` is the own confusion of an unseen annotator.
    """

    log_prior_k: Floats
    log_common_lk: Floats
    log_own_alk: Floats
    share_a: Floats
    log_even_lk: Floats

    @cached_property
    def log_confusion_alk(self) -> Floats:
        """Log-confusions of annotators: share x common + (1 - share) x own."""
        return mix_sources(self.log_common_lk, self.log_own_alk, self.share_a)

    def common_kl(self) -> Floats:
        """The shared confusion, row = true class, column = label said."""
        return np.exp(self.log_common_lk).T

    def own_akl(self) -> Floats:
        """Every annotator's own confusion."""
        return np.exp(self.log_own_alk).transpose(0, 2, 1)

    def confusion(self) -> Floats:
        """How annotators label, from either source, shape (a, k, l)."""
        return np.exp(self.log_confusion_alk).transpose(0, 2, 1)

    def annotator_traits(self) -> Mapping[str, AnyArray]:
        """The share of labels that come from the shared confusion."""
        return {"common_share": self.share_a}

    def expected(self, expect: ConfusionPass) -> Expectation:
        """The E-step under these parameters."""
        return expect(self.log_prior_k, self.log_confusion_alk)

    def with_unseen_annotators(self, n_new: int) -> Self:
        """The same with average annotators appended."""
        if n_new == 0:
            return self
        new_alk = np.repeat(self.log_even_lk[None], n_new, axis=0)
        return replace(
            self,
            log_own_alk=np.concatenate([self.log_own_alk, new_alk]),
            share_a=np.append(self.share_a, np.full(n_new, self.share_a.mean())),
        )


@dataclass(frozen=True, kw_only=True)
class CommonNoise(ConfusionAggregator[CommonNoiseParameters]):
    """With probability w_a a label of annotator a comes from the shared confusion G, else from C_a.

    An annotator labels by P_a = w_a G + (1 - w_a) C_a. EM over truths and sources s_n::

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

    The paper gives every annotation its own omega, whose closed form is r. Without features such an
    omega is fitted to one label and ends at 0 or 1, so that it predicts nothing. Here the labels of
    an annotator share one, whose closed form is the mean of r.

    Any P_a can be written with w_a = 0, so labels alone do not separate the two confusions; the
    priors do.

    Settings
    --------
    prior_strength:
        pseudo-labels per class that every annotator gave as the crowd does: the pooled prior of
        `DawidSkene` for P_a. It decides who is good, not how P_a is split.
    own_strength:
        pseudo-labels per class of an own confusion. They are right as often as the crowd and have
        equally frequent mistakes: a mistake that many annotators share goes to G. With two classes
        there is only one mistake, and w_a tells little.
    share_pseudo_count:
        pseudo-labels of every annotator from each of the two sources.

    Source: Chu, Ma and Wang 2021, appendix B (CoNAL by EM).

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> CommonNoise().fit(ann).labels.tolist()
    [0, 1, 0]
    """

    name: ClassVar[str] = "common-noise"
    parameters_type: ClassVar[type[Parameters]] = CommonNoiseParameters
    cheaper: ClassVar[str] = "max_iter"

    max_iter: int = setting(500, "Largest number of EM steps.", rule=AT_LEAST_ONE)
    prior_strength: float = setting(
        10.0, "Weight of the crowd for an annotator, in labels per class.", rule=NOT_NEGATIVE
    )
    own_strength: float = setting(
        3.0, "Weight of even mistakes in own confusions, in labels per class.", rule=NOT_NEGATIVE
    )
    share_pseudo_count: float = setting(
        1.0, "Pseudo-labels of an annotator from each source.", rule=POSITIVE
    )
    class_pseudo_count: float = setting(1.0, CLASS_PSEUDO_COUNT, rule=MAY_BE_INFINITE)

    def cost(self, annotations: Annotations) -> Cost:
        """The memory and time of a fit to these labels."""
        return confusion_cost(
            annotations, tables=10.2, more=28, steps=self.max_iter, nanoseconds=45
        )

    def fit_parameters(
        self, evidence: Evidence, start: CommonNoiseParameters | None = None
    ) -> EMRun[CommonNoiseParameters]:
        """Fit the model, from its own initial parameters or from the given ones."""
        expect = self.confusion_pass(evidence)
        first, crowd_lk = self.first_parameters(expect)

        def maximise(
            expected: Expectation, before: CommonNoiseParameters
        ) -> tuple[CommonNoiseParameters, float]:
            return self.maximise(expected, before, crowd_lk)

        start = first if start is None else start
        initial = maximise(start.expected(expect), start)
        return self._alternate(evidence, initial, lambda each: each.expected(expect), maximise)

    def first_parameters(self, expect: ConfusionPass) -> tuple[CommonNoiseParameters, Floats]:
        """Initial parameters, and the crowd's confusion (l, k).

        The shared confusion is the crowd's. Own confusions are fitted to all labels.
        """
        expected, crowd_lk = first_expectation(
            expect,
            expect.majority(),
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
        first = CommonNoiseParameters(
            log_prior_k, np.log(crowd_lk), log_own_alk, share_a, log_even_lk
        )
        return first, crowd_lk

    def maximise(
        self, expected: Expectation, before: CommonNoiseParameters, crowd_lk: Floats
    ) -> tuple[CommonNoiseParameters, float]:
        """The M-step: better parameters, and their log-prior."""
        pseudo_lk, even_lk = self.prior_strength * crowd_lk, even_mistakes(crowd_lk)
        split = split_sources(
            expected.counts_alk,
            pseudo_lk,
            before.log_common_lk,
            before.log_confusion_alk,
            before.share_a,
        )
        log_prior_k, log_p_prior = fit_class_prior(expected.mass_k, self.class_pseudo_count)
        common = fit_confusions(split.common_lk[None], np.zeros((1, *even_lk.shape)))
        own = fit_confusions(split.own_alk, self.own_strength * even_lk[None])
        pseudo = self.share_pseudo_count
        share_a = (split.common_a + pseudo) / (split.total_a + 2.0 * pseudo)
        after = CommonNoiseParameters(
            log_prior_k,
            common.log_confusion_alk[0],
            own.log_confusion_alk,
            share_a,
            np.log(np.maximum(even_lk, TINY)),
        )
        log_p_share = pseudo * float((np.log(share_a) + np.log1p(-share_a)).sum())
        log_p_confusions = float((pseudo_lk * after.log_confusion_alk.sum(axis=0)).sum())
        return after, log_p_prior + own.log_prior + log_p_share + log_p_confusions
