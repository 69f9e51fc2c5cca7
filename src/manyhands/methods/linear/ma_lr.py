"""MA-LR: an annotator either attends to the item or labels at random."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.aggregation.kernels.confusion_loops import TINY
from manyhands.aggregation.sums import annotator_sums
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.settings import require
from manyhands.methods.base import About, Method, Paper
from manyhands.methods.linear.base import LinearFit, LinearMethod, check_features, random_confusions
from manyhands.methods.linear.logistic import SoftmaxRegression, run_regression_em


@dataclass(frozen=True)
class MaLRFit(LinearFit):
    """The fit, and the attentiveness of the annotators.

    `attentive_a` is the probability that annotator a attends, `attention_n` the probability that
    label n, in the order of the annotations, was given with attention.
    """

    attentive_a: Floats
    attention_n: Floats


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
    whole_a = ann.labels_per_annotator + pseudo_attentive + pseudo_random

    def expect(log_class_ik: Floats, attentive_a: Floats) -> tuple[Floats, Floats, float]:
        attention_n, target_ik, log_p = _expect(ann, log_class_ik, attentive_a)
        log_p += _log_beta_prior(attentive_a, pseudo_attentive, pseudo_random)
        attended_a = annotator_sums(ann, attention_n)
        half_a = np.full(ann.n_annotators, 0.5)  # where the whole is 0
        part_a = attended_a + pseudo_attentive
        return target_ik, np.divide(part_a, whole_a, out=half_a, where=whole_a > 0), log_p

    run = run_regression_em(
        regression,
        expect,
        ann.label_counts(),
        np.full(ann.n_annotators, 0.5),
        max_iter=max_iter,
        min_gain=tol * ann.n_annotations,
    )
    point, attentive_a = run.state
    attention_n, _, _ = _expect(ann, point.log_class_ik, attentive_a)
    return MaLRFit(
        regression.weights(point),
        random_confusions(attentive_a, ann.n_classes),
        run.objective,
        run.converged,
        attentive_a,
        attention_n,
    )


def _expect(
    annotations: Annotations, log_class_ik: Floats, attentive_a: Floats
) -> tuple[Floats, Floats, float]:
    """E-step: z_n, the sums of z_n per item and class (i, k), and the log-likelihood."""
    ann, n_classes = annotations, annotations.n_classes
    attentive_n = attentive_a[ann.annotator]
    attended_n = attentive_n * np.exp(log_class_ik[ann.item, ann.label])
    either_n = np.maximum(attended_n + (1.0 - attentive_n) / n_classes, TINY)
    attention_n = attended_n / either_n
    cell_n = ann.item.astype(np.int64) * n_classes + ann.label
    sums = np.bincount(cell_n, weights=attention_n, minlength=log_class_ik.size)
    target_ik = sums.astype(np.float64, copy=False).reshape(log_class_ik.shape)
    return attention_n, target_ik, float(np.log(either_n).sum())


def _log_beta_prior(attentive_a: Floats, pseudo_attentive: float, pseudo_random: float) -> float:
    """The log-prior of pi, up to a constant; a pseudo-count of 0 adds nothing."""
    log_yes = np.log(np.maximum(attentive_a, TINY)).sum()
    log_no = np.log(np.maximum(1.0 - attentive_a, TINY)).sum()
    return float(pseudo_attentive * log_yes + pseudo_random * log_no)


@dataclass(frozen=True)
class MaLR(LinearMethod):
    """Logistic regression and attentiveness by EM; `settings` are those of `fit_ma_lr`."""

    solve = staticmethod(fit_ma_lr)


ROWS: dict[str, Method] = {
    "ma-lr": MaLR(
        paper=Paper(preset="p1/sentiment"),
        about=About(
            source="Rodrigues, Pereira and Ribeiro 2013",
            equation="P(y | a, x) = pi_a f_y + (1 - pi_a) / K",
            cost="a step of the regression + K per label",
            when="some label at random and the rest are good",
        ),
    ),
}
