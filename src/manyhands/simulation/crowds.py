"""A simulated crowd: who there is, who labels what, and what they say."""

from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.seeds import generator
from manyhands.simulation.assignment import assign
from manyhands.simulation.items import Items


@dataclass(frozen=True)
class SimulatedCrowd:
    """Labels with everything that made them: the truth, the confusions, and who behaves how.

    `features` has a row per item in scenarios whose items have features, and `test` holds items
    that nobody labelled. A scenario with more to tell has a class of its own below this one.
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
        """What else is known of each annotator."""
        return {}

    @property
    def label_notes(self) -> dict[str, AnyArray]:
        """What is known of each label, in the order of `annotations`."""
        return {}


def draw_labels(
    confusion_akl: Floats, truth_n: Codes, annotator_n: Codes, rng: np.random.Generator
) -> Codes:
    """One label per annotation from its annotator's row for the true class."""
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
    """Labels of items with known class codes by annotators with known confusions."""
    n_annotators, n_classes = confusion_akl.shape[:2]
    item, annotator = assign(
        len(truth), n_annotators, labels_per_item, generator(seed, "who labels what")
    )
    label = draw_labels(confusion_akl, truth[item], annotator, generator(seed, "labels"))
    names = np.arange(n_classes) if classes is None else classes
    annotations = label_table(item, annotator, names[label], len(truth), n_annotators, names)
    kinds = np.full(n_annotators, "honest", dtype=object) if behaviour is None else behaviour
    return SimulatedCrowd(annotations, names[truth], confusion_akl, kinds)


def label_table(
    item: Codes,
    annotator: Codes,
    label: AnyArray,
    n_items: int,
    n_annotators: int,
    classes: AnyArray,
) -> Annotations:
    """Labels as annotations in which every item, annotator and class has its place."""
    return Annotations.from_arrays(
        item,
        annotator,
        label,
        items=range(n_items),
        annotators=range(n_annotators),
        classes=classes,
    )
