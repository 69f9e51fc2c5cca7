"""Whether a delimited file has only whole numbers in their plain spelling.

Such files are common, and reading them as numbers takes half the time of reading names. But
"007" and "7" are different names, so every byte is checked first.
"""

import mmap
from pathlib import Path

import numpy as np

from manyhands.core.arrays import AnyArray
from manyhands.core.kernels import kernel, run_blocks

_BLOCK = 1 << 24
_LONGEST = 18  # digits that surely fit 64 bits


def holds_plain_integers(path: Path, delimiter: str) -> bool:
    """Whether all cells below the header are whole numbers without leading zeros or blanks."""
    with path.open("rb") as stream:
        # Not closed explicitly: a thread may use the array for a moment after the result is known.
        data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    body = data.find(b"\n") + 1
    if body == 0 or body == len(data) or not _plain_start(data[body : body + 4096], delimiter):
        return False
    return _every_block(np.frombuffer(data, dtype=np.uint8), body, ord(delimiter))


def _every_block(data: AnyArray, body: int, delimiter: int) -> bool:
    blocks = [(start, min(start + _BLOCK, len(data))) for start in range(body, len(data), _BLOCK)]
    return all(run_blocks(lambda block: _plain_cells(data, *block, delimiter), blocks))


def _plain_start(text: bytes, delimiter: str) -> bool:
    return not text.translate(None, b"0123456789-\r\n" + delimiter.encode())


@kernel
def _plain_cells(data: AnyArray, start: int, stop: int, delimiter: int) -> bool:
    """Check the cells that begin in [start, stop); a cell may end behind the block."""
    newline, carriage, minus, zero, nine = 10, 13, 45, 48, 57
    position = start
    before = data[start - 1]
    if before != newline and before != delimiter:  # noqa: PLR1714 - a tuple compiles slowly
        # the block before checks the cell that is cut here
        while position < stop and data[position] != newline and data[position] != delimiter:
            position += 1
        position += 1
    while position < stop:
        first = position
        if data[first] == minus:
            first += 1
        last = first
        while last < len(data) and zero <= data[last] <= nine:
            last += 1
        n_digits = last - first
        if n_digits == 0 or n_digits > _LONGEST:
            return False
        if data[first] == zero and (n_digits > 1 or first > position):
            return False
        if last < len(data) and data[last] == carriage:
            last += 1
        if last < len(data) and data[last] != newline and data[last] != delimiter:
            return False
        position = last + 1
    return True
