"""Batches of several runs at once: every tensor has an axis of runs, annotations are padded."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from manyhands.core.arrays import AnyArray
from manyhands.engine.batches import CrowdBatch, CrowdData
from manyhands.noise import AnnotationBatch

_Part = tuple[Tensor, Tensor, Tensor]  # items (r, b); row, annotator and label (3, r, n); mask


class StackedCrowd:
    """The labels of several runs about the same items.

    A batch is a `CrowdBatch` whose tensors begin with an axis of runs. Runs have batches of the
    same number of items. Numbers of annotations differ: the mask tells annotations from padding.
    """

    def __init__(self, crowds: Sequence[CrowdData]) -> None:
        self.crowds, self.device = crowds, crowds[0].device
        self.inputs = crowds[0].inputs
        self._labelled: list[_Part] | None = None

    def shuffled(self, rngs: Sequence[np.random.Generator], batch_size: int) -> AnyArray:
        """The labelled items of every run in a random order of its own, shape (r, i)."""
        pairs = zip(self.crowds, rngs, strict=True)
        return np.stack([crowd.shuffled(rng, batch_size) for crowd, rng in pairs])

    def n_batches(self, order_ri: AnyArray, batch_size: int) -> int:
        """How many batches `batches` makes of items in this order."""
        return self.crowds[0].n_batches(order_ri[0], batch_size)

    def batches(self, order_ri: AnyArray, batch_size: int) -> Iterator[CrowdBatch]:
        """The batches that `CrowdData.batches` makes for every run."""
        whole_r = np.full(len(order_ri), order_ri.shape[1])
        parts = self.crowds[0].parts(order_ri[0], batch_size)
        return (self._batch(*part) for part in self._padded(order_ri, whole_r, parts))

    def evaluated(self, most: int) -> Iterator[CrowdBatch]:
        """All labelled items of every run, at most `most` of each at a time."""
        if self._labelled is None:  # their inputs are not kept: they may take much memory
            self._labelled = self._padded_labelled(most)
        return (self._batch(*part) for part in self._labelled)

    def _padded_labelled(self, most: int) -> list[_Part]:
        n_r = np.array([len(crowd.labelled) for crowd in self.crowds])
        order_ri = np.stack([np.resize(each.labelled, n_r.max()) for each in self.crowds])
        edges = [*range(0, n_r.max(), self.inputs.items_at_once(most)), int(n_r.max())]
        return self._padded(order_ri, n_r, list(pairwise(edges)))

    def _padded(
        self, order_ri: AnyArray, n_r: AnyArray, parts: Sequence[tuple[int, int]]
    ) -> list[_Part]:
        """These parts of the order on the device; of a run, only the first `n_r` items count."""
        count_ri = np.stack([
            crowd.annotations.labels_per_item[order] * (np.arange(len(order)) < n_items)
            for crowd, order, n_items in zip(self.crowds, order_ri, n_r, strict=True)
        ])  # fmt: skip
        end_ri = np.pad(np.cumsum(count_ri, axis=1), ((0, 0), (1, 0)))
        first_s, last_s = np.array(parts).T
        n_rs = end_ri[:, last_s] - end_ri[:, first_s]
        filled = np.zeros((3, len(parts), len(order_ri), max(int(n_rs.max()), 1)), dtype=np.int64)
        step_i = np.repeat(np.arange(len(parts)), last_s - first_s)
        for r, crowd in enumerate(self.crowds):
            ann, order, count_i = crowd.annotations, order_ri[r], count_ri[r]
            total = end_ri[r, -1]
            source = np.arange(total) + np.repeat(ann.item_offsets[order] - end_ri[r, :-1], count_i)
            position = np.repeat(np.arange(len(order)), count_i)
            step = step_i[position]
            place = np.arange(total) - end_ri[r, first_s][step]
            values = position - first_s[step], ann.annotator[source], ann.label[source]
            filled[:, step, r, place] = np.stack(values)
        items_ri, filled_csrn, n_sr1 = map(self._moved, (order_ri, filled, n_rs.T[..., None]))
        mask_srn = (torch.arange(filled.shape[-1], device=self.device) < n_sr1).float()
        return [
            (items_ri[:, first:last], filled_csrn[:, s], mask_srn[s])
            for s, (first, last) in enumerate(parts)
        ]

    def _batch(self, items_rb: Tensor, filled_crn: Tensor, mask_rn: Tensor) -> CrowdBatch:
        rows = self.inputs.rows(items_rb.reshape(-1))
        features = self.inputs.noise_features(rows)
        shape = items_rb.shape
        inputs, features = (each.reshape(*shape, *each.shape[1:]) for each in (rows, features))
        row_rn, annotator_rn, label_rn = filled_crn
        given = AnnotationBatch(row_rn, annotator_rn, label_rn, features, mask=mask_rn)
        return CrowdBatch(items_rb, inputs, given)

    def _moved(self, array: AnyArray) -> Tensor:
        return torch.from_numpy(array.astype(np.int64)).to(self.device)
