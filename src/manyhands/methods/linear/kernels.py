"""The compiled loops of the linear methods."""

import numpy as np

from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.kernels import kernel

TINY = 1e-300  # keeps logarithms finite
_ROWS = 64  # labels of an annotator that are multiplied at once


@kernel
def log_softmax(score_ik: Floats) -> Floats:
    """Turn scores into log-probabilities, in place."""
    for i in range(score_ik.shape[0]):
        row = score_ik[i]
        top = row[0]
        for k in range(1, len(row)):
            top = max(top, row[k])
        total = 0.0
        for k in range(len(row)):
            total += np.exp(row[k] - top)
        shift = top + np.log(total)
        for k in range(len(row)):
            row[k] -= shift
    return score_ik


@kernel
def residuals(target_ik: Floats, log_class_ik: Floats) -> Floats:
    """t_ik - t_i f_ik, the gradient of sum_k t_ik log f_ik by the logits."""
    residual_ik = np.empty(target_ik.shape)
    for i in range(target_ik.shape[0]):
        total = 0.0
        for k in range(target_ik.shape[1]):
            total += target_ik[i, k]
        for k in range(target_ik.shape[1]):
            residual_ik[i, k] = target_ik[i, k] - total * np.exp(log_class_ik[i, k])
    return residual_ik


@kernel
def expect_attention(
    first: int,
    last: int,
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    log_class: Floats,
    attentive: Floats,
    attention: Floats,
    target: Floats,
) -> float:
    """E-step of MA-LR for items `first` up to `last`; returns their log-likelihood.

    Fills `attention` with z_n and adds z_n to `target[i, y_n]`.
    """
    n_classes = log_class.shape[1]
    total = 0.0
    for i in range(first, last):
        for n in range(offsets[i], offsets[i + 1]):
            share = attentive[annotator[n]]
            attended = share * np.exp(log_class[i, label[n]])
            either = max(attended + (1.0 - share) / n_classes, TINY)
            attention[n] = attended / either
            target[i, label[n]] += attention[n]
            total += np.log(either)
    return total


@kernel
def personal_pass(
    first: int,
    last: int,
    at_point: bool,
    offsets: Offsets,
    item: Codes,
    label: Codes,
    design: Floats,
    basis: Floats,
    common: Floats,
    deviation: Floats,
    scale: Floats,
    classes: Floats,
    gradient: Floats,
) -> float:
    """One pass over the labels of annotators `first` up to `last`; returns their loss.

    With `at_point`, the weights are a point: `gradient` becomes the gradient of the loss there,
    and `classes` the class probabilities. Without it, the weights are a direction: `gradient`
    becomes the change of the gradient along it, at the point that `classes` belongs to.
    """
    n_contrasts, n_features = common.shape
    own, rows = np.empty(common.shape), np.empty((_ROWS, n_features))
    contrasts = np.empty((_ROWS, n_contrasts))
    loss = 0.0
    for a in range(first, last):
        gradient[a] = 0.0
        for c in range(n_contrasts):
            for j in range(n_features):
                own[c, j] = common[c, j] + deviation[a, c, j] * scale[j]
        for begin in range(offsets[a], offsets[a + 1], _ROWS):
            count = min(_ROWS, offsets[a + 1] - begin)
            some, contrast = rows[:count], contrasts[:count]
            for r in range(count):
                some[r] = design[item[begin + r]]
            np.dot(some, own.T, contrast)
            for r in range(count):
                n = begin + r
                if at_point:
                    loss += _label_loss(contrast[r], label[n], basis, classes[n])
                else:
                    _gradient_change(contrast[r], basis, classes[n])
            gradient[a] += np.dot(contrast.T, some)
    return loss


@kernel
def _label_loss(contrast: Floats, label: int, basis: Floats, classes: Floats) -> float:
    """-log f_label; `contrast` becomes its gradient, `classes` becomes f."""
    n_classes, n_contrasts = basis.shape
    top = -np.inf
    for k in range(n_classes):
        classes[k] = 0.0
        for c in range(n_contrasts):
            classes[k] += basis[k, c] * contrast[c]
        top = max(top, classes[k])
    logit, total = classes[label], 0.0
    for k in range(n_classes):
        classes[k] = np.exp(classes[k] - top)
        total += classes[k]
    contrast[:] = 0.0
    for k in range(n_classes):
        classes[k] /= total
        residual = classes[k] - (1.0 if k == label else 0.0)
        for c in range(n_contrasts):
            contrast[c] += basis[k, c] * residual
    return float(top + np.log(total) - logit)


@kernel
def _gradient_change(contrast: Floats, basis: Floats, classes: Floats) -> None:
    """The contrasts of a direction become the change of the gradient along it."""
    n_classes, n_contrasts = basis.shape
    change = np.empty(n_classes)
    mean = 0.0
    for k in range(n_classes):
        change[k] = 0.0
        for c in range(n_contrasts):
            change[k] += basis[k, c] * contrast[c]
        mean += classes[k] * change[k]
    contrast[:] = 0.0
    for k in range(n_classes):
        for c in range(n_contrasts):
            contrast[c] += basis[k, c] * classes[k] * (change[k] - mean)
