"""A torch dataset of items with their annotations, for training loops of your own."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from manyhands.annotations import Annotations
from manyhands.core.errors import DataError
from manyhands.noise.base import AnnotationBatch


class AnnotatedDataset(Dataset[tuple[Any, Tensor, Tensor]]):
    """A torch dataset whose entry i is (input, annotators, labels) of item i."""

    def __init__(self, inputs: Any, annotations: Annotations) -> None:
        if len(inputs) != annotations.n_items:
            raise DataError(
                f"{len(inputs)} inputs for {annotations.n_items} items; input i belongs to item i"
            )
        annotations = annotations.as_kind("classes")
        self.inputs = inputs
        self._offsets = annotations.item_offsets
        self._annotator = torch.from_numpy(annotations.annotator.astype(np.int64))
        self._label = torch.from_numpy(annotations.label.astype(np.int64))

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, item: int) -> tuple[Any, Tensor, Tensor]:
        own = slice(int(self._offsets[item]), int(self._offsets[item + 1]))
        return self.inputs[item], self._annotator[own], self._label[own]


def collate(entries: Sequence[tuple[Any, Tensor, Tensor]]) -> tuple[Tensor, AnnotationBatch]:
    """Stack inputs and concatenate annotations: the `collate_fn` of a torch DataLoader.

    The inputs are also the features of the batch, which some noise models need.

    >>> inputs, batch = collate([(torch.ones(2), torch.tensor([3, 5]), torch.tensor([0, 1]))])
    >>> inputs.shape, batch.row.tolist(), batch.annotator.tolist()
    (torch.Size([1, 2]), [0, 0], [3, 5])
    """
    inputs = torch.stack([torch.as_tensor(entry[0]) for entry in entries])
    counts = torch.tensor([len(entry[1]) for entry in entries])
    return inputs, AnnotationBatch(
        torch.arange(len(entries)).repeat_interleave(counts),
        torch.cat([entry[1] for entry in entries]),
        torch.cat([entry[2] for entry in entries]),
        features=inputs,
    )
