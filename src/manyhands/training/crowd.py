"""Ragged batches for an epoch: items with all the labels they have, held on the device."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.noise import AnnotationBatch
from manyhands.training.inputs import Inputs


class CrowdBatch:
    """Some items: their codes, inputs and annotations.

    The weights correct the mean over processes: n here x processes / n of the whole step, of
    `label_weight` for n labels and of `item_weight` for n items. No dataclass, because Fabric
    rebuilds those.
    """

    def __init__(
        self,
        items: Tensor,
        inputs: Tensor,
        annotations: AnnotationBatch,
        *,
        label_weight: float = 1.0,
        item_weight: float = 1.0,
    ) -> None:
        self.items, self.inputs, self.annotations = items, inputs, annotations
        self.label_weight, self.item_weight = label_weight, item_weight


class Crowd:
    """Inputs beside annotations, on one device; row i of the inputs belongs to item i."""

    def __init__(self, inputs: Inputs, annotations: Annotations, device: torch.device) -> None:
        if len(inputs) != annotations.n_items:
            raise DataError(f"{len(inputs)} rows of features for {annotations.n_items} items")
        self.inputs, self.annotations, self.device = inputs.to(device), annotations, device
        self.labelled = np.flatnonzero(annotations.labels_per_item > 0)

    def batches(
        self, order: AnyArray, batch_size: int, *, rank: int = 0, n_ranks: int = 1
    ) -> Iterator[CrowdBatch]:
        """Items in this order, in batches of nearly equal size.

        The order of all annotations is worked out at once, so that a batch is a handful of slices.
        With several ranks each sees its share of every batch.
        """
        ann = self.annotations
        counts = ann.labels_per_item[order]
        ends = np.concatenate([[0], np.cumsum(counts)])
        source = np.arange(ends[-1]) + np.repeat(ann.item_offsets[order] - ends[:-1], counts)
        position = self._moved(np.repeat(np.arange(len(order)), counts))
        annotator, label = (self._moved(each[source]) for each in (ann.annotator, ann.label))
        items = self._moved(order)
        for first, last in _even_parts(0, len(order), batch_size):
            begin, end = _share(first, last, rank, n_ranks)
            own = slice(int(ends[begin]), int(ends[end]))
            n_labels = max(int(ends[last] - ends[first]), 1)
            inputs = self.inputs.rows(items[begin:end])
            seen = inputs if inputs.is_floating_point() else inputs.float()
            yield CrowdBatch(
                items[begin:end],
                inputs,
                AnnotationBatch(position[own] - begin, annotator[own], label[own], seen),
                label_weight=(own.stop - own.start) * n_ranks / n_labels,
                item_weight=(end - begin) * n_ranks / (last - first),
            )

    def _moved(self, array: AnyArray) -> Tensor:
        return torch.from_numpy(array.astype(np.int64)).to(self.device)


def _even_parts(first: int, last: int, most: int) -> list[tuple[int, int]]:
    """Cut a range into the fewest parts of at most this size, as equal as can be.

    A small last part would make a noisy step, and one of a single item breaks batch normalisation.
    """
    n_parts = -(-(last - first) // most)
    edges = np.linspace(first, last, n_parts + 1).round().astype(int).tolist() if n_parts else []
    return list(pairwise(edges))


def _share(first: int, last: int, rank: int, n_ranks: int) -> tuple[int, int]:
    size = last - first
    return first + size * rank // n_ranks, first + size * (rank + 1) // n_ranks
