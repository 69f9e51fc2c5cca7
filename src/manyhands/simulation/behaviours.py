"""How simulated annotators behave: a confusion matrix each, row = true class, column = label."""

import numpy as np

from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import require


def honest(right_a: Floats, n_classes: int) -> Floats:
    """Annotators who are right with these probabilities and else say any other class alike.

    >>> honest(np.array([0.8]), 3)[0, 0].round(2).tolist()
    [0.8, 0.1, 0.1]
    """
    require(bool(np.all((right_a >= 0) & (right_a <= 1))), "right_a", "in 0..1", right_a)
    wrong_a = (1.0 - right_a) / max(n_classes - 1, 1)
    confusion_akl = np.tile(wrong_a[:, None, None], (1, n_classes, n_classes))
    diagonal = np.arange(n_classes)
    confusion_akl[:, diagonal, diagonal] = right_a[:, None] if n_classes > 1 else 1.0
    return confusion_akl


def confused(
    right_a: Floats, n_classes: int, concentration: float, rng: np.random.Generator
) -> Floats:
    """Annotators who are right with these probabilities and have favourite mistakes of their own.

    Off the diagonal each row is drawn from a Dirichlet; the smaller the concentration, the more
    the mistakes pile up on a few classes.
    """
    require(concentration > 0, "concentration", "> 0", concentration)
    confusion_akl = honest(right_a, n_classes)
    if n_classes < 3:
        return confusion_akl
    shape = (len(right_a), n_classes)
    mistakes = rng.dirichlet(np.full(n_classes - 1, concentration), size=shape)
    off = ~np.eye(n_classes, dtype=bool)
    confusion_akl[:, off] = (mistakes * (1.0 - right_a)[:, None, None]).reshape(len(right_a), -1)
    return confusion_akl


def random_spammers(n_annotators: int, n_classes: int) -> Floats:
    """Annotators who do not look: every class alike."""
    return np.full((n_annotators, n_classes, n_classes), 1.0 / n_classes)


def constant_spammers(class_a: AnyArray, n_classes: int) -> Floats:
    """Annotators who always say the same class."""
    return np.tile(np.eye(n_classes)[class_a][:, None], (1, n_classes, 1))


def adversaries(right_a: Floats, n_classes: int) -> Floats:
    """Annotators who know the class with these probabilities and then say another."""
    return honest((1.0 - right_a) / max(n_classes - 1, 1), n_classes)
