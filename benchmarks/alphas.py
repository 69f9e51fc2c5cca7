"""Krippendorff's alpha of manyhands and of the package krippendorff, on the same columns."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from manyhands.agreement import alpha
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import generator

PEER = "krippendorff"
LABELS_PER_ITEM = 10
N_CLASSES = 10


@dataclass(frozen=True, eq=False)
class Table:
    """Labels as both sides take them: columns, and a matrix of annotators x items with gaps."""

    item: AnyArray
    annotator: AnyArray
    label: Floats

    def matrix(self) -> Floats:
        """The matrix; NaN is no label."""
        shape = int(self.annotator.max()) + 1, int(self.item.max()) + 1
        matrix = np.full(shape, np.nan)
        matrix[self.annotator, self.item] = self.label
        return matrix


def draw(level: str, n_labels: int) -> Table:
    """Ten labels per item by twelve annotators: classes 0 to 9, or positive real numbers."""
    rng = generator(0, f"agreement benchmark {n_labels}")
    n_items = n_labels // LABELS_PER_ITEM
    item = np.repeat(np.arange(n_items), LABELS_PER_ITEM)
    annotator = (np.arange(n_labels) % LABELS_PER_ITEM + item) % (LABELS_PER_ITEM + 2)
    real = np.exp(rng.normal(size=n_items)[item] + 0.7 * rng.normal(size=n_labels))
    if level in ("nominal", "ordinal"):
        return Table(item, annotator, np.minimum(np.floor(real), N_CLASSES - 1.0))
    return Table(item, annotator, real)


def ours(table: Table, level: str) -> float:
    """From three columns to alpha, without an interval, as the peer gives none."""
    kind = "classes" if level in ("nominal", "ordinal") else "numbers"
    label = table.label.astype(np.int64) if kind == "classes" else table.label
    ann = Annotations.from_arrays(table.item, table.annotator, label, kind=kind)
    return alpha(ann, level=level, interval="none").value


def theirs(table: Table, level: str) -> float:
    """From three columns to alpha."""
    peer = import_module(PEER)
    return float(peer.alpha(reliability_data=table.matrix(), level_of_measurement=level))


ALPHAS: dict[str, Callable[[Table, str], float]] = {"manyhands": ours, PEER: theirs}
