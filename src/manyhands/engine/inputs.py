"""What a network sees of the items: rows by index, on the device where they are needed."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, default_collate

from manyhands.annotations.grouping import run_indices
from manyhands.core.arrays import AnyArray

_MOST_OF_DEVICE = 0.5  # share of a device's free memory that inputs may take
_MOST_WORDS = 1 << 18  # of a batch, with padding: layers hold hundreds of numbers for each
_FEW_WORDS, _MOST_PADDED = 1 << 14, 4  # from how many on a batch may have so many times its words


class Inputs(ABC):
    """Inputs of items, whatever holds them; `shape` is that of one item."""

    shape: tuple[int, ...]
    device: torch.device
    default_network: str | None = None  # the name of the network for them, where shape is not all

    @abstractmethod
    def __len__(self) -> int:
        """How many items there are."""

    @abstractmethod
    def rows(self, index: Tensor) -> Tensor:
        """The inputs of some items, on the device."""

    def to(self, device: torch.device) -> "Inputs":
        """The same inputs, handed out on this device from now on."""
        self.device = device
        return self

    def prepare(self, network: nn.Module) -> None:  # noqa: B027
        """Put into a new network what it starts from, if anything."""

    @property
    def words_per_item(self) -> float:
        """How many words an item has on average, where it has words; else 1."""
        return 1.0

    @property
    def seen_shape(self) -> tuple[int, ...]:
        """The shape of what noise models see of an item."""
        return self.shape

    def seen(self, rows: Tensor) -> Tensor:
        """What noise models see of the items in these rows, a row of numbers each."""
        return rows if rows.is_floating_point() else rows.float()

    def ends(self, items: AnyArray) -> AnyArray:
        """Between which of these items a batch may end; 0 and their number are among them."""
        return np.arange(len(items) + 1)

    def lengths(self, items: AnyArray) -> AnyArray | None:
        """How long the inputs of items are, where they differ: batches are of similar lengths."""
        return None

    def parts(self, items: AnyArray, most: int) -> list[AnyArray]:
        """These items in parts that a network can look at, about so many at a time."""
        if len(items) == 0:
            return [items]
        edges = self.ends(items)
        cut = even_parts(edges, most, self.lengths(items[edges[:-1]]))
        return [items[edges[first] : edges[last]] for first, last in cut]

    def by_length(self, items: AnyArray) -> AnyArray:
        """Places of these items, shortest first: in this order least is padded."""
        edges = self.ends(items)
        lengths = self.lengths(items[edges[:-1]])
        if lengths is None:
            return np.arange(len(items))
        return run_indices(edges, np.argsort(lengths, kind="stable"))


def even_parts(
    edges: AnyArray, most: int, length_u: AnyArray | None = None
) -> list[tuple[int, int]]:
    """Cut units that have these edges into the fewest parts of about this size, as equal as can be.

    A small last part would make a noisy step, and one of a single item breaks batch normalisation.
    A part is cut again where units of such lengths, padded to the longest, would be mostly padding
    or take too much memory.
    """
    n_parts = -(-int(edges[-1]) // most)
    wanted = np.linspace(0, edges[-1], n_parts + 1).round() if n_parts else np.zeros(1)
    parts = list(pairwise(np.unique(np.searchsorted(edges, wanted)).tolist()))
    if length_u is None:
        return parts
    return [each for first, last in parts for each in _padded_parts(first, last, length_u)]


def _padded_parts(first: int, last: int, length_u: AnyArray) -> Iterator[tuple[int, int]]:
    """Units `first` up to `last` in as few runs as padding allows."""
    if not _too_padded(last - first, length_u[first:last].max(), length_u[first:last].sum()):
        yield first, last
        return
    begin, longest, total = first, 0, 0
    for unit, length in enumerate(length_u[first:last].tolist(), first):
        longest, total = max(longest, length), total + length
        if unit > begin and _too_padded(unit + 1 - begin, longest, total):
            yield begin, unit
            begin, longest, total = unit, length, length
    yield begin, last


def _too_padded(n_units: int, longest: int, total: int) -> bool:
    padded = n_units * longest
    return n_units > 1 and (padded > _MOST_WORDS or padded > max(_FEW_WORDS, _MOST_PADDED * total))


class TensorInputs(Inputs):
    """Inputs in one tensor, which moves to the device once where it fits."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor, self.shape, self.device = tensor, tuple(tensor.shape[1:]), tensor.device

    def __len__(self) -> int:
        return len(self.tensor)

    def to(self, device: torch.device) -> "TensorInputs":
        """The same tensor on the device, or at hand for it where the device is too small."""
        moved = TensorInputs(self.tensor.to(device) if _fits(self.tensor, device) else self.tensor)
        moved.device = device
        return moved

    def rows(self, index: Tensor) -> Tensor:
        """See `Inputs.rows`."""
        if self.tensor.device == index.device:
            return self.tensor.index_select(0, index)
        chosen = self.tensor.index_select(0, index.to(self.tensor.device))
        return chosen.to(self.device, non_blocking=True)


class SparseInputs(Inputs):
    """Rows of a scipy sparse matrix, made dense a batch at a time."""

    def __init__(self, matrix: Any) -> None:
        self.matrix, self.shape = matrix.tocsr(), (matrix.shape[1],)
        self.device = torch.device("cpu")

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def rows(self, index: Tensor) -> Tensor:
        """See `Inputs.rows`."""
        dense = self.matrix[index.cpu().numpy()].toarray()
        return torch.from_numpy(np.asarray(dense, dtype=np.float32)).to(self.device)


class DatasetInputs(Inputs):
    """A torch Dataset; of entries that are tuples, such as (input, target), the first counts.

    Numbers become 32-bit floats, except whole ones with `keep_codes`.
    """

    def __init__(self, dataset: Dataset[Any], *, keep_codes: bool = False) -> None:
        self.dataset, self.keep_codes, self.device = dataset, keep_codes, torch.device("cpu")
        self.shape = tuple(self._one(0).shape)

    def __len__(self) -> int:
        return len(self.dataset)  # type: ignore[arg-type]

    def rows(self, index: Tensor) -> Tensor:
        """See `Inputs.rows`."""
        if len(index) == 0:
            return torch.zeros(0, *self.shape, device=self.device)
        stacked: Tensor = default_collate([self._one(i) for i in index.tolist()])
        return stacked.to(self.device, non_blocking=True)

    def _one(self, item: int) -> Tensor:
        entry = self.dataset[item]
        value = torch.as_tensor(entry[0] if isinstance(entry, tuple | list) else entry)
        whole = not value.is_floating_point() and value.dtype != torch.bool
        return value if whole and self.keep_codes else value.float()


def _fits(tensor: Tensor, device: torch.device) -> bool:
    if device.type != "cuda":
        return True
    free, _ = torch.cuda.mem_get_info(device)
    return tensor.nbytes < _MOST_OF_DEVICE * free
