"""A torch dataset of items with their annotations, for training loops of your own."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from manyhands.annotations import Annotations
from manyhands.core.errors import DataError
from manyhands.noise.batch import AnnotationBatch


class TensorRows(Dataset[dict[str, Tensor]]):
    """The rows of a dictionary of tensors, each a dictionary, as a tokenizer gives them stacked.

    >>> rows = TensorRows({"ids": torch.tensor([[1, 2], [3, 4]])})
    >>> len(rows), rows[1]
    (2, {'ids': tensor([3, 4])})
    """

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self.tensors = dict(tensors)
        sizes = {name: len(each) for name, each in self.tensors.items()}
        if len(set(sizes.values())) != 1:
            raise DataError(f"inputs: every tensor has a row per item; got {sizes}")

    def __len__(self) -> int:
        return len(next(iter(self.tensors.values())))

    def __getitem__(self, row: int) -> dict[str, Tensor]:
        return {name: each[row] for name, each in self.tensors.items()}


def is_stacked(inputs: Any) -> bool:
    """Whether inputs are a dictionary of tensors with a row per item."""
    return isinstance(inputs, Mapping) and all(isinstance(each, Tensor) for each in inputs.values())


class AnnotatedDataset(Dataset[tuple[Any, Tensor, Tensor]]):
    """A torch dataset whose entry i is (input, annotators, labels) of item i.

    Inputs are a tensor, a list, a dataset, or a dictionary of tensors with a row per item, such as
    `tokenizer(texts, padding=True, return_tensors="pt")`. Labels are class codes (n,); of labels
    that are sets, 1 for each class of a set and 0 for the others, shape (n, k).
    """

    def __init__(self, inputs: Any, annotations: Annotations) -> None:
        inputs = TensorRows(inputs) if is_stacked(inputs) else inputs
        if len(inputs) != annotations.n_items:
            raise DataError(
                f"{len(inputs)} inputs for {annotations.n_items} items; input i belongs to item i"
            )
        if annotations.kind != "multilabel":
            annotations = annotations.as_kind("classes")
        self.inputs = inputs
        self._offsets = annotations.item_offsets
        self._annotator = torch.from_numpy(annotations.annotator.astype(np.int64))
        if annotations.kind == "multilabel":
            self._label = torch.from_numpy(annotations.members.astype(np.float32))
        else:
            self._label = torch.from_numpy(annotations.label.astype(np.int64))

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, item: int) -> tuple[Any, Tensor, Tensor]:
        own = slice(int(self._offsets[item]), int(self._offsets[item + 1]))
        return self.inputs[item], self._annotator[own], self._label[own]


def collate(
    entries: Sequence[tuple[Any, Tensor, Tensor]],
) -> tuple[Any, AnnotationBatch]:
    """Stack inputs and concatenate annotations: the `collate_fn` of a torch DataLoader.

    The inputs are also the features of the batch, which some noise models need. Inputs that are
    dictionaries, such as those of a tokenizer, give a dictionary of stacked tensors; the batch then
    has no features.

    >>> inputs, batch = collate([(torch.ones(2), torch.tensor([3, 5]), torch.tensor([0, 1]))])
    >>> inputs.shape, batch.row.tolist(), batch.annotator.tolist()
    (torch.Size([1, 2]), [0, 0], [3, 5])
    """
    inputs = stack_inputs([entry[0] for entry in entries])
    counts = torch.tensor([len(entry[1]) for entry in entries])
    return inputs, AnnotationBatch(
        torch.arange(len(entries)).repeat_interleave(counts),
        torch.cat([entry[1] for entry in entries]),
        torch.cat([entry[2] for entry in entries]),
        features=None if isinstance(inputs, Mapping) else inputs,
    )


def stack_inputs(entries: Sequence[Any]) -> Any:
    """The inputs of some items as one tensor, or as a dictionary of tensors.

    >>> stack_inputs([{"ids": [1, 2]}, {"ids": [3, 4]}])
    {'ids': tensor([[1, 2],
            [3, 4]])}
    """
    first = entries[0]
    if not isinstance(first, Mapping):
        return torch.stack([torch.as_tensor(entry) for entry in entries])
    if any(entry.keys() != first.keys() for entry in entries):
        raise DataError(
            f"inputs have different keys ({', '.join(map(str, first))} and others); give every "
            "item the same"
        )
    return {str(name): _stacked(name, [entry[name] for entry in entries]) for name in first}


def _stacked(name: Any, values: Sequence[Any]) -> Tensor:
    try:
        tensors = [torch.as_tensor(value) for value in values]
    except (TypeError, ValueError, RuntimeError):
        kind = type(values[0]).__name__
        raise DataError(
            f"inputs: {name!r} holds {kind}, not tensors or numbers; leave it out, or encode it"
        ) from None
    shapes = sorted({tuple(each.shape) for each in tensors})
    if len(shapes) > 1:
        raise DataError(
            f"inputs: {name!r} has different shapes, such as {shapes[0]} and {shapes[-1]}; pad "
            "them to one length, as a tokenizer does with padding='max_length'"
        )
    return torch.stack(tensors)
