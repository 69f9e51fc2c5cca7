"""Which annotators label which items."""

import numpy as np

from manyhands.core.arrays import AnyArray, Codes
from manyhands.core.errors import SettingError
from manyhands.core.settings import require

CELLS_AT_ONCE = 2**20


def assign(
    n_items: int, n_annotators: int, labels_per_item: int, rng: np.random.Generator
) -> tuple[Codes, Codes]:
    """Assign the same number of different annotators to every item, drawn at random.

    >>> item, annotator = assign(2, 5, 3, np.random.default_rng(0))
    >>> item.tolist(), len(set(annotator[:3].tolist()))
    ([0, 0, 0, 1, 1, 1], 3)
    """
    require(labels_per_item >= 1, "labels_per_item", ">= 1", labels_per_item)
    if labels_per_item > n_annotators:
        raise SettingError(
            f"labels_per_item must be at most n_annotators ({n_annotators}); got {labels_per_item}"
        )
    chosen = rng.integers(0, n_annotators, size=(n_items, labels_per_item))
    while True:
        ordered = np.sort(chosen, axis=1)
        clash = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if not clash.any():
            break
        n_clashes = int(clash.sum())
        if labels_per_item**2 > n_annotators:  # drawing again would take long
            chosen[clash] = _shuffled(n_clashes, n_annotators, labels_per_item, rng)
        else:
            chosen[clash] = rng.integers(0, n_annotators, size=(n_clashes, labels_per_item))
    item = np.repeat(np.arange(n_items, dtype=np.int32), labels_per_item)
    return item, chosen.ravel().astype(np.int32)


def assign_varied(
    n_items: int, n_annotators: int, labels_per_item: int, rng: np.random.Generator
) -> tuple[Codes, Codes]:
    """Assign each annotator to each item with the same probability.

    An item has `labels_per_item` labels on average (the number is binomial), but at least one.

    >>> item, annotator = assign_varied(3, 5, 2, np.random.default_rng(0))
    >>> sorted(set(item.tolist()))
    [0, 1, 2]
    """
    n_labels_i = rng.binomial(n_annotators, labels_per_item / n_annotators, size=n_items)
    n_labels_i = np.maximum(n_labels_i, 1)
    items, annotators = [], []
    for n_labels in np.unique(n_labels_i):
        rows = np.flatnonzero(n_labels_i == n_labels)
        row, annotator = assign(len(rows), n_annotators, int(n_labels), rng)
        items.append(rows[row].astype(np.int32))
        annotators.append(annotator)
    return sort_pairs(np.concatenate(items), np.concatenate(annotators))


def sort_pairs(item: Codes, annotator: Codes) -> tuple[Codes, Codes]:
    """The pairs sorted by item and then by annotator, as in `Annotations`."""
    order = np.lexsort((annotator, item))
    return item[order], annotator[order]


def _shuffled(n_rows: int, n_annotators: int, n_chosen: int, rng: np.random.Generator) -> AnyArray:
    """The first annotators of a random order, drawn for each row; rows are drawn in blocks."""
    chosen = np.empty((n_rows, n_chosen), dtype=np.int64)
    step = max(1, CELLS_AT_ONCE // n_annotators)
    for start in range(0, n_rows, step):
        rows = chosen[start : start + step]
        rows[:] = np.argsort(rng.random((len(rows), n_annotators)), axis=1)[:, :n_chosen]
    return chosen
