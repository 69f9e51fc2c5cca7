"""Parameters of noise models whose confusions are nearest to given ones.

Nearest means the least sum_k KL(C[k] || confusion[k]) of every annotator. The solution has the
diagonal of C where there is a weight per class, and the column sums of C where there is a bias.
"""

import math

import numpy as np
import torch
from torch import Tensor

from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError

_MIN_PROBABILITY = 1e-6  # a probability of 0 would put a parameter at minus infinity
_ROUNDING = 1e-4  # how far the sum of a row may be from 1
_MAX_STEPS = 100
_TOLERANCE = 1e-8


def as_confusions(confusion_akl: Floats, n_annotators: int, n_classes: int) -> Tensor:
    """The confusions as a tensor of positive probabilities; raise if a row is no distribution."""
    confusion_akl = np.asarray(confusion_akl, dtype=np.float64)
    expected = (n_annotators, n_classes, n_classes)
    if confusion_akl.shape != expected:
        raise DataError(
            f"confusions of shape {confusion_akl.shape} where {n_annotators} annotators and "
            f"{n_classes} classes need {expected}: annotator, true class, label"
        )
    total_ak = confusion_akl.sum(axis=2)
    valid_ak = (np.abs(total_ak - 1.0) <= _ROUNDING) & (confusion_akl >= 0).all(axis=2)
    if not valid_ak.all():
        annotator, true_class = np.argwhere(~valid_ak)[0].tolist()
        raise DataError(
            f"row {true_class} of the confusion of annotator {annotator} is no distribution: "
            f"it sums to {total_ak[annotator, true_class]:.6g}, with "
            f"{confusion_akl[annotator, true_class].min():.6g} the least; give rows that are >= 0 "
            "and sum to 1"
        )
    positive = torch.from_numpy(confusion_akl).clamp_min(_MIN_PROBABILITY)
    return positive / positive.sum(dim=2, keepdim=True)


def diagonal_logit(accuracy: float, n_classes: int) -> float:
    """The logit that a softmax over it and K - 1 zeros turns into this probability.

    >>> torch.tensor([diagonal_logit(0.8, 3), 0.0, 0.0]).softmax(0)[0].item()  # doctest: +ELLIPSIS
    0.8...
    """
    return math.log(accuracy * max(n_classes - 1, 1) / (1 - accuracy))


def matrix_logits(confusion_kl: Tensor) -> Tensor:
    """W[l, k] = log C[k, l] - mean_l log C[k, l], so that softmax(W e_k) = C[k], shape (..., l, k).

    A constant added to a column of W adds the same to every logit of W f and changes no
    probability. With columns of mean zero W has the smallest norm.
    """
    log_lk = confusion_kl.log().transpose(-1, -2)
    return log_lk - log_lk.mean(dim=-2, keepdim=True)


def fit_weights(confusion_akl: Tensor, bias_al: Tensor | None = None) -> Tensor:
    """w_k with softmax(w * e_k + b)_k = C[k, k], shape (a, k).

    w_k = log C[k, k] - log sum_(l != k) C[k, l] - b_k + log sum_(l != k) exp b_l
    """
    if bias_al is None:
        bias_al = torch.zeros_like(confusion_akl[:, 0])
    own = torch.eye(confusion_akl.shape[2], dtype=torch.bool)
    wrong_ak = confusion_akl.masked_fill(own, 0.0).sum(dim=2)
    right_ak = confusion_akl.diagonal(dim1=1, dim2=2)
    others_akl = bias_al.unsqueeze(1).expand_as(confusion_akl).masked_fill(own, -math.inf)
    return right_ak.log() - wrong_ak.log() - bias_al + others_akl.logsumexp(dim=2)


def fit_bias(confusion_akl: Tensor) -> Tensor:
    """The b of softmax(e_k + b) nearest to C, shape (a, l); the column sums are those of C."""
    return _match_columns(confusion_akl, torch.eye(confusion_akl.shape[2]).to(confusion_akl))


def fit_weights_and_bias(confusion_akl: Tensor) -> Tensor:
    """The w and b of softmax(w * e_k + b) nearest to C, shape (a, 2, k).

    For any b the weights make the diagonal exact. b distributes the errors, so that the sums of
    the columns without the diagonal are those of C.
    """
    own = torch.eye(confusion_akl.shape[2], dtype=torch.bool)
    never = torch.zeros(own.shape).to(confusion_akl).masked_fill(own, -math.inf)
    bias_al = _match_columns(confusion_akl.masked_fill(own, 0.0), never)
    return torch.stack([fit_weights(confusion_akl, bias_al), bias_al], dim=1)


def _match_columns(mass_akl: Tensor, base_kl: Tensor) -> Tensor:
    """The b of mean zero with sum_k mass_k softmax(base_k + b) = sum_k mass[k].

    Iterative scaling, b_l <- b_l + log(wanted_l / now_l), never raises the divergence.
    """
    row_ak1, wanted_al = mass_akl.sum(dim=2, keepdim=True), mass_akl.sum(dim=1)
    bias_al = torch.zeros_like(wanted_al)
    for _ in range(_MAX_STEPS):
        now_akl = row_ak1 * (base_kl + bias_al.unsqueeze(1)).softmax(dim=2)
        step_al = wanted_al.log() - now_akl.sum(dim=1).log()
        bias_al = bias_al + step_al
        if step_al.abs().max() < _TOLERANCE:
            break
    return bias_al - bias_al.mean(dim=1, keepdim=True)
