"""One coin: each annotator is right with a single probability."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from manyhands.aggregation.base import (
    CLASS_PSEUDO_COUNT,
    MAY_BE_INFINITE,
    ClassAggregator,
    IterativeAggregator,
    Parameters,
)
from manyhands.aggregation.dawid_skene import fit_class_prior
from manyhands.aggregation.em import EMRun
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.coin_pass import CoinExpectation, CoinPass
from manyhands.aggregation.kernels.passes import coin_pass
from manyhands.core.arrays import AnyArray, Floats, symmetric_confusions, symmetric_diagonals
from manyhands.core.settings import NOT_NEGATIVE, setting

_MARGIN = 1e-12  # keeps an accuracy off 0 and 1, where its logit is infinite


@dataclass(frozen=True)
class CoinParameters(Parameters):
    """Class prior in log space, each annotator's accuracy, and the crowd's."""

    log_prior_k: Floats
    right_a: Floats
    crowd: float

    @property
    def logit_a(self) -> Floats:
        """log(right / wrong)."""
        return np.asarray(np.log(self.right_a) - np.log1p(-self.right_a))

    def confusion(self) -> Floats:
        """Every annotator's confusion, shape (a, k, l)."""
        return symmetric_confusions(self.right_a, len(self.log_prior_k))

    def right(self) -> Floats:
        """The accuracy of every annotator, the same in all classes."""
        return symmetric_diagonals(self.right_a, len(self.log_prior_k))

    def annotator_traits(self) -> Mapping[str, AnyArray]:
        """The accuracy of annotators."""
        return {"accuracy": self.right_a}

    def with_unseen_annotators(self, n_new: int) -> Self:
        """The same with annotators appended who have the crowd's accuracy."""
        return replace(self, right_a=np.append(self.right_a, np.full(n_new, self.crowd)))


@dataclass(frozen=True, kw_only=True)
class OneCoin(IterativeAggregator[CoinParameters], ClassAggregator[CoinParameters]):
    """EM for one accuracy p_a per annotator; all wrong labels are equally probable.

    ::

        E:  q_ik ~ pi_k prod_n p_a^[y_n = k] ((1 - p_a) / (K - 1))^[y_n != k]
        M:  p_a = (sum_n q[i, y_n] + prior_strength p) / (n_a + prior_strength)

    p is the accuracy of an average annotator against the majority. The objective never falls::

        log-likelihood + prior_strength sum_a [p log p_a + (1 - p) log(1 - p_a)]
            + class_pseudo_count sum_k log pi_k

    By default classes are equally probable: with symmetric errors, a learnt prior absorbs what is
    really a bias of the annotators.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> OneCoin().fit(ann).annotator_quality.round(2).tolist()
    [0.92, 0.92, 0.73]
    """

    name: ClassVar[str] = "one-coin"
    parameters_type: ClassVar[type[Parameters]] = CoinParameters
    has_device_pass: ClassVar[bool] = True

    prior_strength: float = setting(
        5.0, "Weight of the crowd's accuracy for an annotator, in labels.", rule=NOT_NEGATIVE
    )
    class_pseudo_count: float = setting(math.inf, CLASS_PSEUDO_COUNT, rule=MAY_BE_INFINITE)

    def fit_parameters(
        self, evidence: Evidence, start: CoinParameters | None = None
    ) -> EMRun[CoinParameters]:
        """Fit the model, from its own initial parameters or from the given ones."""
        n_a = evidence.annotations.labels_per_annotator.astype(np.float64)
        passed = coin_pass(evidence, self.device)
        first = passed.majority()
        weight_a = 1.0 / (n_a + max(self.prior_strength, 1.0))
        crowd = float((first.right_a @ weight_a + 1e-3) / (n_a @ weight_a + 2e-3))

        def expect(parameters: CoinParameters) -> CoinExpectation:
            return _expect(passed, parameters)

        def maximise(
            expected: CoinExpectation, before: CoinParameters | None
        ) -> tuple[CoinParameters, float]:
            log_prior_k, log_p_prior = fit_class_prior(expected.mass_k, self.class_pseudo_count)
            right_a = accuracies(expected.right_a, n_a, crowd, self.prior_strength)
            log_p_right = crowd * np.log(right_a) + (1.0 - crowd) * np.log1p(-right_a)
            parameters = CoinParameters(log_prior_k, right_a, crowd)
            return parameters, log_p_prior + self.prior_strength * float(log_p_right.sum())

        initial = maximise(first if start is None else expect(start), start)
        return self._alternate(evidence, initial, expect, maximise)

    def estimate_items(self, evidence: Evidence, parameters: CoinParameters) -> dict[str, Any]:
        """The fields of a `Consensus` that describe items, under these parameters."""
        passed = coin_pass(evidence, self.device)
        return {"probabilities": _expect(passed, parameters).posterior_ik}


def accuracies(right_a: Floats, n_a: Floats, crowd: float, strength: float) -> Floats:
    """(right + strength crowd) / (n + strength), kept off 0 and 1."""
    total_a = n_a + strength
    share_a = np.divide(
        right_a + strength * crowd, total_a, out=np.full_like(total_a, crowd), where=total_a > 0
    )
    return np.clip(share_a, _MARGIN, 1.0 - _MARGIN)


def _expect(passed: CoinPass, parameters: CoinParameters) -> CoinExpectation:
    return passed(parameters.log_prior_k, parameters.logit_a)
