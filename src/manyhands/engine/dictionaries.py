"""Datasets whose entries are dictionaries of tensors, as tokenizers and Hugging Face give them."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from manyhands.core.errors import DataError
from manyhands.engine.inputs import Inputs
from manyhands.noise.dataset import stack_inputs


class DictionaryInputs(Inputs):
    """A dataset of dictionaries; a batch is a dictionary of stacked tensors.

    Whole numbers and bools stay as they are, other numbers become 32-bit floats. A noise model gets
    the entries that are no whole numbers, as one row of numbers per item; `shape` is the shape of
    this row. Text in an entry is refused.
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset, self.device = dataset, torch.device("cpu")
        first = self.rows(torch.zeros(1, dtype=torch.int64))
        numbers = sum(each.numel() for each in first.values() if each.is_floating_point())
        self.has_numbers = numbers > 0
        self.shape = (max(int(numbers), 1),)

    def __len__(self) -> int:
        return len(self.dataset)

    def rows(self, index: Tensor) -> dict[str, Tensor]:  # type: ignore[override]
        """The inputs of some items by name, on the device."""
        entries = [entry_of(self.dataset, item) for item in index.tolist()]
        if not entries:  # the share of a process in a small batch
            return {name: each[:0] for name, each in self.rows(torch.zeros(1).long()).items()}
        stacked = stack_inputs(entries)
        return {
            name: (each.float() if each.is_floating_point() else each).to(self.device)
            for name, each in stacked.items()
        }

    def noise_features(self, rows: Mapping[str, Tensor]) -> Tensor | None:  # type: ignore[override]
        """See `Inputs.noise_features`; None where all entries are whole numbers."""
        numbers = [each.flatten(1) for each in rows.values() if each.is_floating_point()]
        return torch.cat(numbers, dim=1) if numbers else None


def entry_of(dataset: Any, item: int) -> Any:
    """The input of an item; of entries that are tuples, such as (input, target), the first."""
    entry = dataset[item]
    if isinstance(entry, tuple | list):
        if not entry:
            raise DataError(f"features: entry {item} of the Dataset is empty")
        entry = entry[0]
    return entry


def has_dictionaries(dataset: Any) -> bool:
    """Whether the entries of a dataset are dictionaries."""
    return isinstance(entry_of(dataset, 0), Mapping)
