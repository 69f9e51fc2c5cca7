"""Inputs in a file that is mapped into memory: of a row only what is used is read."""

import mmap
from typing import Any

import numpy as np
import torch
from torch import Tensor

from manyhands.core.arrays import AnyArray
from manyhands.engine.checked_numbers import checked_array
from manyhands.engine.inputs import CONSTANT, Inputs, Moments

_CHUNK = 1 << 24  # bytes of the file that are looked at at a time


def is_mapped(features: Any) -> bool:
    """Whether features are a whole file of numbers, as `np.load(path, mmap_mode="r")` maps it.

    A part of one does not know its place in the file, and is read as any other array.
    """
    whole = isinstance(features, np.memmap) and isinstance(features.base, mmap.mmap)
    return whole and features.ndim >= 2 and features.flags.c_contiguous


class MappedInputs(Inputs):
    """Rows of a mapped array, which are read a batch at a time and become 32-bit floats.

    The file is read once from start to end to check that all numbers are finite, and for their
    moments. Another process maps the file itself: only its name is sent.
    """

    def __init__(self, array: Any) -> None:
        self.array, self.shape = array, tuple(map(int, array.shape[1:]))
        self.device = torch.device("cpu")
        self._moments = self._looked_at()

    def __len__(self) -> int:
        return len(self.array)

    def __getstate__(self) -> dict[str, Any]:
        """The state without the array: a pickle of it would hold the whole file."""
        array = self.array
        place = (str(array.filename), array.dtype.str, int(array.offset), tuple(array.shape))
        return {**self.__dict__, "array": place}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Map the file again."""
        name, dtype, offset, shape = state["array"]
        array = np.memmap(name, mode="r", dtype=dtype, offset=offset, shape=shape)
        self.__dict__.update(state | {"array": array})

    def rows(self, index: Tensor) -> Tensor:
        """See `Inputs.rows`."""
        return torch.from_numpy(self._read(index.cpu().numpy())).to(self.device)

    def moments(self) -> Moments:
        """See `Inputs.moments`."""
        return self._moments

    def arrays(self) -> list[AnyArray]:
        """See `Inputs.arrays`."""
        return [self.array]

    def _read(self, rows: AnyArray | slice) -> AnyArray:
        """Some rows of the file, which are in memory then."""
        with np.errstate(over="ignore"):
            return np.array(self.array[rows], dtype=np.float32)

    def _looked_at(self) -> Moments:
        """The moments of all rows, of which every number is finite.

        Means m and sums of squares s of the rows so far are joined with those of a chunk::

            d = m' - m,   m <- m + d n' / N,   s <- s + s' + d^2 n n' / N,   N = n + n'
        """
        mean, squares, n = np.zeros(self.shape), np.zeros(self.shape), 0
        size = max(_CHUNK // max(self.array[:1].nbytes, 1), 1)
        for first in range(0, len(self), size):
            wide = checked_array(self._read(slice(first, first + size)), None, first)
            wide = wide.astype(np.float64)
            off = wide.mean(axis=0) - mean
            total = n + len(wide)
            squares += ((wide - wide.mean(axis=0)) ** 2).sum(axis=0)
            squares += off**2 * (n * len(wide) / total)
            mean, n = mean + off * (len(wide) / total), total
        variance = squares / max(n, 1)
        variance[variance < (CONSTANT * mean) ** 2] = 0.0
        square = float((variance + mean**2).mean())
        deviation = torch.from_numpy(np.sqrt(variance)).float()
        return Moments(torch.from_numpy(mean).float(), deviation, square**0.5)
