"""Behaviours of simulated annotators: one confusion each, row = true class, column = label."""

import numpy as np

from manyhands.core.arrays import AnyArray, Floats, symmetric_confusions
from manyhands.core.settings import require


def honest(accuracy_a: Floats, n_classes: int) -> Floats:
    """Annotators with these accuracies; all wrong labels are equally probable.

    >>> honest(np.array([0.8]), 3)[0, 0].round(2).tolist()
    [0.8, 0.1, 0.1]
    """
    return symmetric_confusions(accuracy_a, n_classes)


def confused(
    accuracy_a: Floats, n_classes: int, concentration: float, rng: np.random.Generator
) -> Floats:
    """Annotators with these accuracies; the wrong labels of each have their own probabilities.

    The off-diagonal entries of a row follow a Dirichlet distribution. With a small concentration,
    most errors of a class have the same label.
    """
    require(concentration > 0, "concentration", "> 0", concentration)
    confusion_akl = honest(accuracy_a, n_classes)
    if n_classes < 3:
        return confusion_akl
    shape = (len(accuracy_a), n_classes)
    error_akl = rng.dirichlet(np.full(n_classes - 1, concentration), size=shape)
    off = ~np.eye(n_classes, dtype=bool)
    confusion_akl[:, off] = (error_akl * (1.0 - accuracy_a)[:, None, None]).reshape(
        len(accuracy_a), -1
    )
    return confusion_akl


def random_spammers(n_annotators: int, n_classes: int) -> Floats:
    """Annotators whose labels are random: all classes are equally probable."""
    return np.full((n_annotators, n_classes, n_classes), 1.0 / n_classes)


def constant_spammers(class_a: AnyArray, n_classes: int) -> Floats:
    """Annotators who always give the same label."""
    return np.tile(np.eye(n_classes)[class_a][:, None], (1, n_classes, 1))


def adversaries(accuracy_a: Floats, n_classes: int) -> Floats:
    """Annotators who know the class with these probabilities and give another label."""
    return honest((1.0 - accuracy_a) / max(n_classes - 1, 1), n_classes)
