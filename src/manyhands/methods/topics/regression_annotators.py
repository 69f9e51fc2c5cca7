"""Annotators of numbers beside topics: their priors, and the steps that better them."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from manyhands.aggregation import Gaussian
from manyhands.aggregation.evidence import gather_evidence
from manyhands.aggregation.gaussian import GaussianParameters, ValuePrior, Values, expect_values
from manyhands.aggregation.gaussian_steps import (
    NETWORK_SHARE,
    NETWORK_STRENGTH,
    NetworkedParameters,
)
from manyhands.aggregation.regression import summarise
from manyhands.aggregation.sums import annotator_sums, item_sums
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats

_LEAST = 1e-3  # of the variance of an average annotator's noise
_CG_STEPS = 50


@dataclass(frozen=True)
class Explained:
    """What topics say of the documents' numbers: mean and variance of f = eta . zbar."""

    mean_d: Floats
    variance_d: Floats


@dataclass(frozen=True)
class NumberPeople:
    """Labels y_n ~ N(x_d + bias_a, 1 / precision_a) of numbers x_d ~ N(f_d, 1 / rho).

    With s = prior_strength, w the variance of an average annotator's noise, as in `RegressionLayer`::

        bias_a ~ N(0, w / bias_strength)
        log p(precision_a) = s / 2 (log precision_a - w precision_a) + constant

    and the last for rho as well, with 2 in the place of s and w / 100 in that of w. f_d is only
    known as far as its mean and variance, and x_d is not known at all: given f it is normal.
    """

    annotations: Annotations
    bias_strength: float
    prior_strength: float

    def begin(self) -> NetworkedParameters:
        """Precisions all alike, and the biases of the aggregator `Gaussian`."""
        ann = self.annotations
        bias_a = Gaussian().fit(ann).parameters.bias_a
        seen = summarise(replace(ann, label=ann.label - bias_a[ann.annotator]))
        noise = max(seen.within, _LEAST)
        precision_a = np.full(ann.n_annotators, 1.0 / noise)
        crowd = GaussianParameters(bias_a, precision_a, noise, seen.centre, seen.between)
        return NetworkedParameters(crowd, 1.0 / max(seen.between, _LEAST))

    def log_prior(self, people: NetworkedParameters) -> float:
        """The log-prior of annotators and rho, up to a constant."""
        crowd, rho, w = people.annotators, people.network_precision, self._noise(people)
        log_a = self.prior_strength * (np.log(crowd.precision_a) - w * crowd.precision_a)
        log_a = log_a - self.bias_strength / w * crowd.bias_a**2
        return 0.5 * float(log_a.sum() + NETWORK_STRENGTH * (np.log(rho) - rho * NETWORK_SHARE * w))

    def said(self, people: NetworkedParameters) -> tuple[Floats, Floats]:
        """said_d and tau_d: log p(labels of d | f) = constant - tau_d/2 (said_d - f)^2.

        ::

            said_d = sum_n precision_a (y_n - bias_a) / P_d,    P_d = sum_n precision_a
            tau_d = rho P_d / (rho + P_d),    0 without labels
        """
        ann, crowd, rho = self.annotations, people.annotators, people.network_precision
        precision_n = crowd.precision_a[ann.annotator]
        precision_d = item_sums(ann, precision_n)
        clean_d = item_sums(ann, precision_n * (ann.label - crowd.bias_a[ann.annotator]))
        said_d = clean_d / np.where(precision_d > 0, precision_d, 1.0)
        return said_d, rho * precision_d / (rho + precision_d)

    def bound(self, explained: Explained, people: NetworkedParameters) -> float:
        """E log p(labels | f) = log p(labels | E f) - sum_d tau_d/2 Var f_d."""
        _, tau_d = self.said(people)
        told = self._told(explained, people)
        return told.log_likelihood - 0.5 * float((tau_d * explained.variance_d).sum())

    def values(self, explained: Explained, people: NetworkedParameters) -> Explained:
        """Mean and variance of every x_d, by topics and labels."""
        told, rho = self._told(explained, people), people.network_precision
        unsure_d = (rho * told.variance_i) ** 2 * explained.variance_d
        return Explained(told.mean_i, told.variance_i + unsure_d)

    def better(self, explained: Explained, people: NetworkedParameters) -> NetworkedParameters:
        """A step of EM for rho and precisions, then the best biases with the numbers unseen.

        ::

            rho = (documents with labels + 2) / (sum_d E(x_d - f_d)^2 + 2 w / 100)
            precision_a = (n_a + s) / (sum_n E(y_n - x_d - bias_a)^2 + s w)
        """
        ann, crowd = self.annotations, people.annotators
        value = self.values(explained, people)
        off_n = ann.label - value.mean_d[ann.item] - crowd.bias_a[ann.annotator]
        square_a = annotator_sums(ann, off_n**2 + value.variance_d[ann.item])
        s, w = self.prior_strength, self._noise(people)
        crowd = replace(crowd, precision_a=(ann.labels_per_annotator + s) / (square_a + s * w))
        again = NetworkedParameters(crowd, self.better_rho(explained, people))
        return replace(again, annotators=replace(crowd, bias_a=self._biases(explained, again)))

    def better_rho(self, explained: Explained, people: NetworkedParameters) -> float:
        """The rho of `better`; x_d - f_d is P_d / (rho + P_d) (said_d - f_d) and what is unsure."""
        told, rho = self._told(explained, people), people.network_precision
        square_d = (told.mean_i - explained.mean_d) ** 2 + told.variance_i
        square_d = square_d + (1.0 - rho * told.variance_i) ** 2 * explained.variance_d
        labelled_d = self.annotations.labels_per_item > 0
        square = float(square_d[labelled_d].sum())
        square += NETWORK_STRENGTH * NETWORK_SHARE * self._noise(people)
        return float((np.count_nonzero(labelled_d) + NETWORK_STRENGTH) / square)

    def moved(
        self, eta_t: Floats, l2: float, people: NetworkedParameters
    ) -> tuple[Floats, NetworkedParameters]:
        """The same labels from weights as much higher as biases are lower, as the priors like best.

        Labels cannot tell eta + m, bias - m from eta, bias: shares of topics sum to 1.
        """
        crowd, pull = people.annotators, self.bias_strength / self._noise(people)
        shift = pull * crowd.bias_a.sum() - l2 * eta_t.sum()
        shift /= pull * len(crowd.bias_a) + l2 * len(eta_t)
        lower = replace(crowd, bias_a=crowd.bias_a - shift)
        return np.asarray(eta_t + shift), replace(people, annotators=lower)

    def _biases(self, explained: Explained, people: NetworkedParameters) -> Floats:
        """All biases at once, by conjugate gradients: one at a time they would crawl.

        (precision_a n_a + bias_strength / w) bias_a - precision_a sum_n v_d sum_n' precision bias
        = precision_a sum_n (y_n - m_d), n over the labels of a, n' over those of d, and m_d, v_d
        mean and variance of x_d were nobody biased.
        """
        ann, crowd = self.annotations, people.annotators
        nobody = replace(crowd, bias_a=np.zeros_like(crowd.bias_a))
        told = self._told(explained, replace(people, annotators=nobody))
        right_a = crowd.precision_a * annotator_sums(ann, ann.label - told.mean_i[ann.item])
        own_a = crowd.precision_a * ann.labels_per_annotator
        own_a = own_a + self.bias_strength / self._noise(people)

        def apply(bias_a: Floats) -> Floats:
            pull_n = (crowd.precision_a * bias_a)[ann.annotator]
            shift_d = told.variance_i * item_sums(ann, pull_n)
            return own_a * bias_a - crowd.precision_a * annotator_sums(ann, shift_d[ann.item])

        n = ann.n_annotators
        operator = LinearOperator((n, n), matvec=apply, dtype=np.float64)
        bias_a, _ = cg(operator, right_a, x0=crowd.bias_a, rtol=1e-8, maxiter=_CG_STEPS)
        return np.asarray(bias_a)

    def _told(self, explained: Explained, people: NetworkedParameters) -> Values:
        """What labels say of every number where topics are sure of E f."""
        prior = ValuePrior(explained.mean_d, people.network_precision)
        return expect_values(gather_evidence(self.annotations), people.annotators, prior)

    @staticmethod
    def _noise(people: NetworkedParameters) -> float:
        return people.annotators.crowd_variance
