"""Simulated crowds: the items, who labels them, the labels, and what they were drawn from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from manyhands.annotations import Annotations, Items
from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.settings import generator, require
from manyhands.simulation.settings import CrowdSizes

CELLS_AT_ONCE = 2**20


@dataclass(frozen=True)
class SimulatedCrowd:
    """Annotations with the truth, the confusions and the behaviour of every annotator.

    `features` has a row per item in scenarios whose items have features. `test` has items without
    labels. `annotator_notes` and `label_notes` are further columns about each annotator and about
    each label, in the order of `annotations`. Scenarios with further results return a subclass.
    """

    annotations: Annotations
    truth: AnyArray
    confusion: Floats
    behaviour: AnyArray
    features: AnyArray | None = None
    test: Items | None = None
    annotator_notes: Mapping[str, AnyArray] = field(default_factory=dict)
    label_notes: Mapping[str, AnyArray] = field(default_factory=dict)

    @property
    def truth_by_item(self) -> dict[object, object]:
        """The truth as {item name: class name}."""
        return dict(zip(self.annotations.items.tolist(), self.truth.tolist(), strict=True))


def draw_labels(
    confusion_akl: Floats, truth_n: AnyArray, annotator_n: AnyArray, rng: np.random.Generator
) -> Codes:
    """One label per annotation, drawn from its annotator's confusion row of the true class."""
    cumulative_akl = np.cumsum(confusion_akl, axis=2)
    row_nl = cumulative_akl[annotator_n, truth_n]
    above_nl = rng.random(len(truth_n))[:, None] > row_nl[:, :-1]
    return np.asarray(above_nl.sum(axis=1), dtype=np.int32)


def assign(
    n_items: int, n_annotators: int, labels_per_item: int, rng: np.random.Generator
) -> tuple[Codes, Codes]:
    """Assign the same number of different annotators to every item, drawn at random.

    >>> item, annotator = assign(2, 5, 3, np.random.default_rng(0))
    >>> item.tolist(), len(set(annotator[:3].tolist()))
    ([0, 0, 0, 1, 1, 1], 3)
    """
    require(labels_per_item >= 1, "labels_per_item", ">= 1", labels_per_item)
    rule = f"at most n_annotators ({n_annotators})"
    require(labels_per_item <= n_annotators, "labels_per_item", rule, labels_per_item)
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


def draw_pairs(
    settings: CrowdSizes, n_items: int, assign_items: Callable[..., tuple[Codes, Codes]] = assign
) -> tuple[Codes, Codes]:
    """Which annotator labels which item, sorted by item and then by annotator."""
    rng = generator(settings.seed, "who labels what")
    return sort_pairs(*assign_items(n_items, settings.n_annotators, settings.labels_per_item, rng))


def simulate_crowd(
    truth: AnyArray,
    confusion_akl: Floats,
    *,
    labels_per_item: int,
    seed: int,
    classes: AnyArray | None = None,
    behaviour: AnyArray | None = None,
) -> SimulatedCrowd:
    """Draw the labels of items with these class codes by annotators with these confusions."""
    n_annotators, n_classes = confusion_akl.shape[:2]
    item, annotator = assign(
        len(truth), n_annotators, labels_per_item, generator(seed, "who labels what")
    )
    label = draw_labels(confusion_akl, truth[item], annotator, generator(seed, "labels"))
    names = np.arange(n_classes) if classes is None else classes
    annotations = label_table((item, annotator), names[label], len(truth), n_annotators, names)
    if behaviour is None:
        behaviour = np.full(n_annotators, "honest", dtype=object)
    return SimulatedCrowd(annotations, names[truth], confusion_akl, behaviour)


def label_table(
    pairs: tuple[Codes, Codes], label: AnyArray, n_items: int, n_annotators: int, classes: AnyArray
) -> Annotations:
    """Annotations with all items, annotators and classes, also those without labels."""
    return Annotations.from_arrays(
        *pairs, label, items=range(n_items), annotators=range(n_annotators), classes=classes
    )


def draw_items(items: Items | None, settings: CrowdSizes) -> Items:
    """The given items; without them, `n_items` items of equally probable classes."""
    if items is None:
        rng = generator(settings.seed, "truth")
        return Items(rng.integers(0, settings.n_classes, settings.n_items))
    return check_items(items, settings)


def check_items(items: Items, settings: CrowdSizes) -> Items:
    """The items; raises a `SettingError` if a class is not one of the settings' classes."""
    low, high = int(items.truth.min()), int(items.truth.max())
    rule = f"class codes in 0..{settings.n_classes - 1} (n_classes is {settings.n_classes})"
    require(low >= 0 and high < settings.n_classes, "truth", rule, (low, high))
    return items


def gaussian_items(
    items: Items | None, settings: CrowdSizes, centre_kd: Floats, spread: float, n_test: int
) -> Items:
    """The given items; without them, items that are normal around the centres of their classes.

    The classes are equally frequent.
    """
    if items is not None:
        return check_items(items, settings)
    rng = generator(settings.seed, "items")
    n_items, n_all = settings.n_items, settings.n_items + n_test
    truth = rng.permutation(n_all) % settings.n_classes
    features = centre_kd[truth] + spread * rng.standard_normal((n_all, centre_kd.shape[1]))
    test = Items(truth[n_items:], features[n_items:]) if n_test else None
    return Items(truth[:n_items], features[:n_items], test)
