"""Sums over the labels of each item and of each annotator."""

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats


def item_sums(annotations: Annotations, value_n: AnyArray) -> Floats:
    """Sums of a value over the labels of each item."""
    sums = np.bincount(annotations.item, weights=value_n, minlength=annotations.n_items)
    return sums.astype(np.float64, copy=False)


def annotator_sums(annotations: Annotations, value_n: AnyArray) -> Floats:
    """Sums of a value over the labels of each annotator."""
    code = annotations.annotator
    sums = np.bincount(code, weights=value_n, minlength=annotations.n_annotators)
    return sums.astype(np.float64, copy=False)


def agreement_of_numbers(annotations: Annotations, value_i: Floats, variance: float) -> Floats:
    """`Consensus.agreement` of numbers whose variance over all labels is known."""
    ann = annotations
    off_n = (ann.label - value_i[ann.item]) ** 2
    off_i = np.bincount(ann.item, weights=off_n, minlength=ann.n_items)
    with np.errstate(invalid="ignore"):
        mean_i = off_i / ann.labels_per_item
    if variance == 0:
        return np.where(np.isnan(mean_i), np.nan, 1.0)
    return np.clip(1.0 - mean_i / variance, 0.0, 1.0)
