"""Dawid-Skene for levels: free confusions that are smoothed towards labels nearby."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from manyhands.aggregation.base import CLASS_PSEUDO_COUNT, MAY_BE_INFINITE, Parameters
from manyhands.aggregation.cost import Cost, confusion_cost
from manyhands.aggregation.dawid_skene import (
    ConfusionAggregator,
    ConfusionParameters,
    fit_class_prior,
)
from manyhands.aggregation.em import EMRun
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.confusion_pass import Expectation
from manyhands.aggregation.kernels.cumulative_steps import log_crowd
from manyhands.aggregation.ordinal_crowd import Scale, fit_crowd
from manyhands.annotations import Annotations, Kind
from manyhands.core.settings import NOT_NEGATIVE, setting


@dataclass(frozen=True, kw_only=True)
class OrdinalDawidSkene(ConfusionAggregator[ConfusionParameters]):
    """Dawid-Skene whose pseudo-labels lie around the true level, nearer levels having more.

    The model and the objective are those of `DawidSkene`. The pseudo-labels are those of the
    average annotator on the scale of the levels, F the logistic function::

        A[k,l] = prior_strength (F(b (l + 1/2 - k)) - F(b (l - 1/2 - k)))

    with F at the lowest level's lower end 0 and at the highest level's upper end 1. The slope b is
    fitted to all labels first, as if one annotator had given them, and then kept fixed. So a row of
    a confusion is smooth in the order of the levels where an annotator has few labels, and free
    where they have many. `OrdinalThresholds` has fewer parameters and is the default.

    With two levels this is `DawidSkene` with A as its prior. Reversing the order of the levels
    reverses the result.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_dense([[1, 2, 1], [3, 3, 2], [2, 2, 2]], kind="ordinal")
    >>> OrdinalDawidSkene().fit(ann).labels.tolist()
    [1, 3, 2]
    """

    name: ClassVar[str] = "ordinal-dawid-skene"
    kind: ClassVar[Kind] = "ordinal"
    parameters_type: ClassVar[type[Parameters]] = ConfusionParameters
    cheaper: ClassVar[str] = "max_iter"
    has_device_pass: ClassVar[bool] = False
    works_in_parts: ClassVar[bool] = False  # levels are ordered once all labels are known

    prior_strength: float = setting(
        10.0, "Weight of the pseudo-labels, in labels per level.", rule=NOT_NEGATIVE
    )
    class_pseudo_count: float = setting(1.0, CLASS_PSEUDO_COUNT, rule=MAY_BE_INFINITE)

    def cost(self, annotations: Annotations) -> Cost:
        """The memory and time of a fit to these labels."""
        return confusion_cost(annotations, tables=5.2, more=6, steps=self.max_iter, nanoseconds=15)

    def fit_parameters(
        self, evidence: Evidence, start: ConfusionParameters | None = None
    ) -> EMRun[ConfusionParameters]:
        """Fit the model, from its own initial parameters or from the given ones."""
        scale = Scale(evidence.annotations.n_classes, n_points=1)
        expect = self.confusion_pass(evidence)
        expected, slope = fit_crowd(expect, scale, self.class_pseudo_count)
        log_crowd_lk = np.ascontiguousarray(log_crowd(slope, scale.border_t, scale.place_k).T)
        pseudo_alk = self.prior_strength * np.exp(log_crowd_lk)[None]

        def maximise(
            expected: Expectation, before: ConfusionParameters | None
        ) -> tuple[ConfusionParameters, float]:
            step = expect.fit_confusions(expected, pseudo_alk)
            log_prior_k, log_p_prior = fit_class_prior(expected.mass_k, self.class_pseudo_count)
            found = ConfusionParameters(log_prior_k, step.log_confusion_alk, log_crowd_lk)
            return found, log_p_prior + step.log_prior

        if start is not None:
            expected = start.expected(expect)
        first = maximise(expected, start)
        return self._alternate(evidence, first, lambda each: each.expected(expect), maximise)
