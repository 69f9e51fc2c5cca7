"""Validation labels: how they are held out, and which epoch they show to be the best."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.core.settings import generator
from manyhands.engine.crowd_module import VALIDATION
from manyhands.evaluation import CRITERIA, CROWD_METRICS

LIKELIHOOD = "likelihood"
_ENOUGH = 0.5  # of the labels asked for: with fewer, annotators may lose their only one


def split_labels(
    annotations: Annotations, share: float, seed: int
) -> tuple[Annotations, Annotations | None]:
    """Split labels at random into those to train on and validation labels (None for share 0).

    Every item keeps a label to train on. Every annotator keeps one too, unless too few labels could
    be held out then: in a crowd of annotators with one label each, some are validated as unseen
    annotators.
    """
    if share == 0:
        return annotations, None
    validation = _spare(annotations, max(1, round(share * annotations.n_annotations)), seed)
    if not validation.any():
        raise DataError(
            "no item has a second label to spare, so none can be held out; set "
            "validation_fraction to 0"
        )
    return annotations.only(~validation), annotations.only(validation)


def split_items(
    annotations: Annotations, edges: AnyArray, share: float, seed: int
) -> tuple[Annotations, Annotations | None]:
    """Split items at random: the labels to train on, and all labels of the validation items.

    `edges` separate the labelled items into units that stay together, such as sentences. A network
    that memorises its items does not predict the labels of other items any better.
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
    validation = is_held_i[annotations.item]
    return annotations.only(~validation), annotations.only(validation)


def _spare(annotations: Annotations, wanted: int, seed: int) -> AnyArray:
    """Up to the wanted number of labels at random, none of them the last label of an item."""
    order = generator(seed, "labels held out").permutation(annotations.n_annotations)
    left_i = annotations.labels_per_item.copy()
    left_a = annotations.labels_per_annotator.copy()
    validation = np.zeros(annotations.n_annotations, dtype=bool)
    _take(annotations, order, wanted, validation, left_i, left_a, fewest=2)
    if validation.sum() < wanted * _ENOUGH:
        _take(annotations, order, wanted, validation, left_i, left_a, fewest=0)
    return validation


def _take(
    annotations: Annotations,
    order: AnyArray,
    wanted: int,
    validation: AnyArray,
    left_i: AnyArray,
    left_a: AnyArray,
    fewest: int,
) -> None:
    """Mark labels in this order until enough are held out.

    An annotator needs at least `fewest` labels to lose one.
    """
    wanted -= int(validation.sum())
    for n in order.tolist():
        if wanted <= 0:
            break
        i, a = annotations.item[n], annotations.annotator[n]
        if not validation[n] and left_i[i] > 1 and left_a[a] >= fewest:
            left_i[i] -= 1
            left_a[a] -= 1
            validation[n] = True
            wanted -= 1


def best_epoch(history: Sequence[Mapping[str, Any]], monitor: str) -> int | None:
    """The number of the best epoch so far, the earliest of equals; None during the warm-up."""
    entries = [entry for entry in history if not entry["warm_up_epoch"]]
    if not entries:
        return None
    keys = {name: VALIDATION if name == LIKELIHOOD else name for name in CROWD_METRICS}
    scores = {
        name: np.array([entry[key] for entry in entries])
        for name, key in keys.items()
        if key in entries[0]
    }
    return int(entries[int(np.argmax(CRITERIA[monitor](scores)))]["epoch"])
