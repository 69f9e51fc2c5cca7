"""Ragged batches for an epoch: items with all the labels they have, held on the device."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.noise import AnnotationBatch
from manyhands.training.inputs import Inputs


@dataclass(frozen=True)
class CrowdBatch:
    """Some items: their codes, inputs and annotations.

    `weight` corrects the mean over processes: n labels here x processes / n labels of the step.
    """

    items: Tensor
    inputs: Tensor
    annotations: AnnotationBatch
    weight: float = 1.0


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
            n_step = int(ends[last] - ends[first])
            begin, end = _share(first, last, rank, n_ranks)
            own = slice(int(ends[begin]), int(ends[end]))
            inputs = self.inputs.rows(items[begin:end])
            yield CrowdBatch(
                items[begin:end],
                inputs,
                AnnotationBatch(position[own] - begin, annotator[own], label[own], inputs),
                (own.stop - own.start) * n_ranks / max(n_step, 1) if n_ranks > 1 else 1.0,
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
