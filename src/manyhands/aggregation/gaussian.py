"""Numbers with a bias and a precision per annotator."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from manyhands.aggregation.base import IterativeAggregator, Parameters
from manyhands.aggregation.em import EMRun
from manyhands.aggregation.evidence import Evidence, nothing_known
from manyhands.aggregation.kernels.bias_pass import shared_shifts
from manyhands.aggregation.regression import (
    RegressionAggregator,
    RegressionParameters,
    summarise_evidence,
    value_estimates,
)
from manyhands.aggregation.sums import annotator_sums, item_sums
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import POSITIVE, setting

_CG_STEPS = 50


@dataclass(frozen=True)
class GaussianParameters(RegressionParameters):
    """Each annotator's bias and precision, the crowd's variance, mean and variance of values."""

    bias_a: Floats
    precision_a: Floats
    crowd_variance: float
    centre: float
    between: float

    def annotator_traits(self) -> Mapping[str, AnyArray]:
        """Bias and noise of annotators."""
        return {"bias": self.bias_a, "noise": self.precision_a**-0.5}

    def with_unseen_annotators(self, n_new: int) -> Self:
        """The same with annotators appended who have no bias and the crowd's variance."""
        precision = np.full(n_new, 1.0 / self.crowd_variance)
        return replace(
            self,
            bias_a=np.append(self.bias_a, np.zeros(n_new)),
            precision_a=np.append(self.precision_a, precision),
        )


@dataclass(frozen=True)
class ValuePrior:
    """A prior for the values, such as a network's output: z_i ~ N(mean_i, 1 / precision)."""

    mean_i: Floats
    precision: float


@dataclass(frozen=True)
class Values:
    """Posterior mean and variance of every item's value, and the log-likelihood."""

    mean_i: Floats
    variance_i: Floats
    log_likelihood: float


@dataclass(frozen=True, kw_only=True)
class Gaussian(IterativeAggregator[GaussianParameters], RegressionAggregator[GaussianParameters]):
    """Numbers with a bias and a noise level per annotator; the values z_i have a flat prior.

    With s = prior_strength, w the variance within items at the start::

        y_n = z_i + bias_a + noise of variance 1 / precision_a
        bias_a | precision_a ~ N(0, 1 / (bias_strength precision_a))
        precision_a ~ Gamma((1 + s) / 2, s w / 2)

    so that an annotator with one label is close to an average one. The strength is in labels. It is
    large because the noise in an annotator's labels also depends on how hard their items were::

        E:  z_i is normal with precision sum_n precision_a, its mean that of y_n - bias_a
            weighted by precision_a
        M:  precision_a = (n_a + s) / (sum_n [(y_n - z_i - bias_a)^2 + var z_i]
                                       + bias_strength bias_a^2 + s w)

    then all biases at once, at the maximum of the likelihood with z integrated out. Biases of
    annotators who label the same items depend on each other, and updates one at a time would
    converge slowly.

    The objective, log-likelihood (z integrated out) + log-priors, never falls. An item without
    labels gets the mean of the others.

    Source: Raykar et al. 2010, section on regression, with a bias per annotator.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_arrays([1, 1, 2, 2], list("uvuv"), [0.1, 0.3, 0.8, 1.2])
    >>> Gaussian().fit(ann).labels.round(1).tolist()
    [0.2, 1.0]
    """

    name: ClassVar[str] = "gaussian"
    parameters_type: ClassVar[type[Parameters]] = GaussianParameters

    prior_strength: float = setting(
        50.0, "Weight of the crowd's noise for an annotator, in labels.", rule=POSITIVE
    )
    bias_strength: float = setting(5.0, "Weight of no bias, in labels.", rule=POSITIVE)

    def fit_parameters(
        self, evidence: Evidence, start: GaussianParameters | None = None
    ) -> EMRun[GaussianParameters]:
        """Fit the model, from its own initial parameters or from the given ones."""
        first = _average(evidence)
        start = replace(start or first, crowd_variance=first.crowd_variance)

        def step(parameters: GaussianParameters) -> tuple[GaussianParameters, float]:
            square_a, log_likelihood = evidence.total(_expect_squares, parameters)
            n_a = evidence.annotations.labels_per_annotator
            precision_a = self._precisions(n_a, square_a, parameters)
            better = replace(parameters, precision_a=precision_a)
            bias_a = best_biases(evidence, better, self.bias_strength)
            return replace(better, bias_a=bias_a), log_likelihood + self.log_prior(parameters)

        run = self._run(evidence, start, step)
        return EMRun(_with_moments(evidence, run.state), run.objective, run.converged)

    def precisions(
        self, evidence: Evidence, values: Values, parameters: GaussianParameters
    ) -> Floats:
        """The most probable precision of every annotator, given the posterior of the values."""
        square_a = _squares(evidence, values, parameters)
        return self._precisions(evidence.annotations.labels_per_annotator, square_a, parameters)

    def _precisions(
        self, n_a: AnyArray, square_a: Floats, parameters: GaussianParameters
    ) -> Floats:
        penalty_a = self.bias_strength * parameters.bias_a**2
        crowd = self.prior_strength * parameters.crowd_variance
        return np.asarray((n_a + self.prior_strength) / (square_a + penalty_a + crowd))

    def log_prior(self, parameters: GaussianParameters) -> float:
        """The log-prior of the parameters, up to a constant."""
        precision_a = parameters.precision_a
        penalty_a = self.bias_strength * parameters.bias_a**2
        penalty_a += self.prior_strength * parameters.crowd_variance
        return 0.5 * float(
            (self.prior_strength * np.log(precision_a) - precision_a * penalty_a).sum()
        )

    def estimate_items(self, evidence: Evidence, parameters: GaussianParameters) -> dict[str, Any]:
        """The fields of a `Consensus` that describe items, under these parameters."""
        values = expect_values(evidence, parameters)
        return value_estimates(evidence, values.mean_i, values.variance_i, parameters.between)


def average_annotators(annotations: Annotations) -> GaussianParameters:
    """No biases, and the variance within items as every annotator's noise."""
    return _average(Evidence(annotations, nothing_known()))


def _average(evidence: Evidence) -> GaussianParameters:
    summary, n = summarise_evidence(evidence), evidence.annotations.n_annotators
    precision_a = np.full(n, 1.0 / summary.within)
    return GaussianParameters(
        np.zeros(n), precision_a, summary.within, summary.centre, summary.between
    )


def expect_values(
    evidence: Evidence, parameters: GaussianParameters, prior: ValuePrior | None = None
) -> Values:
    """The posterior of every item's value, with known truths put in, and the log-likelihood.

    log p(y_i) = sum_n log N(y_n - bias_a; m_i, 1 / precision_a) + log(2 pi var z_i) / 2 with m_i
    the posterior mean. For a known truth it is only the sum, at that truth. A `prior` acts as one
    more label of every item and adds log N(m_i; its mean, its variance).
    """
    ann = evidence.annotations
    precision_n = parameters.precision_a[ann.annotator]
    clean_n = ann.label - parameters.bias_a[ann.annotator]
    precision_i, sum_i = item_sums(ann, precision_n), item_sums(ann, precision_n * clean_n)
    if prior is not None:
        precision_i, sum_i = precision_i + prior.precision, sum_i + prior.precision * prior.mean_i
    labelled = precision_i > 0
    safe_i = np.where(labelled, precision_i, 1.0)
    mean_i = np.where(labelled, sum_i / safe_i, parameters.centre)
    unlabelled = parameters.between + parameters.crowd_variance
    variance_i = np.where(labelled, 1.0 / safe_i, unlabelled)
    is_known = evidence.is_known
    if is_known.any():
        mean_i = np.where(is_known, evidence.known, mean_i)
        variance_i = np.where(is_known, 0.0, variance_i)
    off_n = clean_n - mean_i[ann.item]
    log_label = 0.5 * (np.log(precision_n / (2 * np.pi)) - precision_n * off_n**2).sum()
    free = labelled & ~is_known
    log_value = 0.5 * np.log(2 * np.pi * variance_i[free]).sum()
    if prior is not None and prior.precision > 0:
        square_i = prior.precision * (mean_i - prior.mean_i) ** 2
        log_value += 0.5 * (np.log(prior.precision / (2 * np.pi)) - square_i).sum()
    return Values(mean_i, variance_i, float(log_label + log_value))


def _expect_squares(evidence: Evidence, parameters: GaussianParameters) -> tuple[Floats, float]:
    values = expect_values(evidence, parameters)
    return _squares(evidence, values, parameters), values.log_likelihood


def _squares(evidence: Evidence, values: Values, parameters: GaussianParameters) -> Floats:
    """Expected squared errors of every annotator's labels, after their bias is subtracted."""
    ann = evidence.annotations
    square_n = (ann.label - values.mean_i[ann.item] - parameters.bias_a[ann.annotator]) ** 2
    square_n += values.variance_i[ann.item]
    return annotator_sums(ann, square_n)


def best_biases(
    evidence: Evidence,
    parameters: GaussianParameters,
    strength: float,
    prior: ValuePrior | None = None,
) -> Floats:
    """The biases that maximise the objective for given precisions, by conjugate gradients.

    precision_a [(n_a + strength) bias_a - sum_n sum_n' precision bias / precision_i]
    = precision_a sum_n (y_n - m_i), n over the labels of a, n' over those of item i, and m_i the
    value of item i without biases. Known items have a fixed value and no inner sum.
    """
    precision_a, n_a = parameters.precision_a, evidence.annotations.labels_per_annotator
    without_bias = replace(parameters, bias_a=np.zeros_like(precision_a))
    right_a = precision_a * evidence.total(_unbiased_distances, without_bias, prior)
    own_precision = 0.0 if prior is None else prior.precision

    def apply(bias_a: Floats) -> Floats:
        weighted_a = precision_a * bias_a
        shared_a = evidence.total(shared_shifts, precision_a, weighted_a, own_precision)
        return np.asarray((n_a + strength) * weighted_a - precision_a * shared_a)

    n = len(precision_a)
    operator = LinearOperator((n, n), matvec=apply, dtype=np.float64)
    bias_a, _ = cg(operator, right_a, x0=parameters.bias_a, rtol=1e-8, maxiter=_CG_STEPS)
    return np.asarray(bias_a)


def _unbiased_distances(
    evidence: Evidence, parameters: GaussianParameters, prior: ValuePrior | None
) -> Floats:
    ann, values = evidence.annotations, expect_values(evidence, parameters, prior)
    return annotator_sums(ann, ann.label - values.mean_i[ann.item])


def _with_moments(evidence: Evidence, parameters: GaussianParameters) -> GaussianParameters:
    """The parameters with the mean of the values and the variance between them."""
    n, total, variance = evidence.total(_value_sums, parameters)
    centre, variance = total / n, variance / n
    between = evidence.total(_value_squares, parameters, centre) / n - variance
    floor = 1e-3 * variance + 1e-300
    return replace(parameters, centre=centre, between=max(between, floor))


def _value_sums(evidence: Evidence, parameters: GaussianParameters) -> tuple[float, float, float]:
    """The number of items with labels, and the sums of their means and variances."""
    values, labelled = expect_values(evidence, parameters), evidence.annotations.labels_per_item > 0
    mean_i, variance_i = values.mean_i[labelled], values.variance_i[labelled]
    return float(len(mean_i)), float(mean_i.sum()), float(variance_i.sum())


def _value_squares(evidence: Evidence, parameters: GaussianParameters, centre: float) -> float:
    mean_i = expect_values(evidence, parameters).mean_i
    return float(((mean_i[evidence.annotations.labels_per_item > 0] - centre) ** 2).sum())
