"""Confusions that take a class for one other class."""

from collections.abc import Sequence

import numpy as np

from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import require

PATTERNS = ("asymmetric", "symmetric")


def mistaken(partner_ak: AnyArray, strength: float) -> Floats:
    """Confusions that take each class for its partner with this probability.

    >>> mistaken(np.array([[1, 2, 2]]), 0.25)[0].tolist()
    [[0.75, 0.25, 0.0], [0.0, 0.75, 0.25], [0.0, 0.0, 1.0]]
    """
    n_annotators, n_classes = partner_ak.shape
    confusion_akl = np.zeros((n_annotators, n_classes, n_classes))
    row, column = np.arange(n_annotators)[:, None], np.arange(n_classes)
    confusion_akl[:, column, column] = 1.0 - strength
    confusion_akl[row, column, partner_ak] += strength
    return confusion_akl


def drawn_partners(
    n_annotators: int, n_classes: int, pattern: str, rng: np.random.Generator
) -> AnyArray:
    """The class that each class is taken for, drawn for each annotator.

    "asymmetric": any other class alike. "symmetric": random pairs; with an odd number of classes
    one is left over, which nobody mistakes.
    """
    if pattern == "asymmetric":
        step_ak = rng.integers(1, n_classes, size=(n_annotators, n_classes))
        return (np.arange(n_classes) + step_ak) % n_classes
    shuffled = rng.permuted(np.tile(np.arange(n_classes), (n_annotators, 1)), axis=1)
    partner_ak = np.tile(np.arange(n_classes), (n_annotators, 1))
    row = np.arange(n_annotators)[:, None]
    first, second = shuffled[:, 0 : n_classes - 1 : 2], shuffled[:, 1:n_classes:2]
    partner_ak[row, first], partner_ak[row, second] = second, first
    return partner_ak


def given_partners(partners: Sequence[int], n_classes: int, pattern: str) -> AnyArray:
    """The class that each class is taken for, as given; itself where it is not mistaken."""
    partner_k = np.asarray(partners)
    rule = f"{n_classes} classes in 0..{n_classes - 1}"
    holds = len(partner_k) == n_classes and bool(((partner_k >= 0) & (partner_k < n_classes)).all())
    require(holds, "partners", rule, partners)
    paired = bool((partner_k[partner_k] == np.arange(n_classes)).all())
    rule = "pairs of classes that stand for each other where pattern is symmetric"
    require(pattern != "symmetric" or paired, "partners", rule, partners)
    return partner_k
