"""Soft scores: predicted distributions against those of human labels, and scores per annotator.

People may disagree for good reasons, so the share of annotators who gave each label is a truth of
its own. All scores are means over items; 0 is best, apart from the cross-entropy, whose best value
is the mean entropy of the human distributions.
"""

from dataclasses import dataclass

import numpy as np

from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.evaluation.confusions import js_divergence
from manyhands.evaluation.crowd_metrics import top_shares

_TINY = float(np.finfo(np.float64).tiny)
_TOLERANCE = 1e-3  # published shares are rounded to three digits


def soft_cross_entropy(
    distribution_ik: Floats, probabilities_ik: Floats, *, eps: float = _TINY
) -> float:
    """Mean cross-entropy of probabilities to the label distribution of a crowd, in nats.

    ::

        - mean_i sum_k distribution_ik log max(probability_ik, eps)

    The logarithm is natural. `eps` replaces smaller probabilities; it is the smallest positive
    float by default, and about 1e-9 in the scorer of the shared task LeWiDi 2023.

    >>> round(soft_cross_entropy(np.array([[0.5, 0.5]]), np.array([[0.5, 0.5]])), 4)
    0.6931
    """
    require(0 < eps < 1, "eps", "above 0 and below 1", eps)
    target_ik, predicted_ik = _matched(distribution_ik, probabilities_ik)
    log_ik = np.log(np.maximum(predicted_ik, eps))
    return float(-(target_ik * log_ik).sum(axis=1).mean())


def manhattan_distance(distribution_ik: Floats, probabilities_ik: Floats) -> float:
    """Mean of sum_k `abs(distribution_ik - probability_ik)`, the sum over the classes: 0..2.

    >>> manhattan_distance(np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]]))
    1.0
    """
    target_ik, predicted_ik = _matched(distribution_ik, probabilities_ik)
    return float(np.abs(target_ik - predicted_ik).sum(axis=1).mean())


def jensen_shannon_divergence(distribution_ik: Floats, probabilities_ik: Floats) -> float:
    """Mean Jensen-Shannon divergence with logarithms of base 2: 0..1.

    >>> jensen_shannon_divergence(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
    1.0
    """
    return float(_divergence(distribution_ik, probabilities_ik).mean())


def jensen_shannon_distance(distribution_ik: Floats, probabilities_ik: Floats) -> float:
    """Mean Jensen-Shannon distance, the square root of the divergence of base 2 per item: 0..1.

    >>> round(jensen_shannon_distance(np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]])), 4)
    0.5579
    """
    return float(np.sqrt(_divergence(distribution_ik, probabilities_ik)).mean())


def wasserstein_distance(
    distribution_ik: Floats, probabilities_ik: Floats, *, values: Floats | None = None
) -> float:
    """Mean Wasserstein distance (earth mover's) of ordered labels, such as ratings.

    ::

        mean_i sum_k abs(F_ik - G_ik) (value_{k+1} - value_k)

    F and G are cumulative distributions. The labels are `values`, in increasing order; without
    them neighbours have the distance 1. The largest distance is that of the first and last label.

    >>> wasserstein_distance(np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 1.0]]))
    2.0
    """
    target_ik, predicted_ik = _matched(distribution_ik, probabilities_ik)
    n_classes = target_ik.shape[1]
    value_k = np.arange(n_classes) if values is None else np.asarray(values, dtype=np.float64)
    if value_k.shape != (n_classes,):
        raise DataError(f"{len(value_k)} values for {n_classes} classes; give one per class")
    step_k = np.diff(value_k)
    if not (np.isfinite(value_k).all() and (step_k > 0).all()):
        raise DataError("the values of ordered labels must be finite and increase; sort them")
    gap_ik = np.abs(np.cumsum(target_ik - predicted_ik, axis=1)[:, :-1])
    return float((gap_ik * step_k).sum(axis=1).mean())


@dataclass(frozen=True)
class AnnotatorScores:
    """How well the labels of each annotator are predicted; NaN for one without labels.

    `n_labels`, `accuracy` and `distribution_error` have a number per annotator.
    """

    n_labels: AnyArray
    accuracy: Floats
    distribution_error: Floats

    @property
    def mean_accuracy(self) -> float:
        """The mean over the annotators with labels; 1 minus it is their error rate."""
        return float(self.accuracy[self.n_labels > 0].mean())

    @property
    def mean_distribution_error(self) -> float:
        """The mean over the annotators with labels."""
        return float(self.distribution_error[self.n_labels > 0].mean())


def annotator_scores(
    annotator_n: Codes, label_n: Codes, probabilities_nl: Floats, *, n_annotators: int | None = None
) -> AnnotatorScores:
    """Score the predicted probabilities of each annotator's labels.

    Label n is the class code `label_n[n]`, given by the annotator with code `annotator_n[n]`;
    `probabilities_nl` are the probabilities that this annotator gives this item each label.

    The accuracy is the share of an annotator's labels that are the most probable ones (m tied
    labels count 1 / m). The distribution error is the mean absolute error of the annotator's
    label distribution: mean_l `abs(mean_n probability_nl - share of label l)`.

    >>> scores = annotator_scores([0, 0, 1], [0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> scores.accuracy.tolist(), scores.distribution_error.round(2).tolist()
    ([0.5, 1.0], [0.25, 0.2])
    """
    predicted_nl = check_distributions(probabilities_nl, "probabilities")
    annotator_n, label_n = np.asarray(annotator_n), np.asarray(label_n)
    if not annotator_n.shape == label_n.shape == predicted_nl.shape[:1]:
        raise DataError(
            f"{len(annotator_n)} annotators, {len(label_n)} labels and {len(predicted_nl)} rows of "
            "probabilities; give one of each per label"
        )
    n_classes = predicted_nl.shape[1]
    if label_n.min() < 0 or label_n.max() >= n_classes:
        raise DataError(f"labels must be class codes 0..{n_classes - 1}")
    size = int(annotator_n.max()) + 1 if n_annotators is None else n_annotators
    if annotator_n.min() < 0 or annotator_n.max() >= size:
        raise DataError(f"annotators must be codes 0..{size - 1}")
    count_a = np.bincount(annotator_n, minlength=size)
    with np.errstate(invalid="ignore"):  # 0 / 0 of annotators without labels is NaN

        def mean_a(value_n: Floats) -> Floats:
            return np.asarray(np.bincount(annotator_n, value_n, minlength=size) / count_a)

        correct_n = top_shares(predicted_nl)[np.arange(len(label_n)), label_n]
        error_la = [
            np.abs(mean_a(predicted_nl[:, code] - (label_n == code))) for code in range(n_classes)
        ]
        return AnnotatorScores(count_a, mean_a(correct_n), np.mean(error_la, axis=0))


def check_distributions(distribution_ik: Floats, what: str) -> Floats:
    """Distributions of items (i, k) as floats; rows must be 0 or more and sum to 1.

    >>> check_distributions([[0.5, 0.6]], "shares")
    Traceback (most recent call last):
    ...
    manyhands.core.errors.DataError: row 0 of the shares sums to 1.1; divide each row by its sum
    """
    rows_ik = np.asarray(distribution_ik, dtype=np.float64)
    if rows_ik.ndim != 2 or not rows_ik.size:
        raise DataError(
            f"the {what} must have a row per item and a column per class; got shape {rows_ik.shape}"
        )
    valid_i = (rows_ik >= 0).all(axis=1) & np.isfinite(rows_ik).all(axis=1)
    if not valid_i.all():
        row = int(np.argmin(valid_i))
        raise DataError(f"row {row} of the {what} must be finite and 0 or more; got {rows_ik[row]}")
    total_i = rows_ik.sum(axis=1)
    off_i = np.abs(total_i - 1)
    if (off_i > _TOLERANCE).any():
        row = int(np.argmax(off_i > _TOLERANCE))
        raise DataError(
            f"row {row} of the {what} sums to {total_i[row]:.6g}; divide each row by its sum"
        )
    return rows_ik


def _matched(distribution_ik: Floats, probabilities_ik: Floats) -> tuple[Floats, Floats]:
    """Both as distributions of the same items over the same classes."""
    target_ik = check_distributions(distribution_ik, "label distributions")
    predicted_ik = check_distributions(probabilities_ik, "probabilities")
    if target_ik.shape != predicted_ik.shape:
        raise DataError(
            f"label distributions of shape {target_ik.shape} and probabilities of shape "
            f"{predicted_ik.shape}; give both for the same items and classes"
        )
    return target_ik, predicted_ik


def _divergence(distribution_ik: Floats, probabilities_ik: Floats) -> Floats:
    # rounding may leave a divergence of equal distributions just below 0
    return np.clip(js_divergence(*_matched(distribution_ik, probabilities_ik)), 0.0, 1.0)
