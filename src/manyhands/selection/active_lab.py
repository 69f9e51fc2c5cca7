"""ActiveLab: which items another label would help most, from a classifier and a crowd."""

from itertools import pairwise
from typing import Any

import numpy as np

from manyhands.aggregation.crowdlab import checked, crowdlab, majority_codes
from manyhands.annotations import Annotations, Labels
from manyhands.core.arrays import Floats
from manyhands.evaluation import apply_temperature

# Temperatures that the classifier of ActiveLab is calibrated with; the best one and its two
# neighbours are then searched in steps of a quarter.
_TEMPERATURES = (0.1, 0.2, 0.5, 0.8, 1.0, 2.0, 3.0, 5.0, 8.0)
_STEPS = 4
_TINY = np.finfo(np.float64).tiny
_LOG_TINY = float(np.log(_TINY))


def active_lab(
    annotations: Labels, probabilities: Any, *, temperature: float | None = None
) -> Floats:
    """ActiveLab's score of every item: the lower, the more another label would help.

    ::

        score_i = (q_i (w_M + sum_n w_a) + w / K) / (w_M + sum_n w_a + w)

    q_i is the quality of `crowdlab`, w the mean weight of an annotator: the score is the quality
    after one more label that says nothing. So items with few labels come first among those of equal
    quality. The classifier is first calibrated by a temperature, by default that under which the
    shares of labels are most probable. If no item has two labels, all weights are 1, and nothing is
    calibrated.

    Source: Goh and Mueller 2023.

    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, -1], [0, 0, 0]])
    >>> active_lab(ann, np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])).round(2).tolist()
    [0.86, 0.8, 0.74]
    """
    ann, model_ik = checked(annotations, probabilities)
    if (ann.labels_per_item > 1).any():
        if temperature is None:
            temperature = _best_temperature(ann, model_ik)
        found = crowdlab(ann, apply_temperature(model_ik, temperature))
        quality_i, weight_a, model_weight = (
            found.quality, found.annotator_weight, found.model_weight
        )  # fmt: skip
    else:
        codes_i = majority_codes(ann, model_ik)
        quality_i, model_weight = model_ik[np.arange(ann.n_items), codes_i], 1.0
        weight_a = np.ones(ann.n_annotators)
    weight_i = model_weight + np.bincount(ann.item, weight_a[ann.annotator], ann.n_items)
    more = float(weight_a.mean())
    return np.asarray((quality_i * weight_i + more / ann.n_classes) / (weight_i + more))


def _best_temperature(ann: Annotations, model_ik: Floats) -> float:
    """The temperature of the classifier under which the shares of labels are most probable."""
    labelled = ann.labels_per_item > 0
    share_ik = ann.label_counts()[labelled]
    share_ik /= share_ik.sum(axis=1, keepdims=True)
    row, said = np.nonzero(share_ik)  # a share of 0 does not count
    weight_n = share_ik[row, said] / len(share_ik)
    model_ik = model_ik[labelled]
    log_ik = np.where(model_ik > 0, np.log(np.maximum(model_ik, _TINY)), -np.inf)
    log_ik -= log_ik.max(axis=1, keepdims=True)
    log_n = log_ik[row, said]

    def loss(temperature: float) -> float:
        # p^(1/T) / sum_k p_k^(1/T); a probability of 0 counts as the smallest one.
        log_total_i = np.log(np.exp(log_ik / temperature).sum(axis=1))
        found_n = np.maximum(log_n / temperature - log_total_i[row], _LOG_TINY)
        return -float(weight_n @ found_n)

    best = int(np.argmin([loss(each) for each in _TEMPERATURES]))
    around = _TEMPERATURES[max(best - 1, 0) : best + 2]
    fine = [
        low + (high - low) * step / _STEPS
        for low, high in pairwise(around)
        for step in range(_STEPS)
    ] + [around[-1]]
    return fine[int(np.argmin([loss(each) for each in fine]))]
