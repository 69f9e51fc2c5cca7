"""Thresholds of annotators on a scale of levels: ordered confusions with few parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

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
    fit_class_prior,
)
from manyhands.aggregation.em import EMRun
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass, Expectation
from manyhands.aggregation.kernels.cumulative_steps import (
    fit_thresholds,
    log_crowd,
    log_cumulative,
)
from manyhands.aggregation.kernels.passes import confusion_pass
from manyhands.aggregation.ordinal_crowd import Scale, fit_crowd
from manyhands.annotations import Annotations, Kind
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import AT_LEAST_ONE, POSITIVE, setting


@dataclass(frozen=True)
class ThresholdParameters(PassParameters):
    """Class prior, thresholds (a, K - 1) and slopes of annotators, slope of the average one."""

    log_prior_k: Floats
    threshold_at: Floats
    slope_a: Floats
    crowd_slope: float
    n_points: int

    @property
    def scale(self) -> Scale:
        """The scale of the levels."""
        return Scale(len(self.log_prior_k), self.n_points)

    def log_labels(self) -> Floats:
        """Log-probabilities of labels at every place, shape (a, l, places)."""
        log_akl = log_cumulative(self.threshold_at, self.slope_a, self.scale.place_k)
        return np.ascontiguousarray(log_akl.transpose(0, 2, 1))

    def expected(self, expect: ConfusionPass) -> Expectation:
        """The E-step under these parameters; its columns are places."""
        return expect(self.scale.spread(self.log_prior_k), self.log_labels())

    def confusion(self) -> Floats:
        """Every annotator's confusion, shape (a, k, l): the mean over the places of a level."""
        mean_alk = self.scale.by_level(np.exp(self.log_labels())) / self.n_points
        return np.asarray(mean_alk.transpose(0, 2, 1))

    def annotator_traits(self) -> Mapping[str, AnyArray]:
        """By how many levels labels are too high on average, and how sharply levels are told."""
        level_l = np.arange(len(self.log_prior_k))
        off_ak = self.confusion() @ level_l - level_l
        return {"bias": off_ak @ np.exp(self.log_prior_k), "slope": self.slope_a}

    def with_unseen_annotators(self, n_new: int) -> Self:
        """The same with average annotators appended."""
        if n_new == 0:
            return self
        new_at = np.repeat((self.crowd_slope * self.scale.border_t)[None], n_new, axis=0)
        return replace(
            self,
            threshold_at=np.concatenate([self.threshold_at, new_at]),
            slope_a=np.append(self.slope_a, np.full(n_new, self.crowd_slope)),
        )


@dataclass(frozen=True, kw_only=True)
class OrdinalThresholds(ConfusionAggregator[ThresholdParameters]):
    """Items lie on a line of levels, and annotators cut it at thresholds of their own.

    Level k is the part of the line from k - 1/2 to k + 1/2. The place z of an item is one of
    `n_points` in every level, equally probable within a level. F is the logistic function::

        P(level k) = pi_k,   P(y_n <= l | z) = F(t[a,l] - b_a z),   t[a,0] < t[a,1] < ...

    Thresholds t say where an annotator begins to give a higher label, and the slope b how sharply;
    somebody who reverses the order has b < 0. This is a Dawid-Skene model whose confusions have K
    parameters per annotator instead of K (K - 1), and in which mistakes go to levels nearby.

    EM with pseudo-labels A, where P0 are labels of the average annotator: thresholds at the borders
    of the levels, and one slope, fitted to all labels first and then kept fixed::

        E:  q_iz ~ pi_k(z) / n_points prod_n P(y_n | a_n, z)
        M:  (t_a, b_a) maximise sum_zl (sum_n q_iz [a_n = a, y_n = l] + A[z,l]) log P(l | a, z)
            pi_k ~ sum_i q_ik + class_pseudo_count
            A[z,l] = prior_strength / n_points P0(l | z)

    The M-step is concave and solved by Newton's method. The objective never falls::

        sum_i log sum_z pi_k(z) / n_points prod_n P(y_n | a_n, z)
            + sum_azl A[z,l] log P(l | a, z) + class_pseudo_count sum_k log pi_k

    With two levels and `n_points=1` the confusions are free, and this is `DawidSkene` with the same
    pseudo-labels. Reversing the order of the levels reverses the result.

    Source: a discrete form of the graded response model (Samejima 1969) with crowds of
    annotators; cumulative logits of McCullagh 1980.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_dense([[1, 2, 1], [3, 3, 2], [2, 2, 2]], kind="ordinal")
    >>> OrdinalThresholds().fit(ann).labels.tolist()
    [1, 3, 2]
    """

    name: ClassVar[str] = "ordinal-thresholds"
    kind: ClassVar[Kind] = "ordinal"
    parameters_type: ClassVar[type[Parameters]] = ThresholdParameters
    cheaper: ClassVar[str] = "max_iter"
    has_device_pass: ClassVar[bool] = False
    works_in_parts: ClassVar[bool] = False  # levels are ordered once all labels are known

    n_points: int = setting(3, "Places of items within a level.", rule=AT_LEAST_ONE)
    prior_strength: float = setting(
        10.0, "Weight of the average annotator, in labels per level.", rule=POSITIVE
    )
    class_pseudo_count: float = setting(1.0, CLASS_PSEUDO_COUNT, rule=MAY_BE_INFINITE)

    def cost(self, annotations: Annotations) -> Cost:
        """The memory and time of a fit to these labels."""
        n = self.n_points
        return confusion_cost(
            annotations,
            item_tables=2.0 + 3.0 * n,
            tables=6.2 * n,
            more=6 + 2 * n,
            steps=self.max_iter,
            nanoseconds=2000.0 * n,
        )

    def fit_parameters(
        self, evidence: Evidence, start: ThresholdParameters | None = None
    ) -> EMRun[ThresholdParameters]:
        """Fit the model, from its own initial parameters or from the given ones."""
        ann = evidence.annotations
        scale = Scale(ann.n_classes, self.n_points)
        expect = confusion_pass(evidence, self.device, self.n_points)
        expected, crowd_slope = fit_crowd(expect, scale, self.class_pseudo_count)
        pseudo_kl = np.exp(log_crowd(crowd_slope, scale.border_t, scale.place_k))
        pseudo_kl *= self.prior_strength / self.n_points

        def maximise(
            expected: Expectation, before: ThresholdParameters
        ) -> tuple[ThresholdParameters, float]:
            weight_akl = expected.counts_alk.transpose(0, 2, 1) + pseudo_kl
            threshold_at, slope_a = fit_thresholds(
                weight_akl, before.threshold_at, before.slope_a, scale.place_k
            )
            mass_k = scale.by_level(expected.mass_k)
            log_prior_k, log_p_prior = fit_class_prior(mass_k, self.class_pseudo_count)
            found = replace(
                before, log_prior_k=log_prior_k, threshold_at=threshold_at, slope_a=slope_a
            )
            log_p_labels = float((pseudo_kl.T * found.log_labels()).sum())
            return found, log_p_prior + log_p_labels

        if start is None:
            unknown_k = np.full(ann.n_classes, -np.log(ann.n_classes))
            nobody = np.empty((0, ann.n_classes - 1)), np.empty(0)
            start = ThresholdParameters(unknown_k, *nobody, crowd_slope, self.n_points)
            start = start.with_unseen_annotators(ann.n_annotators)
        else:
            expected = start.expected(expect)
        first = maximise(expected, start)
        return self._alternate(evidence, first, lambda each: each.expected(expect), maximise)

    def estimate_items(self, evidence: Evidence, parameters: ThresholdParameters) -> dict[str, Any]:
        """The fields of a `Consensus` that describe items, under these parameters."""
        expect = confusion_pass(evidence, self.device, parameters.n_points)
        posterior_ik = parameters.scale.by_level(parameters.expected(expect).posterior_ik)
        # Rounding must not make a known truth less or more certain than 1.
        return {"probabilities": posterior_ik / posterior_ik.sum(axis=1, keepdims=True)}
