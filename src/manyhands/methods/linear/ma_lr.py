"""MA-LR: an annotator either attends to the item or labels at random."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.aggregation.em import run_em
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.kernels import even_blocks, run_blocks
from manyhands.core.settings import require
from manyhands.methods.base import About, Method
from manyhands.methods.linear.kernels import TINY, expect_attention
from manyhands.methods.linear.logistic import Point, SoftmaxRegression
from manyhands.methods.linear.method import LinearMethod, LinearSolution
from manyhands.methods.linear.weights import LinearWeights, check_features

_FIRST_STEPS, _STEPS = 10, 2  # of the regression: from zero weights, and in every M-step
_MAX_BLOCKS = 16


@dataclass(frozen=True)
class MaLR(LinearMethod):
    """Logistic regression and attentiveness by EM; `settings` are those of `fit_ma_lr`."""

    def solve(self, features: Floats, annotations: Annotations, max_iter: int) -> LinearSolution:
        """See `LinearMethod.solve`."""
        fit = fit_ma_lr(features, annotations, max_iter=max_iter, **self.settings)
        return LinearSolution(fit.weights, fit.confusion_akl, fit.objective)


@dataclass(frozen=True)
class MaLRFit:
    """The classifier, the attentiveness of the annotators, the objective of every step.

    `attentive_a` is the probability that annotator a attends, `attention_n` the probability that
    label n, in the order of the annotations, was given with attention.
    """

    weights: LinearWeights
    attentive_a: Floats
    attention_n: Floats
    objective: tuple[float, ...]
    converged: bool

    @property
    def confusion_akl(self) -> Floats:
        """The confusions of the annotators: pi_a I + (1 - pi_a) / K."""
        n_classes = len(self.weights.intercept_k)
        right_akl = self.attentive_a[:, None, None] * np.eye(n_classes)
        return np.asarray(right_akl + (1.0 - self.attentive_a)[:, None, None] / n_classes)


@dataclass(frozen=True)
class _State:
    point: Point
    attentive_a: Floats


def fit_ma_lr(
    features: Any,
    annotations: Annotations,
    *,
    pseudo_attentive: float = 1.0,
    pseudo_random: float = 1.0,
    l2: float = 1.0,
    intercept_l2: float = 0.0,
    max_iter: int = 1000,
    tol: float = 1e-8,
) -> MaLRFit:
    """Estimate logistic regression f and the attentiveness pi of annotators, by EM.

    With probability pi_a a label is drawn from the classifier, otherwise from all K classes
    alike::

        p(y_n | x) = pi_a f_y(x_i) + (1 - pi_a) / K
        E:  z_n = pi_a f_y(x_i) / p(y_n | x)
        M:  pi_a = (sum_n z_n + pseudo_attentive) / (n_a + pseudo_attentive + pseudo_random)
            f: a few Newton steps on sum_n z_n log f_y(x_i) - l2/2 |W|^2

    The objective never falls::

        sum_n log p(y_n | x) + pseudo_attentive sum_a log pi_a + pseudo_random sum_a log(1 - pi_a)
            - l2/2 |W|^2 - intercept_l2/2 |b|^2

    EM starts from the regression on all labels with pi = 1/2, and ends when a step gains less than
    `tol` per label. The pseudo-counts are a Beta(1 + pseudo_attentive, 1 + pseudo_random) prior.

    Source: Rodrigues, Pereira and Ribeiro 2013.
    """
    for name, pseudo in (("pseudo_attentive", pseudo_attentive), ("pseudo_random", pseudo_random)):
        require(0 <= pseudo < np.inf, name, "0 or more", pseudo)
    features_ij, ann = check_features(features, annotations)
    regression = SoftmaxRegression(features_ij, ann.n_classes, l2=l2, intercept_l2=intercept_l2)
    min_gain = tol * ann.n_annotations

    def step(state: _State) -> tuple[_State, float]:
        attention_n, target_ik, log_p = _expect(ann, state.point.log_class_ik, state.attentive_a)
        log_p += regression.log_prior(state.point)
        log_p += _log_beta_prior(state.attentive_a, pseudo_attentive, pseudo_random)
        point, _ = regression.ascend(state.point, target_ik, max_steps=_STEPS, tol=0.01 * min_gain)
        n_attended_a = np.bincount(ann.annotator, attention_n, minlength=ann.n_annotators)
        attentive_a = _shares(
            n_attended_a + pseudo_attentive,
            ann.labels_per_annotator + pseudo_attentive + pseudo_random,
        )
        return _State(point, attentive_a), log_p

    first, _ = regression.ascend(
        regression.at(), ann.label_counts(), max_steps=_FIRST_STEPS, tol=0.01 * min_gain
    )
    start = _State(first, np.full(ann.n_annotators, 0.5))
    run = run_em(start, step, max_iter=max_iter, tol=min_gain)
    point, attentive_a = run.state.point, run.state.attentive_a
    attention_n, _, _ = _expect(ann, point.log_class_ik, attentive_a)
    weights = regression.weights(point)
    return MaLRFit(weights, attentive_a, attention_n, run.objective, run.converged)


def _expect(
    annotations: Annotations, log_class_ik: Floats, attentive_a: Floats
) -> tuple[Floats, Floats, float]:
    """E-step: z_n, the sums of z_n per item and class (i, k), and the log-likelihood."""
    ann, offsets = annotations, annotations.item_offsets
    attention_n, target_ik = np.empty(ann.n_annotations), np.zeros(log_class_ik.shape)

    def work(items: tuple[int, int]) -> float:
        return expect_attention(
            *items,
            offsets,
            ann.annotator,
            ann.label,
            log_class_ik,
            attentive_a,
            attention_n,
            target_ik,
        )

    parts = run_blocks(work, even_blocks(offsets, _MAX_BLOCKS))
    return attention_n, target_ik, sum(parts)


def _shares(part_a: AnyArray, whole_a: AnyArray) -> Floats:
    """Part divided by whole; one half where the whole is 0."""
    half_a = np.full(len(part_a), 0.5)
    return np.asarray(np.divide(part_a, whole_a, out=half_a, where=whole_a > 0))


def _log_beta_prior(attentive_a: Floats, pseudo_attentive: float, pseudo_random: float) -> float:
    """The log-prior of pi, up to a constant; a pseudo-count of 0 adds nothing."""
    log_yes = np.log(np.maximum(attentive_a, TINY)).sum()
    log_no = np.log(np.maximum(1.0 - attentive_a, TINY)).sum()
    return float(pseudo_attentive * log_yes + pseudo_random * log_no)


ROWS: dict[str, Method] = {
    "ma-lr": MaLR(
        about=About(
            source="Rodrigues, Pereira and Ribeiro 2013",
            equation="P(y | a, x) = pi_a f_y + (1 - pi_a) / K",
            cost="a step of the regression + K per label",
            when="some label at random and the rest are good",
        ),
    ),
}
