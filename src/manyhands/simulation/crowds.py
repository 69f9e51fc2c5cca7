"""A simulated crowd: who there is, who labels what, and what they say."""

from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.errors import SettingError
from manyhands.core.seeds import generator
from manyhands.core.settings import require


@dataclass(frozen=True)
class SimulatedCrowd:
    """Labels with everything that made them: the truth, the confusions, and who behaves how."""

    annotations: Annotations
    truth: AnyArray
    confusion: Floats
    behaviour: AnyArray

    @property
    def truth_by_item(self) -> dict[object, object]:
        """The truth as {item name: class name}."""
        return dict(zip(self.annotations.items.tolist(), self.truth.tolist(), strict=True))


def assign(
    n_items: int, n_annotators: int, labels_per_item: int, rng: np.random.Generator
) -> tuple[Codes, Codes]:
    """Who labels what: every item gets the same number of different annotators, drawn at random.

    >>> item, annotator = assign(2, 5, 3, generator(0, "example"))
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
        if labels_per_item**2 > n_annotators:  # redrawing would take long: shuffle instead
            keys = rng.random((int(clash.sum()), n_annotators))
            chosen[clash] = np.argsort(keys, axis=1)[:, :labels_per_item]
        else:
            chosen[clash] = rng.integers(0, n_annotators, size=(int(clash.sum()), labels_per_item))
    item = np.repeat(np.arange(n_items, dtype=np.int32), labels_per_item)
    return item, chosen.ravel().astype(np.int32)


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
    annotations = Annotations.from_arrays(
        item,
        annotator,
        names[label],
        items=range(len(truth)),
        annotators=range(n_annotators),
        classes=names,
    )
    kinds = np.full(n_annotators, "honest", dtype=object) if behaviour is None else behaviour
    return SimulatedCrowd(annotations, names[truth], confusion_akl, kinds)
