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
