"""Simulated crowds: the annotations, and everything that they were drawn from."""

from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Annotations, Items
from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.settings import generator
from manyhands.simulation.assignment import assign


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
