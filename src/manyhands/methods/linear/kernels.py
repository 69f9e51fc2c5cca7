"""The compiled loops of the linear methods."""

import numpy as np

from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.kernels import kernel

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
