"""One number for each annotator, from a number for each of their labels."""

import numpy as np

from manyhands.core.arrays import AnyArray, Floats
from manyhands.selection import Trial
from manyhands.selection.compare import UNKNOWN


def accuracies_of_annotators(trial: Trial) -> Floats:
    """The share of each annotator's labels that are right, where the truth is known.

    Somebody of whom nothing is known has no number.
    """
    assert trial.truth is not None
    ann = trial.annotations
    truth_n = trial.truth[ann.item]
    right_n = np.where(truth_n == UNKNOWN, np.nan, truth_n == ann.label)
    return means_of_annotators(right_n, ann.annotator, ann.n_annotators)


def biases_of_annotators(trial: Trial) -> Floats:
    """The mean of label minus truth of each annotator, where labels are numbers."""
    assert trial.truth is not None
    ann = trial.annotations
    above_n = ann.label - trial.truth[ann.item]
    return means_of_annotators(above_n, ann.annotator, ann.n_annotators)


def means_of_annotators(value_n: Floats, annotator_n: AnyArray, n_annotators: int) -> Floats:
    """The mean of the values that are numbers; not a number where an annotator has none.

    >>> means_of_annotators(np.array([1.0, 0.0, np.nan]), np.array([0, 0, 1]), 2).tolist()
    [0.5, nan]
    """
    there = np.isfinite(value_n)
    total_a = np.bincount(annotator_n[there], value_n[there], minlength=n_annotators)
    count_a = np.bincount(annotator_n[there], minlength=n_annotators)
    nothing = np.full(n_annotators, np.nan)
    return np.asarray(np.divide(total_a, count_a, out=nothing, where=count_a > 0))
