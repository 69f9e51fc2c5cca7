"""Labels kept aside to judge by: they show when training has gone on too long, without truth."""

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.core.seeds import generator

_ENOUGH = 0.5  # of the labels asked for: with fewer, people may lose their only one


def split_labels(
    annotations: Annotations, share: float, seed: int
) -> tuple[Annotations, Annotations | None]:
    """The labels to train on, and a random share of them kept aside; None when none are.

    Every item keeps a label to train on, and every annotator too unless too few labels could be
    kept aside then: in a crowd of people with one label each, some are judged as strangers.
    """
    if share == 0:
        return annotations, None
    held = _spare(annotations, max(1, round(share * annotations.n_annotations)), seed)
    if not held.any():
        raise DataError(
            "no item has a second label to spare, so none can be held out; set validation_fraction to 0"
        )
    return annotations.only(~held), annotations.only(held)


def split_items(
    annotations: Annotations, edges: AnyArray, share: float, seed: int
) -> tuple[Annotations, Annotations | None]:
    """The labels to train on, and all labels of a random share of the items kept aside.

    `edges` part the labelled items into what stays together: one by one, or by sentences. What is
    learnt of an item by heart is no help for its labels then.
    """
    n_units = len(edges) - 1
    if share == 0 or n_units < 2:
        return annotations, None
    n_held = min(max(1, round(share * n_units)), n_units - 1)
    chosen = generator(seed, "items held out").permutation(n_units)[:n_held]
    is_held_u = np.zeros(n_units, dtype=bool)
    is_held_u[chosen] = True
    is_held_i = np.zeros(annotations.n_items, dtype=bool)
    labelled = np.flatnonzero(annotations.labels_per_item > 0)
    is_held_i[labelled] = np.repeat(is_held_u, np.diff(edges))
    held = is_held_i[annotations.item]
    return annotations.only(~held), annotations.only(held)


def _spare(annotations: Annotations, wanted: int, seed: int) -> AnyArray:
    """Up to the wanted number of labels at random, none the last of an item."""
    order = generator(seed, "labels held out").permutation(annotations.n_annotations)
    left_i = annotations.labels_per_item.copy()
    left_a = annotations.labels_per_annotator.copy()
    held = np.zeros(annotations.n_annotations, dtype=bool)
    _take(annotations, order, wanted, held, left_i, left_a, fewest=2)
    if held.sum() < wanted * _ENOUGH:
        _take(annotations, order, wanted, held, left_i, left_a, fewest=0)
    return held


def _take(
    annotations: Annotations,
    order: AnyArray,
    wanted: int,
    held: AnyArray,
    left_i: AnyArray,
    left_a: AnyArray,
    fewest: int,
) -> None:
    """Mark labels in this order until enough are held; annotators need `fewest` to lose one."""
    wanted -= int(held.sum())
    for n in order.tolist():
        if wanted <= 0:
            break
        i, a = annotations.item[n], annotations.annotator[n]
        if not held[n] and left_i[i] > 1 and left_a[a] >= fewest:
            left_i[i] -= 1
            left_a[a] -= 1
            held[n] = True
            wanted -= 1
