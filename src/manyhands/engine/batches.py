"""Batches of items with all their labels, held on the device."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from manyhands.annotations import Annotations
from manyhands.annotations.grouping import run_indices
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.engine.inputs import Inputs, even_parts
from manyhands.noise import AnnotationBatch

_SORTED = 50  # batches whose items are sorted by length together


class CrowdBatch:
    """Some items: their codes, inputs and annotations.

    The weights correct the mean over processes: n here x processes / n of the whole step, where n
    counts labels for `label_weight` and items for `item_weight`. This is no dataclass, because
    Fabric rebuilds those.
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


class CrowdData:
    """Inputs and annotations on one device; row i of the inputs belongs to item i."""

    def __init__(self, inputs: Inputs, annotations: Annotations, device: torch.device) -> None:
        if len(inputs) != annotations.n_items:
            raise DataError(f"{len(inputs)} rows of features for {annotations.n_items} items")
        self.inputs, self.annotations, self.device = inputs.to(device), annotations, device
        self.labelled = np.flatnonzero(annotations.labels_per_item > 0)

    def shuffled(self, rng: np.random.Generator, batch_size: int) -> AnyArray:
        """The labelled items in a random order, with items of similar length near each other."""
        edges = self.inputs.boundaries(self.labelled)
        unit = rng.permutation(len(edges) - 1)
        lengths = self.inputs.lengths(self.labelled[edges[:-1]])
        if lengths is not None:
            per_batch = max(batch_size * len(unit) // max(len(self.labelled), 1), 1)
            unit = _by_length(unit, lengths, per_batch, rng)
        return np.asarray(self.labelled[run_indices(edges, unit)])

    def batches(
        self, order: AnyArray, batch_size: int, *, rank: int = 0, n_ranks: int = 1
    ) -> Iterator[CrowdBatch]:
        """Items in this order, in batches of nearly equal size.

        A batch holds at most about `batch_size` items. The tokens of a sentence stay together
        (`Inputs.boundaries`), and little is padded (`even_parts`). The order of all annotations is
        computed at once, so that a batch is a handful of slices. With several ranks each gets its
        share of every batch.
        """
        ann = self.annotations
        counts = ann.labels_per_item[order]
        ends = np.concatenate([[0], np.cumsum(counts)])
        source = np.arange(ends[-1]) + np.repeat(ann.item_offsets[order] - ends[:-1], counts)
        position = self._moved(np.repeat(np.arange(len(order)), counts))
        annotator, label = (self._moved(each[source]) for each in (ann.annotator, ann.label))
        items = self._moved(order)
        edges = self.inputs.boundaries(order)
        for part in even_parts(edges, batch_size, self.inputs.lengths(order[edges[:-1]])):
            first, last = edges[list(part)].tolist()
            begin, end = edges[list(_share(*part, rank, n_ranks))].tolist()
            own = slice(int(ends[begin]), int(ends[end]))
            n_labels = max(int(ends[last] - ends[first]), 1)
            inputs = self.inputs.rows(items[begin:end])
            features = self.inputs.noise_features(inputs)
            yield CrowdBatch(
                items[begin:end],
                inputs,
                AnnotationBatch(position[own] - begin, annotator[own], label[own], features),
                label_weight=(own.stop - own.start) * n_ranks / n_labels,
                item_weight=(end - begin) * n_ranks / (last - first),
            )

    def _moved(self, array: AnyArray) -> Tensor:
        kind = np.float32 if array.dtype.kind == "f" else np.int64
        return torch.from_numpy(array.astype(kind)).to(self.device)


def _by_length(
    unit: AnyArray, lengths: AnyArray, per_batch: int, rng: np.random.Generator
) -> AnyArray:
    """A random order in which batches hold units of similar length, to pad little.

    The units of every `_SORTED` batches are sorted by length; then all batches are shuffled.
    """
    batches: list[AnyArray] = []
    for first in range(0, len(unit), per_batch * _SORTED):
        some = unit[first : first + per_batch * _SORTED]
        some = some[np.argsort(lengths[some], kind="stable")]
        batches += np.array_split(some, -(-len(some) // per_batch))
    return np.concatenate([batches[place] for place in rng.permutation(len(batches))])


def _share(first: int, last: int, rank: int, n_ranks: int) -> tuple[int, int]:
    size = last - first
    return first + size * rank // n_ranks, first + size * (rank + 1) // n_ranks
