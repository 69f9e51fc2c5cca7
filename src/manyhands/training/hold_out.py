"""Labels kept aside to judge by: they show when training has gone on too long, without truth."""

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.core.seeds import generator


def split_labels(
    annotations: Annotations, share: float, seed: int
) -> tuple[Annotations, Annotations | None]:
    """The labels to train on, and a random share of them kept aside; None when none are.

    Every item keeps a label to train on, and every annotator too where that can be.
    """
    if share == 0:
        return annotations, None
    held = _spare(annotations, round(share * annotations.n_annotations), seed)
    if not held.any():
        raise DataError(
            "no item has a second label to spare, so none can be held out; set hold_out to 0"
        )
    return annotations.only(~held), annotations.only(held)


def _spare(annotations: Annotations, wanted: int, seed: int) -> AnyArray:
    """Up to the wanted number of labels at random, none the last of an item or an annotator."""
    rng = generator(seed, "labels held out")
    order = rng.permutation(annotations.n_annotations)
    left_i = annotations.labels_per_item.copy()
    left_a = annotations.labels_per_annotator.copy()
    held = np.zeros(annotations.n_annotations, dtype=bool)
    for n in order.tolist():
        i, a = annotations.item[n], annotations.annotator[n]
        if left_i[i] > 1 and left_a[a] > 1:
            left_i[i] -= 1
            left_a[a] -= 1
            held[n] = True
            wanted -= 1
            if wanted <= 0:
                break
    return held
