"""Annotators of numeric labels, given predictions of the topics: priors and updates."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from manyhands.aggregation import Gaussian
from manyhands.aggregation.evidence import gather_evidence
from manyhands.aggregation.gaussian import (
    GaussianParameters,
    ValuePrior,
    Values,
    best_biases,
    expect_values,
)
from manyhands.aggregation.gaussian_steps import (
    NETWORK_SHARE,
    NETWORK_STRENGTH,
    NetworkedParameters,
)
from manyhands.aggregation.regression import summarise
from manyhands.aggregation.sums import annotator_sums, item_sums
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.methods.topics.regression_kernels import LabelMeans, Prediction

_MIN_VARIANCE = 1e-3  # of an average annotator's noise


@dataclass(frozen=True)
class RegressionAnnotators:
    """Labels y_n ~ N(x_d + bias_a, 1 / precision_a) of values x_d ~ N(f_d, 1 / rho).

    With s = prior_strength, w the variance of an average annotator's noise, as in
    `RegressionLayer`::

        bias_a ~ N(0, w / bias_strength)
        log p(precision_a) = s / 2 (log precision_a - w precision_a) + constant

    rho has the same prior as precision_a, with 2 in place of s and w / 100 in place of w. Of the
    prediction f_d = eta . zbar_d the mean and the variance are known. x_d is unknown: given f it is
    normal.
    """

    annotations: Annotations
    bias_strength: float
    prior_strength: float

    def initial(self) -> NetworkedParameters:
        """Equal precisions, and the biases of the aggregator `Gaussian`."""
        ann = self.annotations
        bias_a = Gaussian().fit(ann).parameters.bias_a
        summary = summarise(replace(ann, label=ann.label - bias_a[ann.annotator]))
        noise = max(summary.within, _MIN_VARIANCE)
        precision_a = np.full(ann.n_annotators, 1.0 / noise)
        annotators = GaussianParameters(bias_a, precision_a, noise, summary.centre, summary.between)
        return NetworkedParameters(annotators, 1.0 / max(summary.between, _MIN_VARIANCE))

    def log_prior(self, parameters: NetworkedParameters) -> float:
        """The log-prior of annotators and rho, up to a constant."""
        own, rho, w = parameters.annotators, parameters.network_precision, _noise(parameters)
        log_a = self.prior_strength * (np.log(own.precision_a) - w * own.precision_a)
        log_a = log_a - self.bias_strength / w * own.bias_a**2
        return 0.5 * float(log_a.sum() + NETWORK_STRENGTH * (np.log(rho) - rho * NETWORK_SHARE * w))

    def label_means(self, parameters: NetworkedParameters) -> LabelMeans:
        """m_d and tau_d in log p(labels of d | f) = constant - tau_d/2 (m_d - f)^2.

        ::

            m_d = sum_n precision_a (y_n - bias_a) / P_d,    P_d = sum_n precision_a
            tau_d = rho P_d / (rho + P_d),    0 without labels
        """
        ann, own, rho = self.annotations, parameters.annotators, parameters.network_precision
        precision_n = own.precision_a[ann.annotator]
        precision_d = item_sums(ann, precision_n)
        total_d = item_sums(ann, precision_n * (ann.label - own.bias_a[ann.annotator]))
        mean_d = total_d / np.where(precision_d > 0, precision_d, 1.0)
        return LabelMeans(mean_d, rho * precision_d / (rho + precision_d))

    def bound(self, prediction: Prediction, parameters: NetworkedParameters) -> float:
        """E log p(labels | f) = log p(labels | E f) - sum_d tau_d/2 Var f_d."""
        _, tau_d = self.label_means(parameters)
        values = self._values_at_mean(prediction, parameters)
        return values.log_likelihood - 0.5 * float((tau_d * prediction.variance_d).sum())

    def values(self, prediction: Prediction, parameters: NetworkedParameters) -> Prediction:
        """Mean and variance of every x_d, by topics and labels."""
        values, rho = self._values_at_mean(prediction, parameters), parameters.network_precision
        from_f_d = (rho * values.variance_i) ** 2 * prediction.variance_d
        return Prediction(values.mean_i, values.variance_i + from_f_d)

    def improve(
        self, prediction: Prediction, parameters: NetworkedParameters
    ) -> NetworkedParameters:
        """One EM step for rho and the precisions, then the best biases with x integrated out.

        ::

            rho = (documents with labels + 2) / (sum_d E(x_d - f_d)^2 + 2 w / 100)
            precision_a = (n_a + s) / (sum_n E(y_n - x_d - bias_a)^2 + s w)
        """
        ann, own = self.annotations, parameters.annotators
        value = self.values(prediction, parameters)
        residual_n = ann.label - value.mean_d[ann.item] - own.bias_a[ann.annotator]
        square_a = annotator_sums(ann, residual_n**2 + value.variance_d[ann.item])
        s, w = self.prior_strength, _noise(parameters)
        own = replace(own, precision_a=(ann.labels_per_annotator + s) / (square_a + s * w))
        rho = self.improve_rho(prediction, parameters)
        evidence, prior = gather_evidence(ann), ValuePrior(prediction.mean_d, rho)
        strength_a: Any = self.bias_strength / (w * own.precision_a)  # the prior is as wide for all
        bias_a = best_biases(evidence, own, strength_a, prior)
        return NetworkedParameters(replace(own, bias_a=bias_a), rho)

    def improve_rho(self, prediction: Prediction, parameters: NetworkedParameters) -> float:
        """The rho of `improve`, with E(x_d - f_d)^2 from the joint posterior of x_d and f_d."""
        values, rho = self._values_at_mean(prediction, parameters), parameters.network_precision
        square_d = (values.mean_i - prediction.mean_d) ** 2 + values.variance_i
        square_d = square_d + (1.0 - rho * values.variance_i) ** 2 * prediction.variance_d
        is_labelled_d = self.annotations.labels_per_item > 0
        square = float(square_d[is_labelled_d].sum())
        square += NETWORK_STRENGTH * NETWORK_SHARE * _noise(parameters)
        return float((np.count_nonzero(is_labelled_d) + NETWORK_STRENGTH) / square)

    def shift_biases(
        self, eta_t: Floats, l2: float, parameters: NetworkedParameters
    ) -> tuple[Floats, NetworkedParameters]:
        """Move the shift m from the biases to eta that has the highest prior.

        Labels do not distinguish eta + m, bias - m from eta, bias: the mean topic of a document
        sums to 1.
        """
        own, precision = parameters.annotators, self.bias_strength / _noise(parameters)
        shift = precision * own.bias_a.sum() - l2 * eta_t.sum()
        shift /= precision * len(own.bias_a) + l2 * len(eta_t)
        shifted = replace(own, bias_a=own.bias_a - shift)
        return np.asarray(eta_t + shift), replace(parameters, annotators=shifted)

    def _values_at_mean(self, prediction: Prediction, parameters: NetworkedParameters) -> Values:
        """The posterior of every x_d by the labels, as if f were its mean."""
        prior = ValuePrior(prediction.mean_d, parameters.network_precision)
        return expect_values(gather_evidence(self.annotations), parameters.annotators, prior)


def _noise(parameters: NetworkedParameters) -> float:
    """w, the variance of an average annotator's noise."""
    return parameters.annotators.crowd_variance
