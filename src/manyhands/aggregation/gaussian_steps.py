"""EM steps of the Gaussian model with a network that predicts the values."""

from dataclasses import dataclass, replace

import numpy as np

from manyhands.aggregation.em import EMRun, run_em
from manyhands.aggregation.evidence import gather_evidence
from manyhands.aggregation.gaussian import (
    Gaussian,
    GaussianParameters,
    ValuePrior,
    Values,
    average_annotators,
    best_biases,
    expect_values,
)
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats

NETWORK_STRENGTH = 2.0  # weight of the prior of the network's error, in items
# The network's variance in that prior, as a share of an annotator's. It only keeps the variance off
# 0, because labels tell little about an error much smaller than their own.
NETWORK_SHARE = 0.01


@dataclass(frozen=True)
class NetworkedParameters:
    """Annotators' parameters, and the network's precision: one over the variance of its error."""

    annotators: GaussianParameters
    network_precision: float


class GaussianSteps:
    """E- and M-steps of `Gaussian` with its priors, one at a time, beside a network f.

    ::

        z_i ~ N(f(x_i), 1 / network_precision),   y_n ~ N(z_i + bias_a, 1 / precision_a)

        E:  z_i is normal with precision network_precision + sum_n precision_a, its mean that of
            f(x_i) and y_n - bias_a, weighted by their precisions
        M:  network_precision = (n + 2) / (sum_i [(z_i - f(x_i))^2 + var z_i] + 2 w / 100), and
            annotators as in `Gaussian`

    The network acts as an annotator who labels every item, with a weak prior of its own. Its own
    part of the M-step is a regression on the means of z. With `biases=False` all biases are 0. A
    `fixed_precision` of the network is not learnt; at 0 the model is `Gaussian` without a network.
    `crowd_variance` replaces the w of `Gaussian`.
    """

    def __init__(
        self,
        annotations: Annotations,
        model: Gaussian,
        *,
        biases: bool = True,
        fixed_precision: float | None = None,
        crowd_variance: float | None = None,
    ) -> None:
        self._evidence = gather_evidence(annotations)
        self.model, self.biases, self.fixed_precision = model, biases, fixed_precision
        crowd = average_annotators(annotations)
        if crowd_variance is not None:
            precision_a = np.full(annotations.n_annotators, 1.0 / crowd_variance)
            crowd = replace(crowd, crowd_variance=crowd_variance, precision_a=precision_a)
        precision = 1.0 / crowd.between if fixed_precision is None else fixed_precision
        self.first = NetworkedParameters(crowd, precision)

    def values(self, value_i: Floats, parameters: NetworkedParameters) -> Values:
        """The E-step: the posterior of every item's value, given network and labels."""
        prior = ValuePrior(value_i, parameters.network_precision)
        return expect_values(self._evidence, parameters.annotators, prior)

    def parameters(
        self, value_i: Floats, values: Values, before: NetworkedParameters
    ) -> NetworkedParameters:
        """The M-step: the most probable precisions and biases, given that posterior."""
        precision = self.fixed_precision
        if precision is None:
            square = float(((values.mean_i - value_i) ** 2 + values.variance_i).sum())
            square += NETWORK_STRENGTH * NETWORK_SHARE * before.annotators.crowd_variance
            precision = (len(value_i) + NETWORK_STRENGTH) / square
        precision_a = self.model.precisions(self._evidence, values, before.annotators)
        better = replace(before.annotators, precision_a=precision_a)
        if self.biases:
            prior = ValuePrior(value_i, precision)
            bias_a = best_biases(self._evidence, better, self.model.bias_strength, prior)
            better = replace(better, bias_a=bias_a)
        return NetworkedParameters(better, precision)

    def objective(self, value_i: Floats, parameters: NetworkedParameters) -> float:
        """Log-likelihood with the values integrated out + log-priors; it never falls."""
        precision = parameters.network_precision
        w = NETWORK_SHARE * parameters.annotators.crowd_variance
        log_prior = self.model.log_prior(parameters.annotators)
        if self.fixed_precision is None:
            log_prior += 0.5 * NETWORK_STRENGTH * (np.log(precision) - precision * w)
        return self.values(value_i, parameters).log_likelihood + float(log_prior)

    def profile_annotators(
        self, value_i: Floats, *, max_iter: int, tol: float
    ) -> EMRun[NetworkedParameters]:
        """Fit annotators and the network's precision to fixed outputs of the network."""

        def step(before: NetworkedParameters) -> tuple[NetworkedParameters, float]:
            values = self.values(value_i, before)
            return self.parameters(value_i, values, before), self.objective(value_i, before)

        n_labels = self._evidence.annotations.n_annotations
        return run_em(self.first, step, max_iter=max_iter, tol=tol * n_labels)
