"""Simulated crowds: the items, who labels them, the labels, and what they were drawn from."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Annotations, Items
from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.seeds import generator
from manyhands.core.settings import require
from manyhands.simulation.assignment import assign, sort_pairs
from manyhands.simulation.settings import CrowdSizes


@dataclass(frozen=True)
class SimulatedCrowd:
    """Annotations with the truth, the confusions and the behaviour of every annotator.

    `features` has a row per item in scenarios whose items have features. `test` has items without
    labels. Scenarios with further results return a subclass.
    """

    annotations: Annotations
    truth: AnyArray
    confusion: Floats
    behaviour: AnyArray
    features: AnyArray | None = None
    test: Items | None = None

    @property
    def truth_by_item(self) -> dict[object, object]:
        """The truth as {item name: class name}."""
        return dict(zip(self.annotations.items.tolist(), self.truth.tolist(), strict=True))

    @property
    def annotator_notes(self) -> dict[str, AnyArray]:
        """Further columns about each annotator."""
        return {}

    @property
    def label_notes(self) -> dict[str, AnyArray]:
        """Further columns about each label, in the order of `annotations`."""
        return {}


def draw_labels(
    confusion_akl: Floats, truth_n: Codes, annotator_n: Codes, rng: np.random.Generator
) -> Codes:
    """One label per annotation, drawn from its annotator's confusion row of the true class."""
    cumulative_akl = np.cumsum(confusion_akl, axis=2)
    row_nl = cumulative_akl[annotator_n, truth_n]
    above_nl = rng.random(len(truth_n))[:, None] > row_nl[:, :-1]
    return np.asarray(above_nl.sum(axis=1), dtype=np.int32)


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
    annotations = label_table(item, annotator, names[label], len(truth), n_annotators, names)
    if behaviour is None:
        behaviour = np.full(n_annotators, "honest", dtype=object)
    return SimulatedCrowd(annotations, names[truth], confusion_akl, behaviour)


def label_table(
    item: Codes,
    annotator: Codes,
    label: AnyArray,
    n_items: int,
    n_annotators: int,
    classes: AnyArray,
) -> Annotations:
    """Annotations with all items, annotators and classes, also those without labels."""
    return Annotations.from_arrays(
        item,
        annotator,
        label,
        items=range(n_items),
        annotators=range(n_annotators),
        classes=classes,
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
    centre_kd: Floats, spread: float, *, n_items: int, n_test: int, seed: int
) -> Items:
    """Items that are normal around the centres of their classes; classes are equally frequent.

    >>> items = gaussian_items(np.eye(2), 0.0, n_items=4, n_test=2, seed=0)
    >>> sorted(items.features.tolist()), len(items.test.truth)
    ([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], 2)
    """
    rng = generator(seed, "items")
    n_classes, n_features = centre_kd.shape
    n_all = n_items + n_test
    truth = rng.permutation(n_all) % n_classes
    features = centre_kd[truth] + spread * rng.standard_normal((n_all, n_features))
    test = Items(truth[n_items:], features[n_items:]) if n_test else None
    return Items(truth[:n_items], features[:n_items], test)
