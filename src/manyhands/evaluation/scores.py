"""Numbers from arrays: how far a consensus is from the truth."""

import numpy as np
from scipy import special

from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.settings import require_choice

LEVEL = 0.95  # of every interval


def accuracy(truth: AnyArray, said: AnyArray) -> float:
    """The share of labels that equal the truth.

    >>> accuracy(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))
    0.75
    """
    return float(np.mean(np.asarray(truth) == np.asarray(said)))


def accuracy_interval(n_right: int, n_items: int) -> tuple[float, float]:
    """The Wilson 95 % interval of a share.

    >>> [round(end, 3) for end in accuracy_interval(9, 10)]
    [0.596, 0.982]
    """
    z = float(special.ndtri((1 + LEVEL) / 2))
    share = n_right / n_items
    centre = share + z * z / (2 * n_items)
    reach = z * np.sqrt(share * (1 - share) / n_items + z * z / (4 * n_items**2))
    below = 1 + z * z / n_items
    return float((centre - reach) / below), float((centre + reach) / below)


def log_loss(truth_code: Codes, probabilities_ik: Floats) -> float:
    """The mean of -log p(truth); a truth held impossible costs what the smallest float does."""
    tiny = np.finfo(np.float64).tiny
    p_i = probabilities_ik[np.arange(len(truth_code)), truth_code]
    return float(-np.log(np.maximum(p_i, tiny)).mean())


def brier(truth_code: Codes, probabilities_ik: Floats) -> float:
    """The mean squared distance of the probabilities from certainty on the truth.

    >>> brier(np.array([0]), np.array([[0.5, 0.5]]))
    0.5
    """
    certain_ik = np.zeros_like(probabilities_ik)
    certain_ik[np.arange(len(truth_code)), truth_code] = 1.0
    return float(((probabilities_ik - certain_ik) ** 2).sum(axis=1).mean())


def mean_absolute_error(truth: Floats, said: Floats) -> float:
    """The mean distance from the truth."""
    return float(np.abs(np.asarray(truth) - np.asarray(said)).mean())


def root_mean_squared_error(truth: Floats, said: Floats) -> float:
    """The root of the mean squared distance from the truth."""
    return float(np.sqrt(((np.asarray(truth) - np.asarray(said)) ** 2).mean()))


def f1(truth: AnyArray, said: AnyArray, *, average: str = "macro") -> float:
    """F1 over the classes that occur: `macro` weighs classes equally, `micro` items.

    >>> round(f1(np.array([0, 0, 1]), np.array([0, 1, 1])), 4)
    0.6667
    """
    require_choice("average", average, ("macro", "micro"))
    truth, said = np.asarray(truth), np.asarray(said)
    if truth.dtype.kind not in "biuf" or said.dtype.kind not in "biuf":
        truth, said = truth.astype(str), said.astype(str)
    names = np.unique(np.concatenate([truth, said]))
    is_true, is_said = truth[:, None] == names, said[:, None] == names
    hits_k = (is_true & is_said).sum(axis=0)
    shown_k = is_true.sum(axis=0) + is_said.sum(axis=0)
    if average == "micro":
        return float(2 * hits_k.sum() / shown_k.sum())
    return float((2 * hits_k / shown_k).mean())


def soft_cross_entropy(shares_ik: Floats, probabilities_ik: Floats) -> float:
    """Mean cross-entropy of probabilities against the distribution of the crowd's labels.

    >>> round(soft_cross_entropy(np.array([[0.5, 0.5]]), np.array([[0.5, 0.5]])), 4)
    0.6931
    """
    tiny = np.finfo(np.float64).tiny
    return float(-(shares_ik * np.log(np.maximum(probabilities_ik, tiny))).sum(axis=1).mean())
