"""Simulated crowds: label arrays of any size, drawn in blocks to save memory."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LABELS_PER_ITEM = 10
LEAST_RIGHT, MOST_RIGHT = 0.5, 0.9

_BLOCK_ITEMS = 20_000


@dataclass(frozen=True)
class CrowdSize:
    """Numbers of labels, classes and annotators; every item has ten labels."""

    n_labels: int
    n_classes: int
    n_annotators: int

    def __post_init__(self) -> None:
        for name in ("n_labels", "n_annotators"):
            if getattr(self, name) < LABELS_PER_ITEM or getattr(self, name) % LABELS_PER_ITEM:
                raise ValueError(f"{name} must be a multiple of {LABELS_PER_ITEM}")

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self.n_labels // LABELS_PER_ITEM


@dataclass(frozen=True)
class CrowdData:
    """Parallel columns sorted by item, and the true class of every item."""

    item: NDArray[np.int32]
    annotator: NDArray[np.int32]
    label: NDArray[np.int8]
    truth: NDArray[np.int8]


def simulate(size: CrowdSize, seed: int = 0) -> CrowdData:
    """Draw truths, annotators and labels.

    Classes are equally probable. Each annotator has an accuracy drawn uniformly from 0.5 to 0.9; a
    wrong label is uniform over the other classes. Annotators are divided into ten equal parts, and
    each item is labelled by one annotator of each part, so no annotator labels an item twice. Work
    is spread evenly within a part.
    """
    rng = np.random.default_rng(seed)
    right_a = rng.uniform(LEAST_RIGHT, MOST_RIGHT, size.n_annotators).astype(np.float32)
    crowd = CrowdData(
        np.empty(size.n_labels, dtype=np.int32),
        np.empty(size.n_labels, dtype=np.int32),
        np.empty(size.n_labels, dtype=np.int8),
        rng.integers(size.n_classes, size=size.n_items, dtype=np.int8),
    )
    for first in range(0, size.n_items, _BLOCK_ITEMS):
        _fill(crowd, first, min(first + _BLOCK_ITEMS, size.n_items), size, right_a, rng)
    return crowd


def _fill(
    crowd: CrowdData,
    first: int,
    last: int,
    size: CrowdSize,
    right_a: NDArray[np.float32],
    rng: np.random.Generator,
) -> None:
    """Draw the labels of one block of items."""
    n_items = last - first
    rows = slice(first * LABELS_PER_ITEM, last * LABELS_PER_ITEM)
    per_part = size.n_annotators // LABELS_PER_ITEM
    turns = np.resize(np.arange(per_part, dtype=np.int32), n_items)
    annotator = rng.permuted(np.tile(turns, (LABELS_PER_ITEM, 1)), axis=1)
    annotator += per_part * np.arange(LABELS_PER_ITEM, dtype=np.int32)[:, None]
    crowd.item[rows] = np.repeat(np.arange(first, last, dtype=np.int32), LABELS_PER_ITEM)
    crowd.annotator[rows] = annotator.T.ravel()
    truth = np.repeat(crowd.truth[first:last], LABELS_PER_ITEM)
    shift = rng.integers(1, size.n_classes, size=len(truth), dtype=np.int8)
    is_right = rng.random(len(truth), dtype=np.float32) < right_a[crowd.annotator[rows]]
    crowd.label[rows] = np.where(is_right, truth, (truth + shift) % size.n_classes)
