"""Distances between learnt and true confusions, and properties of confusions."""

import numpy as np
from scipy.special import entr, rel_entr

from manyhands.core.arrays import Codes, Floats


def js_divergence(first: Floats, second: Floats) -> Floats:
    """Jensen-Shannon divergence of distributions along the last axis, divided by log 2: 0..1.

    >>> js_divergence(np.array([1.0, 0.0]), np.array([0.0, 1.0])).item()
    1.0
    """
    middle = (first + second) / 2
    total = rel_entr(first, middle).sum(axis=-1) + rel_entr(second, middle).sum(axis=-1)
    return np.asarray(total / (2 * np.log(2)))


def individual_js(learnt_akl: Floats, true_akl: Floats) -> float:
    """I-JS: the mean divergence of the annotators' rows from the true rows; 0 is perfect."""
    return float(js_divergence(learnt_akl, true_akl).mean())


def global_js(learnt_akl: Floats, counts_akl: Floats) -> float:
    """G-JS: the divergence of the crowd's learnt confusion from that of all labels together.

    `counts_akl` are the label counts by true class (`confusion_counts`). The crowd's confusion is
    the mean of the learnt ones, weighted by the number of labels of each annotator.
    """
    weight_a = counts_akl.sum(axis=(1, 2))
    learnt_kl = np.tensordot(weight_a / weight_a.sum(), learnt_akl, axes=1)
    return float(js_divergence(learnt_kl, normalize_counts(counts_akl.sum(axis=0))).mean())


def confusion_counts(
    annotator_n: Codes, truth_n: Codes, label_n: Codes, n_annotators: int, n_classes: int
) -> Floats:
    """Number of labels l that annotator a gave to items of true class k, shape (a, k, l)."""
    counts_akl = np.zeros((n_annotators, n_classes, n_classes))
    np.add.at(counts_akl, (annotator_n, truth_n, label_n), 1.0)
    return counts_akl


def normalize_counts(counts_akl: Floats) -> Floats:
    """Confusions from counts; a row without labels is uniform.

    >>> normalize_counts(np.array([[3.0, 1.0], [0.0, 0.0]])).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    total_ak1 = counts_akl.sum(axis=-1, keepdims=True)
    uniform = np.full_like(counts_akl, 1.0 / counts_akl.shape[-1])
    return np.asarray(np.divide(counts_akl, total_ak1, out=uniform, where=total_ak1 > 0))


def identity_similarity(confusion_kl: Floats) -> Floats:
    """1 - the mean divergence of the rows from the identity: 1 is an annotator without errors.

    >>> identity_similarity(np.eye(3)).item()
    1.0
    """
    divergence = js_divergence(
        confusion_kl, np.broadcast_to(np.eye(confusion_kl.shape[-1]), confusion_kl.shape)
    )
    return np.asarray(1.0 - divergence.mean(axis=-1))


def confusion_entropy(confusion_kl: Floats) -> Floats:
    """The mean entropy of the rows, divided by log K: 0 is deterministic, 1 is uniform.

    >>> confusion_entropy(np.full((2, 2), 0.5)).item()
    1.0
    """
    n_labels = confusion_kl.shape[-1]
    maximum = np.log(n_labels) if n_labels > 1 else 1.0
    return np.asarray(entr(confusion_kl).sum(axis=-1).mean(axis=-1) / maximum)
