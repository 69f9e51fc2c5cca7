"""Confusion matrices that a number describes: row = true class, column = label."""

import numpy as np

from manyhands.core.arrays import Floats
from manyhands.core.settings import require


def symmetric_confusions(accuracy_a: Floats, n_classes: int) -> Floats:
    """Confusions (a, k, l) with the accuracy on the diagonal and equal errors beside it.

    ::

        C[a, k, k] = accuracy_a,   C[a, k, l] = (1 - accuracy_a) / (K - 1)

    >>> symmetric_confusions(np.array([0.8]), 3)[0, 0].round(2).tolist()
    [0.8, 0.1, 0.1]
    """
    require(
        bool(np.all((accuracy_a >= 0) & (accuracy_a <= 1))), "accuracy_a", "in 0..1", accuracy_a
    )
    error_a = (1.0 - accuracy_a) / max(n_classes - 1, 1)
    confusion_akl = np.tile(error_a[:, None, None], (1, n_classes, n_classes))
    diagonal = np.arange(n_classes)
    confusion_akl[:, diagonal, diagonal] = accuracy_a[:, None] if n_classes > 1 else 1.0
    return confusion_akl
