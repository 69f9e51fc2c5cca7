"""Values of items from numbers and features, each without what it would teach itself."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import minimize

from manyhands.aggregation import Gaussian
from manyhands.aggregation.gaussian import GaussianParameters
from manyhands.aggregation.sums import annotator_sums, item_sums
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats, read_only
from manyhands.methods.cross_fit.learners import Learner

NOISE_STRENGTHS = (2.0, 5.0, 10.0, 20.0, 50.0, 200.0)  # labels that the crowd's noise is worth
BIAS_STRENGTHS = (0.5, 2.0, 5.0, 20.0, 1000.0)  # labels that no bias is worth
_LEAST_EXPONENT = 0.05
_MIN_PRECISION, _MAX_PRECISION = 1e-3, 1e6  # of predictions of standardised labels
_LEAST_NOISE = 1e-6  # variance; of standardised labels
_PENALTY = 1e-3  # on squared weights, so that there is one best weight of equal scores
_SOLVER_STEPS = 100


@dataclass(frozen=True)
class NumberWeights:
    """Weights of the predictions (m), the precision of their sum, and the exponent of labels."""

    score_m: Floats
    precision: float
    labels: float


@dataclass(frozen=True)
class NumberCrossFit:
    """Values (i,) with their variances, what they are made of, and how well labels are predicted.

    `annotators` have their biases and precisions. `objective` is the mean log density of a label
    given the other labels of its item and the features, after every round.
    """

    value_i: Floats
    variance_i: Floats
    annotators: GaussianParameters
    weights: NumberWeights
    objective: tuple[float, ...]
    converged: bool


@dataclass(frozen=True)
class ErrorSums:
    """Counts, sums and squares of the errors of labels, for every annotator or for every label."""

    count: Floats
    total: Floats
    square: Floats

    def estimates(self, noise: float, strengths: tuple[float, float]) -> tuple[Floats, Floats]:
        """The bias and the precision under priors of these strengths; `noise` is the crowd's."""
        for_noise, for_bias = strengths
        bias = self.total / (self.count + for_bias)
        square = np.maximum(self.square - 2 * bias * self.total + self.count * bias**2, 0.0)
        return bias, (self.count + for_noise) / (square + for_noise * noise)


@dataclass(frozen=True)
class NumberErrors:
    """The errors of labels against values (i,) with these variances.

    ::

        bias_a = sum_n (y_n - z_i) / (n_a + k)
        precision_a = (n_a + s) / (sum_n [(y_n - z_i - bias_a)^2 + var z_i] + s w)

    with the strengths s and k of the priors and the mean square w of the errors of all.
    """

    annotations: Annotations
    value_i: Floats
    variance_i: Floats

    @cached_property
    def by_annotator(self) -> ErrorSums:
        """The sums over all labels of every annotator, (a,)."""
        count, *sums = (annotator_sums(self.annotations, each) for each in self._of_labels)
        return ErrorSums(count, *sums)

    @cached_property
    def of_other_items(self) -> ErrorSums:
        """For every label, the sums over its annotator's labels of other items, (n,)."""
        ann = self.annotations
        code_n = ann.item.astype(np.int64) * ann.n_annotators + ann.annotator
        pair_n = np.unique(code_n, return_inverse=True)[1]
        whole = self.by_annotator
        count, total, square = (
            sum_a[ann.annotator] - np.bincount(pair_n, weights=each)[pair_n]
            for sum_a, each in zip(
                (whole.count, whole.total, whole.square), self._of_labels, strict=True
            )
        )
        return ErrorSums(np.maximum(count, 0.0), total, square)

    def noise(self, strength: float) -> float:
        """The mean square of all errors, beside biases under a prior of this strength."""
        sums = self.by_annotator
        bias_a = sums.total / (sums.count + strength)
        square = (sums.square - 2 * bias_a * sums.total + sums.count * bias_a**2).sum()
        return max(float(square) / self.annotations.n_annotations, _LEAST_NOISE)

    def levelled(self, strength: float) -> "NumberErrors":
        """The same with all values moved by one number, so that biases are 0 on average.

        Labels and features do not tell the level of all values: it is where the prior of the biases
        is best, sum_a bias_a = 0.
        """
        sums = self.by_annotator
        share_a = 1.0 / (sums.count + strength)
        shift = float((share_a * sums.total).sum() / (share_a * sums.count).sum())
        return replace(self, value_i=self.value_i + shift)

    def annotators(self, strengths: tuple[float, float]) -> GaussianParameters:
        """The biases and precisions of all annotators."""
        noise = self.noise(strengths[1])
        bias_a, precision_a = self.by_annotator.estimates(noise, strengths)
        between = float(np.var(self.value_i) + np.mean(self.variance_i))
        return GaussianParameters(bias_a, precision_a, noise, float(np.mean(self.value_i)), between)

    @cached_property
    def _of_labels(self) -> tuple[Floats, Floats, Floats]:
        ann = self.annotations
        off_n = ann.label - self.value_i[ann.item]
        return np.ones(len(off_n)), off_n, off_n**2 + self.variance_i[ann.item]


@dataclass(frozen=True)
class NumberPrediction:
    """The prediction of every label from the other labels of its item and from scores (m, i).

    `clean_n` are the labels less the biases of their annotators.
    """

    annotations: Annotations
    score_mi: Floats
    clean_n: Floats
    precision_n: Floats

    def values(self, weights: NumberWeights) -> tuple[Floats, Floats]:
        """The mean and variance of every item's value, given all its labels."""
        total_i = weights.precision + weights.labels * self._precision_i
        mean_i = weights.precision * (weights.score_m @ self.score_mi)
        return (mean_i + weights.labels * self._weighted_i) / total_i, 1.0 / total_i

    def value(self, weights: NumberWeights) -> float:
        """The summed log density of the labels."""
        return self._value_and_gradient(weights)[0]

    def gradient(self, weights: NumberWeights) -> Floats:
        """The derivative of `value` by the weights, the log-precision and the exponent."""
        return self._value_and_gradient(weights)[1]

    def best_weights(self, weights: NumberWeights) -> NumberWeights:
        """Weights under which the labels are most probable, found from these.

        A weak prior takes the features to be as precise as a label: where items have one label
        each, nothing else tells the error of the features from that of the labels.
        """
        usual = float(np.log(np.mean(self.precision_n)))

        def loss(given: Floats) -> tuple[float, Floats]:
            here = NumberWeights(given[:-2], float(np.exp(given[-2])), float(given[-1]))
            value, slope = self._value_and_gradient(here)
            slope[:-2] -= 2 * _PENALTY * here.score_m
            off = given[-2] - usual
            slope[-2] -= off
            penalty = _PENALTY * float(np.vdot(here.score_m, here.score_m)) + 0.5 * off**2
            return penalty - value, -slope

        limits = np.log(_MIN_PRECISION), np.log(_MAX_PRECISION)
        found = minimize(
            loss, np.concatenate([weights.score_m, [np.log(weights.precision), weights.labels]]),
            jac=True, method="L-BFGS-B",
            bounds=[(0.0, None)] * len(weights.score_m) + [limits, (_LEAST_EXPONENT, 1.0)],
            options={"maxiter": _SOLVER_STEPS},
        )  # fmt: skip
        return NumberWeights(found.x[:-2], float(np.exp(found.x[-2])), float(found.x[-1]))

    def _value_and_gradient(self, weights: NumberWeights) -> tuple[float, Floats]:
        item, precision, exponent = self.annotations.item, weights.precision, weights.labels
        feature_n = (weights.score_m @ self.score_mi)[item]
        others_n = self._precision_i[item] - self.precision_n  # precision of the other labels
        weighted_n = self._weighted_i[item] - self.precision_n * self.clean_n
        total_n = precision + exponent * others_n
        mean_n = (precision * feature_n + exponent * weighted_n) / total_n
        variance_n = 1.0 / total_n + 1.0 / self.precision_n
        off_n = self.clean_n - mean_n
        value = -0.5 * float((np.log(2 * np.pi * variance_n) + off_n**2 / variance_n).sum())
        by_mean_n = off_n / variance_n
        by_total_n = 0.5 * (1.0 / variance_n - (off_n / variance_n) ** 2) / total_n**2
        push_i = item_sums(self.annotations, by_mean_n * precision / total_n)
        by_precision = by_mean_n * (feature_n - mean_n) / total_n + by_total_n
        by_exponent = by_mean_n * (weighted_n - mean_n * others_n) / total_n + by_total_n * others_n
        slope = [precision * by_precision.sum(), by_exponent.sum()]
        return value, np.concatenate([self.score_mi @ push_i, slope])

    @cached_property
    def _precision_i(self) -> Floats:
        return item_sums(self.annotations, self.precision_n)

    @cached_property
    def _weighted_i(self) -> Floats:
        return item_sums(self.annotations, self.precision_n * self.clean_n)


def fit_number_cross_fit(
    learner: Learner, annotations: Annotations, *, max_iter: int = 50, tol: float = 1e-3
) -> NumberCrossFit:
    """Values of items that all have numbers as labels, from these and a learner of features.

    ::

        z_i ~ N(sum_m w_m f_m,i, 1 / tau),   y_n = z_i + bias_a + noise of variance 1 / precision_a
        mean_i = [tau f_i + beta sum_n precision_n (y_n - bias_n)] / [tau + beta sum_n precision_n]

    f_m,i are predictions of item i by a learner that was trained on the values of *other* items,
    and bias_n and precision_n those of the annotator without the labels of item i
    (`NumberErrors.of_other_items`). In every round the strengths of their priors, w >= 0, tau and
    0.05 <= beta <= 1 are chosen by the objective: the density of each label given the other labels
    of its item and the features,

    ::

        L = sum_n log N(y_n; mean_i without label n + bias_n, its variance + 1 / precision_n)

    and the values are made anew, until they change by less than `tol` standard deviations of the
    labels (the mean over the items). The first values are those of `Gaussian`, whose biases are
    solved for jointly.
    """
    centre, scale = float(annotations.label.mean()), float(annotations.label.std()) or 1.0
    standardised = replace(annotations, label=read_only((annotations.label - centre) / scale))
    found = _solve(learner, standardised, max_iter, tol)
    annotators = replace(
        found.annotators,
        bias_a=scale * found.annotators.bias_a,
        precision_a=found.annotators.precision_a / scale**2,
        crowd_variance=scale**2 * found.annotators.crowd_variance,
        centre=centre + scale * found.annotators.centre,
        between=scale**2 * found.annotators.between,
    )
    return replace(
        found,
        value_i=centre + scale * found.value_i,
        variance_i=scale**2 * found.variance_i,
        annotators=annotators,
        objective=tuple(each - float(np.log(scale)) for each in found.objective),
    )


def _solve(learner: Learner, ann: Annotations, max_iter: int, tol: float) -> NumberCrossFit:
    objective: list[float] = []
    start = Gaussian().fit(ann)
    errors = NumberErrors(ann, np.asarray(start.values), np.asarray(start.spread) ** 2)
    weights: NumberWeights | None = None
    for _ in range(max_iter):
        score_mi = learner.left_out(errors.value_i[:, None])[:, :, 0]
        if ann.n_items == 1:  # there are no other items to learn from
            score_mi = np.zeros_like(score_mi)
        if weights is None:
            weights = NumberWeights(np.full(len(score_mi), 1 / len(score_mi)), 1.0, 1.0)
        strengths, mix = _best_strengths(errors, score_mi, weights)
        weights = mix.best_weights(weights)
        objective.append(mix.value(weights) / ann.n_annotations)
        better = NumberErrors(ann, *mix.values(weights)).levelled(strengths[1])
        change = float(np.abs(better.value_i - errors.value_i).mean())
        errors = better
        if change < tol:
            break
    assert weights is not None, "there is one round at least"
    return NumberCrossFit(
        errors.value_i, errors.variance_i, errors.annotators(strengths), weights,
        tuple(objective), change < tol,
    )  # fmt: skip


def _best_strengths(
    errors: NumberErrors, score_mi: Floats, weights: NumberWeights
) -> tuple[tuple[float, float], NumberPrediction]:
    """The strengths of both priors under which the labels are most probable, and the prediction."""
    ann = errors.annotations
    found = {}
    for for_bias in BIAS_STRENGTHS:
        noise = errors.noise(for_bias)
        for for_noise in NOISE_STRENGTHS:
            strengths = for_noise, for_bias
            bias_n, precision_n = errors.of_other_items.estimates(noise, strengths)
            found[strengths] = NumberPrediction(ann, score_mi, ann.label - bias_n, precision_n)
    best = max(found, key=lambda each: found[each].value(weights))
    return best, found[best]
