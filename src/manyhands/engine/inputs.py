"""The inputs of items, whatever holds them: tensors, sparse matrices, torch datasets."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.utils.data import Dataset, default_collate

from manyhands.annotations.grouping import run_indices
from manyhands.core.arrays import AnyArray, digest
from manyhands.core.errors import DataError

_MAX_DEVICE_SHARE = 0.5  # of a device's free memory that inputs may take
_MAX_TOKENS = 1 << 18  # of a batch, with padding: layers hold hundreds of numbers for each
_FEW_TOKENS, _MAX_PADDING = 1 << 14, 4  # a larger batch is at most so many times its tokens
_COLUMNS = 1024  # features whose moments are computed at a time, in double precision
CONSTANT = 1e-6  # a deviation of this share of the mean is rounding


@dataclass(frozen=True)
class Moments:
    """The mean and the deviation of every feature, and the root mean square of all features."""

    mean: Tensor
    deviation: Tensor
    rms: float
    keeps_zeros: bool = False  # a sparse matrix is never shifted


@dataclass(frozen=True)
class Scaling:
    """(x - shift) * factor, with one pair for all features or one for each."""

    shift: Tensor
    factor: Tensor

    def __call__(self, rows: Tensor) -> Tensor:
        """Some rows of features, scaled."""
        moved = rows - self.shift.to(rows.device)
        return moved.mul_(self.factor.to(rows.device))


class Inputs(ABC):
    """The inputs of items; `shape` is the shape of one item's input."""

    shape: tuple[int, ...]
    device: torch.device
    most_tokens = _MAX_TOKENS  # of a batch, with padding
    stacks: ClassVar[bool] = False  # whether all items have one shape and stay on the device

    @abstractmethod
    def __len__(self) -> int:
        """The number of items."""

    @abstractmethod
    def rows(self, index: Tensor) -> Tensor:
        """The inputs of some items, on the device."""

    def to(self, device: torch.device) -> "Inputs":
        """The same inputs, with rows on this device."""
        self.device = device
        return self

    def init_embeddings(self, network: nn.Module) -> None:  # noqa: B027
        """Initialise the embeddings of a new network, for inputs that have vectors of words."""

    @property
    def tokens_per_item(self) -> float:
        """The mean number of tokens per item; 1 where an item is no text."""
        return 1.0

    @property
    def noise_feature_shape(self) -> tuple[int, ...]:
        """The shape of the features that a noise model gets for one item."""
        return self.shape

    def noise_features(self, rows: Tensor) -> Tensor:
        """The features that a noise model gets for these rows, one row of numbers per item."""
        return rows if rows.is_floating_point() else rows.float()

    def boundaries(self, items: AnyArray) -> AnyArray:
        """Places between these items where a batch may end, with 0 and their number."""
        return np.arange(len(items) + 1)

    @property
    def sentence_starts(self) -> AnyArray | None:
        """Which items begin a sentence (i,), where items are tokens; None where they are not."""
        return None

    @property
    def words(self) -> tuple[AnyArray, AnyArray, AnyArray] | None:
        """Codes of words, where each text or sentence begins, and vectors of codes; or None."""
        return None

    def lengths(self, items: AnyArray) -> AnyArray | None:
        """The lengths of the items' inputs; None where all inputs have the same shape."""
        return None

    def items_at_once(self, most: int) -> int:
        """How many items a network evaluates at a time, at most `most`."""
        return most

    def moments(self) -> Moments | None:
        """The moments of the features; None for inputs that are not scaled."""
        return None

    def scaled(self, scaling: Scaling) -> "Inputs":
        """The same items with scaled features."""
        return ScaledInputs(self, scaling)

    def arrays(self) -> list[AnyArray]:
        """Arrays that hold all these inputs; none where they are not in memory."""
        return []

    @cached_property
    def digest(self) -> str:
        """A checksum of every value, which tells these inputs from others."""
        return digest(*self.arrays())

    def parts(self, items: AnyArray, size: int) -> list[AnyArray]:
        """These items in parts of about `size` items that a network evaluates at once."""
        if len(items) == 0:
            return [items]
        edges, at_once = self.boundaries(items), self.items_at_once(size)
        cut = even_parts(edges, at_once, self.lengths(items[edges[:-1]]), self.most_tokens)
        return [items[edges[first] : edges[last]] for first, last in cut]

    def by_length(self, items: AnyArray) -> AnyArray:
        """The order of these items by length, which needs the least padding."""
        edges = self.boundaries(items)
        lengths = self.lengths(items[edges[:-1]])
        if lengths is None:
            return np.arange(len(items))
        return run_indices(edges, np.argsort(lengths, kind="stable"))


def first_of_runs(row_of: AnyArray) -> AnyArray:
    """Which items are the first ones of their row.

    >>> first_of_runs(np.array([0, 0, 1, 1, 1])).tolist()
    [True, False, True, False, False]
    """
    return np.asarray(np.diff(row_of, prepend=-1) != 0)


def even_parts(
    edges: AnyArray, size: int, length_u: AnyArray | None = None, most_tokens: int = _MAX_TOKENS
) -> list[tuple[int, int]]:
    """Split units with these edges into the fewest parts of about `size`, as equal as possible.

    A small last part would make a noisy step, and one of a single item breaks batch normalisation.
    A part is split again where units of these lengths, padded to the longest, would be mostly
    padding or take too much memory.
    """
    n_parts = -(-int(edges[-1]) // size)
    wanted = np.linspace(0, edges[-1], n_parts + 1).round() if n_parts else np.zeros(1)
    parts = list(pairwise(np.unique(np.searchsorted(edges, wanted)).tolist()))
    if length_u is None:
        return parts
    found = [_padded_parts(first, last, length_u, most_tokens) for first, last in parts]
    return [each for runs in found for each in runs]


def _padded_parts(
    first: int, last: int, length_u: AnyArray, most: int
) -> Iterator[tuple[int, int]]:
    """Units `first` up to `last` in as few runs as padding allows."""
    length = length_u[first:last]
    if not _too_padded(last - first, length.max(), length.sum(), most):
        yield first, last
        return
    begin, longest, total = first, 0, 0
    for unit, length in enumerate(length_u[first:last].tolist(), first):
        longest, total = max(longest, length), total + length
        if unit > begin and _too_padded(unit + 1 - begin, longest, total, most):
            yield begin, unit
            begin, longest, total = unit, length, length
    yield begin, last


def _too_padded(n_units: int, longest: int, total: int, most: int) -> bool:
    padded = n_units * longest
    return n_units > 1 and (padded > most or padded > max(_FEW_TOKENS, _MAX_PADDING * total))


class TensorInputs(Inputs):
    """Inputs in one tensor, which moves to the device once if it fits."""

    stacks = True

    def __init__(self, tensor: Tensor) -> None:
        self.tensor, self.shape, self.device = tensor, tuple(tensor.shape[1:]), tensor.device

    def __len__(self) -> int:
        return len(self.tensor)

    def to(self, device: torch.device) -> "TensorInputs":
        """The same tensor on the device; it stays where it is if the device is too small."""
        moved = TensorInputs(self.tensor.to(device) if fits(self.tensor, device) else self.tensor)
        moved.device = device
        return moved

    def rows(self, index: Tensor) -> Tensor:
        """See `Inputs.rows`."""
        if self.tensor.device == index.device:
            return self.tensor.index_select(0, index)
        chosen = self.tensor.index_select(0, index.to(self.tensor.device))
        return chosen.to(self.device, non_blocking=True)

    def moments(self) -> Moments | None:
        """See `Inputs.moments`; integers that a network looks up are not scaled."""
        if not self.tensor.is_floating_point():
            return None
        # In double precision: the square of a large number is no 32-bit float.
        flat = self.tensor.flatten(1)
        parts = [flat[:, first : first + _COLUMNS] for first in range(0, flat.shape[1], _COLUMNS)]
        moments = [torch.var_mean(part.cpu().double(), dim=0, correction=0) for part in parts]
        variance = torch.cat([each[0] for each in moments]).reshape(self.shape)
        mean = torch.cat([each[1] for each in moments]).reshape(self.shape)
        variance[variance < (CONSTANT * mean).square()] = 0.0
        square = float((variance + mean.square()).mean())
        return Moments(mean.float(), variance.sqrt().float(), square**0.5)

    def scaled(self, scaling: Scaling) -> Inputs:
        """See `Inputs.scaled`."""
        return TensorInputs(scaling(self.tensor))

    def arrays(self) -> list[AnyArray]:
        """See `Inputs.arrays`."""
        return [self.tensor.cpu().numpy()]


class SparseInputs(Inputs):
    """Rows of a scipy sparse matrix; a batch at a time is made dense."""

    def __init__(self, matrix: Any) -> None:
        self.matrix, self.shape = matrix.tocsr(), (matrix.shape[1],)
        self.device = torch.device("cpu")

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def rows(self, index: Tensor) -> Tensor:
        """See `Inputs.rows`."""
        dense = self.matrix[index.cpu().numpy()].toarray()
        return torch.from_numpy(np.asarray(dense, dtype=np.float32)).to(self.device)

    def moments(self) -> Moments:
        """See `Inputs.moments`."""
        matrix = self.matrix.astype(np.float64)
        mean_j = np.asarray(matrix.mean(axis=0)).ravel()
        square_j = np.asarray(matrix.multiply(matrix).mean(axis=0)).ravel()
        deviation_j = np.sqrt(np.maximum(square_j - mean_j**2, 0.0))
        mean, deviation = (torch.from_numpy(each).float() for each in (mean_j, deviation_j))
        return Moments(mean, deviation, float(square_j.mean()) ** 0.5, keeps_zeros=True)

    def scaled(self, scaling: Scaling) -> Inputs:
        """See `Inputs.scaled`; a shift would fill the zeros, so it is applied to dense rows."""
        if bool(scaling.shift.any()):
            return super().scaled(scaling)
        factor = scaling.factor.expand(self.shape).numpy()
        return SparseInputs(self.matrix @ sparse.diags_array(factor))

    def arrays(self) -> list[AnyArray]:
        """See `Inputs.arrays`."""
        return [self.matrix.data, self.matrix.indices, self.matrix.indptr]


class DatasetInputs(Inputs):
    """A torch Dataset; of entries that are tuples, such as (input, target), the first is used.

    Numbers become 32-bit floats, except integers with `keep_integers`.
    """

    def __init__(self, dataset: Dataset[Any], *, keep_integers: bool = False) -> None:
        self.dataset, self.keep_integers = dataset, keep_integers
        self.device = torch.device("cpu")
        self.shape = tuple(self._entry(0).shape)

    def __len__(self) -> int:
        return len(self.dataset)  # type: ignore[arg-type]

    def rows(self, index: Tensor) -> Tensor:
        """See `Inputs.rows`."""
        if len(index) == 0:
            return torch.zeros(0, *self.shape, device=self.device)
        entries = [self._entry(i) for i in index.tolist()]
        for item, entry in zip(index.tolist(), entries, strict=True):
            if tuple(entry.shape) != self.shape:
                raise DataError(
                    f"features: entry {item} of the Dataset has shape {tuple(entry.shape)}, and "
                    f"entry 0 {self.shape}; give all the same"
                )
        stacked: Tensor = default_collate(entries)
        return stacked.to(self.device, non_blocking=True)

    def _entry(self, item: int) -> Tensor:
        entry = self.dataset[item]
        entry = entry[0] if isinstance(entry, tuple | list) else entry
        try:
            value = torch.as_tensor(entry)
        except (TypeError, ValueError, RuntimeError):
            raise DataError(
                f"features: entry {item} of the Dataset is {type(entry).__name__}, not a tensor or "
                "numbers"
            ) from None
        integer = not value.is_floating_point() and value.dtype != torch.bool
        return value if integer and self.keep_integers else value.float()


class ScaledInputs(Inputs):
    """Inputs that are scaled a batch at a time."""

    def __init__(self, inputs: Inputs, scaling: Scaling) -> None:
        self.inputs, self.scaling = inputs, scaling
        self.shape, self.device = inputs.shape, inputs.device

    def __len__(self) -> int:
        return len(self.inputs)

    def to(self, device: torch.device) -> "ScaledInputs":
        """See `Inputs.to`."""
        return ScaledInputs(self.inputs.to(device), self.scaling)

    def rows(self, index: Tensor) -> Tensor:
        """See `Inputs.rows`."""
        return self.scaling(self.inputs.rows(index))

    def arrays(self) -> list[AnyArray]:
        """See `Inputs.arrays`."""
        scaling = (self.scaling.shift, self.scaling.factor)
        return [*self.inputs.arrays(), *(each.cpu().numpy() for each in scaling)]


def fits(tensor: Tensor, device: torch.device) -> bool:
    """Whether a tensor takes only a part of the memory that is free on a device."""
    if device.type != "cuda":
        return True
    free, _ = torch.cuda.mem_get_info(device)
    return tensor.nbytes < _MAX_DEVICE_SHARE * free
