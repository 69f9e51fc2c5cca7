"""Scores of a model on validation labels of the crowd; no truth is needed.

A *crowd metric* is one number of one model; higher is better. `CROWD_METRICS` lists them. They use
no truth, so they can select epochs, settings and methods.

A *criterion* compares several candidates (epochs or methods): it turns the crowd metrics of all
candidates into one score each, and the candidate with the highest score is selected. `CRITERIA`
has every single crowd metric, and `ranks`, the mean rank over all crowd metrics. The setting
`monitor` names one of `CRITERIA`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

import numpy as np

from manyhands.core.arrays import Codes, Floats
from manyhands.core.settings import Registry

RANKS = "ranks"
_MAX_LOG_ODDS = float(np.log(1000))  # networks tend to be overconfident


@dataclass(frozen=True)
class LabelPredictions:
    """Validation labels, and the predictions of a model that was not trained on them.

    `item` (i) are the codes of the items with validation labels. Label n is the class `label[n]`
    of the item `item[row[n]]`. The model predicts `log_class_ik`, log p(k | x_i), and
    `log_label_nl`, log p(l | a_n, x_n) for each label l that annotator a_n could give.
    """

    item: Codes
    row: Codes
    label: Codes
    log_class_ik: Floats
    log_label_nl: Floats

    @property
    def log_likelihood_n(self) -> Floats:
        """Log-probability of each validation label."""
        return np.asarray(self.log_label_nl[np.arange(len(self.label)), self.label])

    @cached_property
    def correct_n(self) -> Floats:
        """1 if the annotator gave the predicted label, 1 / m if m predicted labels tie, else 0."""
        return np.asarray(top_shares(self.log_label_nl)[np.arange(len(self.label)), self.label])

    @cached_property
    def label_counts_ik(self) -> Floats:
        """Number of validation labels of each class that each item has."""
        n_items, n_classes = self.log_class_ik.shape
        cell = np.asarray(self.row, dtype=np.int64) * n_classes + self.label
        counts = np.bincount(cell, minlength=n_items * n_classes)
        return counts.reshape(n_items, n_classes).astype(np.float64)

    @cached_property
    def agreement_i(self) -> Floats:
        """1 if the most probable class is the majority label, else 0; ties count in part."""
        return np.asarray(
            (top_shares(self.log_class_ik) * top_shares(self.label_counts_ik)).sum(axis=1)
        )


# For the examples below. Two annotators label the first item 0, and the model predicts 0. One
# annotator labels the second item 1; both classes are equally probable for the model.
EXAMPLE = LabelPredictions(
    item=np.array([7, 9], dtype=np.int32),
    row=np.array([0, 0, 1], dtype=np.int32),
    label=np.array([0, 0, 1], dtype=np.int32),
    log_class_ik=np.log([[0.9, 0.1], [0.5, 0.5]]),
    log_label_nl=np.log([[0.8, 0.2], [0.7, 0.3], [0.55, 0.45]]),
)


def likelihood(predictions: LabelPredictions) -> float:
    """The mean log-probability of the labels: mean_n log p(y_n | a_n, x_n).

    >>> likelihood(EXAMPLE).__round__(3)
    -0.459
    """
    return float(predictions.log_likelihood_n.mean())


def majority(predictions: LabelPredictions) -> float:
    """The share of items whose most probable class is the majority label.

    mean_i [argmax_k p(k | x_i) = majority of i]; tied classes share the item equally.

    >>> majority(EXAMPLE)
    0.75
    """
    return float(predictions.agreement_i.mean())


def confidence(predictions: LabelPredictions) -> float:
    """`majority`, with each item weighted by the confidence of its majority label.

    The weight of an item with n labels, m of them of its majority class, is (m + 1) / (n + K).

    >>> confidence(EXAMPLE).__round__(3)
    0.765
    """
    counts_ik = predictions.label_counts_ik
    weight_i = (counts_ik.max(axis=1) + 1.0) / (counts_ik.sum(axis=1) + counts_ik.shape[1])
    return float(np.average(predictions.agreement_i, weights=weight_i))


def log_odds(predictions: LabelPredictions) -> float:
    """`majority`, with each item weighted by the confidence of the model.

    The weight is log p(first class) - log p(second class), at most log 1000. If all weights are 0,
    the items have equal weights.

    >>> log_odds(EXAMPLE)
    1.0
    """
    n_classes = predictions.log_class_ik.shape[1]
    if n_classes < 2:
        return majority(predictions)
    two_ik = np.partition(predictions.log_class_ik, n_classes - 2, axis=1)[:, -2:]
    weight_i = np.minimum(two_ik[:, 1] - two_ik[:, 0], _MAX_LOG_ODDS)
    return float(np.average(predictions.agreement_i, weights=weight_i if weight_i.any() else None))


def annotator(predictions: LabelPredictions) -> float:
    """The share of labels that the model predicts for the annotator.

    mean_n [argmax_l p(l | a_n, x_n) = y_n]; tied labels share the prediction equally.

    >>> annotator(EXAMPLE).__round__(3)
    0.667
    """
    return float(predictions.correct_n.mean())


CROWD_METRICS: Registry[Callable[[LabelPredictions], float]] = Registry(
    "crowd metric",
    {
        "likelihood": likelihood,
        "majority": majority,
        "confidence": confidence,
        "log-odds": log_odds,
        "annotator": annotator,
    },
)

Scores = Mapping[str, Floats]  # crowd metrics by name, each with one number per candidate


def crowd_metrics(predictions: LabelPredictions) -> dict[str, float]:
    """All crowd metrics of one model, by name."""
    return {name: metric(predictions) for name, metric in CROWD_METRICS.items()}


def rank_average(scores: Scores) -> Floats:
    """The mean rank of each candidate over the crowd metrics; 1 is best, ties share their ranks.

    >>> rank_average({"one": np.array([0.9, 0.8, 0.7]), "two": np.array([5.0, 6.0, 5.0])}).tolist()
    [1.75, 1.5, 2.75]
    """
    return np.asarray(np.mean([_ranks(each) for each in scores.values()], axis=0))


def _ranks(score: Floats) -> Floats:
    _, inverse, count = np.unique(-np.asarray(score), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[inverse])


# One score per candidate from the crowd metrics of all candidates; the highest is selected.
CRITERIA: Registry[Callable[[Scores], Floats]] = Registry(
    "criterion",
    {
        **{name: itemgetter(name) for name in CROWD_METRICS},
        RANKS: lambda scores: -rank_average(scores),
    },
)


def top_shares(values: Floats) -> Floats:
    """1 at the largest entry of each row; tied entries have equal shares that sum to 1."""
    top = values == values.max(axis=1, keepdims=True)
    return np.asarray(top / top.sum(axis=1, keepdims=True))
