"""How good a model is, told by labels of the crowd that it has not seen: no truth is needed.

Every criterion is a number of which more is better. Truth plays no part, so they may choose
epochs, settings and methods. `ranks` lets all of them decide together.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

import numpy as np

from manyhands.core.arrays import Codes, Floats
from manyhands.core.registry import Registry

RANKS = "ranks"
_MOST_LOG_ODDS = float(np.log(1000))  # a network is soon surer of itself than it should be


@dataclass(frozen=True)
class LabelPredictions:
    """Labels kept aside, and what a model that has not seen them says.

    `item` (i) are the codes of the items that have such labels. For every label n: `row`, the
    place of its item among them, and `label`, what was said. The model says `log_class_ik`, log
    p(k | x_i), and `log_label_nl`, log p(l | a_n, x_n) of every label the annotator could have
    given.
    """

    item: Codes
    row: Codes
    label: Codes
    log_class_ik: Floats
    log_label_nl: Floats

    @property
    def log_said_n(self) -> Floats:
        """Log p of the labels that were given."""
        return np.asarray(self.log_label_nl[np.arange(len(self.label)), self.label])

    @cached_property
    def hit_n(self) -> Floats:
        """1 where the label predicted for this annotator was given, a share of it in a tie."""
        return np.asarray(_top(self.log_label_nl)[np.arange(len(self.label)), self.label])

    @cached_property
    def votes_ik(self) -> Floats:
        """How many of an item's labels say each class."""
        n_items, n_classes = self.log_class_ik.shape
        cell = np.asarray(self.row, dtype=np.int64) * n_classes + self.label
        counts = np.bincount(cell, minlength=n_items * n_classes)
        return counts.reshape(n_items, n_classes).astype(np.float64)

    @cached_property
    def agreed_i(self) -> Floats:
        """1 where the most probable class is the majority; where several tie, their share."""
        return np.asarray((_top(self.log_class_ik) * _top(self.votes_ik)).sum(axis=1))


# For the examples below. Two people say 0 of the first item, and so does the model; one says 1 of
# the second, whose class the model does not know.
EXAMPLE = LabelPredictions(
    item=np.array([7, 9], dtype=np.int32),
    row=np.array([0, 0, 1], dtype=np.int32),
    label=np.array([0, 0, 1], dtype=np.int32),
    log_class_ik=np.log([[0.9, 0.1], [0.5, 0.5]]),
    log_label_nl=np.log([[0.8, 0.2], [0.7, 0.3], [0.55, 0.45]]),
)


def likelihood(held: LabelPredictions) -> float:
    """The mean log-probability of the labels: mean_n log p(y_n | a_n, x_n).

    >>> likelihood(EXAMPLE).__round__(3)
    -0.459
    """
    return float(held.log_said_n.mean())


def majority(held: LabelPredictions) -> float:
    """The share of items whose most probable class is the majority of their labels.

    mean_i [argmax_k p(k | x_i) = majority of i]; classes that tie share the item evenly.

    >>> majority(EXAMPLE)
    0.75
    """
    return float(held.agreed_i.mean())


def confidence(held: LabelPredictions) -> float:
    """The same share, each item weighted by how sure its majority is.

    The weight of an item with n labels, m of them for its majority, is (m + 1) / (n + K): one
    label alone is no certainty.

    >>> confidence(EXAMPLE).__round__(3)
    0.765
    """
    votes_ik = held.votes_ik
    weight_i = (votes_ik.max(axis=1) + 1.0) / (votes_ik.sum(axis=1) + votes_ik.shape[1])
    return float(np.average(held.agreed_i, weights=weight_i))


def log_odds(held: LabelPredictions) -> float:
    """The same share, each item weighted by how sure the model is of it.

    The weight is log p(first class) - log p(second class), at most log 1000; where the model is
    nowhere sure, all items weigh the same.

    >>> log_odds(EXAMPLE)
    1.0
    """
    n_classes = held.log_class_ik.shape[1]
    if n_classes < 2:
        return majority(held)
    two_ik = np.partition(held.log_class_ik, n_classes - 2, axis=1)[:, -2:]
    weight_i = np.minimum(two_ik[:, 1] - two_ik[:, 0], _MOST_LOG_ODDS)
    return float(np.average(held.agreed_i, weights=weight_i if weight_i.any() else None))


def annotator(held: LabelPredictions) -> float:
    """The share of labels that are the one the model predicts of this annotator.

    mean_n [argmax_l p(l | a_n, x_n) = y_n]; labels that tie share the prediction evenly.

    >>> annotator(EXAMPLE).__round__(3)
    0.667
    """
    return float(held.hit_n.mean())


CROWD_METRICS: Registry[Callable[[LabelPredictions], float]] = Registry(
    "criterion",
    {
        "likelihood": likelihood,
        "majority": majority,
        "confidence": confidence,
        "log-odds": log_odds,
        "annotator": annotator,
    },
)

Scores = Mapping[str, Floats]  # of every candidate, by criterion


def crowd_metrics(held: LabelPredictions) -> dict[str, float]:
    """All criteria of one model, by name."""
    return {name: criterion(held) for name, criterion in CROWD_METRICS.items()}


def rank_average(scores: Scores) -> Floats:
    """Every candidate's rank, 1 for the best, on average over criteria; ties share their ranks.

    >>> rank_average({"one": np.array([0.9, 0.8, 0.7]), "two": np.array([5.0, 6.0, 5.0])}).tolist()
    [1.75, 1.5, 2.75]
    """
    return np.asarray(np.mean([_ranks(each) for each in scores.values()], axis=0))


def _ranks(score: Floats) -> Floats:
    _, place, count = np.unique(-np.asarray(score), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[place])


def _by_ranks(scores: Scores) -> Floats:
    return -rank_average(scores)


# How the scores of some candidates make one number each, of which the largest is chosen.
CRITERIA: Registry[Callable[[Scores], Floats]] = Registry(
    "monitor", {**{name: itemgetter(name) for name in CROWD_METRICS}, RANKS: _by_ranks}
)


def _top(values: Floats) -> Floats:
    """Of every row 1 at its largest entry, in equal shares where several tie."""
    top = values == values.max(axis=1, keepdims=True)
    return np.asarray(top / top.sum(axis=1, keepdims=True))
