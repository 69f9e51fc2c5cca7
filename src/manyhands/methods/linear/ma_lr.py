"""Good or random labels: annotators either look at the item or say anything."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.aggregation.em import run_em
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Codes, Floats, Offsets
from manyhands.core.kernels import even_blocks, kernel, run_blocks
from manyhands.core.settings import require
from manyhands.methods.linear.regression import Point, SoftmaxRegression
from manyhands.methods.linear.weights import LinearWeights, matched

_STEPS_AT_FIRST, _STEPS = 10, 2  # of the regression: from nothing, and from one M-step to the next
_MOST_BLOCKS = 16
_TINY = 1e-300


@dataclass(frozen=True)
class AttentiveFit:
    """The classifier, how often each annotator attends, how probably each label was attentive.

    `attention_n` goes by the rows of the annotations.
    """

    weights: LinearWeights
    attentive_a: Floats
    attention_n: Floats
    objective: tuple[float, ...]
    converged: bool

    def confusion_akl(self) -> Floats:
        """Everybody's confusion: pi_a I + (1 - pi_a) / K."""
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
) -> AttentiveFit:
    """Logistic regression f and the attentiveness pi of annotators from crowd labels, by EM.

    A label is, with probability pi_a, what the classifier says of the item, or any of K classes::

        p(y_n | x) = pi_a f_y(x_i) + (1 - pi_a) / K
        E:  z_n = pi_a f_y(x_i) / p(y_n | x)
        M:  pi_a = (sum_n z_n + pseudo_attentive) / (n_a + pseudo_attentive + pseudo_random)
            f: a few steps of Newton's up sum_n z_n log f_y(x_i) - l2/2 |W|^2

    The objective never falls::

        sum_n log p(y_n | x) + pseudo_attentive sum_a log pi_a + pseudo_random sum_a log(1 - pi_a)
            - l2/2 |W|^2 - intercept_l2/2 |b|^2

    It starts from the regression on all labels with pi = 1/2, and ends when a step gains less than
    `tol` per label. The pseudo-counts are a Beta(1 + pseudo_attentive, 1 + pseudo_random) prior.

    Source: Rodrigues, Pereira and Ribeiro 2013.
    """
    for name, pseudo in (("pseudo_attentive", pseudo_attentive), ("pseudo_random", pseudo_random)):
        require(0 <= pseudo < np.inf, name, "0 or more", pseudo)
    features_ij, ann = matched(features, annotations)
    regression = SoftmaxRegression(features_ij, ann.n_classes, l2=l2, intercept_l2=intercept_l2)
    least = tol * ann.n_annotations

    def step(state: _State) -> tuple[_State, float]:
        attention_n, target_ik, log_p = _attend(ann, state.point.log_class_ik, state.attentive_a)
        log_p += regression.log_prior(state.point)
        log_p += _log_beta(state.attentive_a, pseudo_attentive, pseudo_random)
        point, _ = regression.ascend(state.point, target_ik, max_steps=_STEPS, enough=0.01 * least)
        n_attended_a = np.bincount(ann.annotator, attention_n, minlength=ann.n_annotators)
        attentive_a = _shares(
            n_attended_a + pseudo_attentive,
            ann.labels_per_annotator + pseudo_attentive + pseudo_random,
        )
        return _State(point, attentive_a), log_p

    first, _ = regression.ascend(
        regression.at(), ann.label_counts(), max_steps=_STEPS_AT_FIRST, enough=0.01 * least
    )
    begin = _State(first, np.full(ann.n_annotators, 0.5))
    run = run_em(begin, step, max_iter=max_iter, tol=least)
    point, attentive_a = run.state.point, run.state.attentive_a
    attention_n, _, _ = _attend(ann, point.log_class_ik, attentive_a)
    weights = regression.weights(point)
    return AttentiveFit(weights, attentive_a, attention_n, run.objective, run.converged)


def _attend(
    annotations: Annotations, log_class_ik: Floats, attentive_a: Floats
) -> tuple[Floats, Floats, float]:
    """E-step: z_n, the attentive labels per item and class (i, k), and the log-likelihood."""
    ann, offsets = annotations, annotations.item_offsets
    attention_n, target_ik = np.empty(ann.n_annotations), np.zeros(log_class_ik.shape)

    def work(items: tuple[int, int]) -> float:
        return _attend_block(
            *items,
            offsets,
            ann.annotator,
            ann.label,
            log_class_ik,
            attentive_a,
            attention_n,
            target_ik,
        )

    parts = run_blocks(work, even_blocks(offsets, _MOST_BLOCKS))
    return attention_n, target_ik, sum(parts)


def _shares(part_a: AnyArray, whole_a: AnyArray) -> Floats:
    """Part by whole; one half where there is nothing."""
    half_a = np.full(len(part_a), 0.5)
    return np.asarray(np.divide(part_a, whole_a, out=half_a, where=whole_a > 0))


def _log_beta(attentive_a: Floats, ma_lr: float, random: float) -> float:
    """The log-prior of pi, up to a constant; a pseudo-count of 0 adds nothing."""
    log_yes = np.log(np.maximum(attentive_a, _TINY)).sum()
    log_no = np.log(np.maximum(1.0 - attentive_a, _TINY)).sum()
    return float(ma_lr * log_yes + random * log_no)


@kernel
def _attend_block(
    first: int,
    last: int,
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    log_class: Floats,
    ma_lr: Floats,
    attention: Floats,
    target: Floats,
) -> float:
    n_classes = log_class.shape[1]
    total = 0.0
    for i in range(first, last):
        for n in range(offsets[i], offsets[i + 1]):
            share = ma_lr[annotator[n]]
            said = share * np.exp(log_class[i, label[n]])
            either = max(said + (1.0 - share) / n_classes, _TINY)
            attention[n] = said / either
            target[i, label[n]] += attention[n]
            total += np.log(either)
    return total
