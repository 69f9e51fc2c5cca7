"""Arrays as public corpora store them, with errors that name the file."""

from pathlib import Path

import numpy as np

from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError


def read_codes(path: Path) -> AnyArray:
    """One whole number per line."""
    try:
        return np.loadtxt(path, dtype=np.int64, ndmin=1)
    except ValueError as error:
        raise DataError(f"{path}: expected one whole number per line ({error})") from None


def read_array(path: Path) -> AnyArray:
    """The rows of a .npy file, flattened to vectors."""
    try:
        rows = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError):
        raise DataError(f"{path}: not a .npy array, or cut short") from None
    return as_rows(rows)


def read_archive(path: Path, name: str) -> AnyArray:
    """One array of an .npz file, flattened to vectors."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            if name not in archive:
                raise DataError(f"{path}: holds no array {name!r}; it has {', '.join(archive)}")
            return as_rows(archive[name])
    except (ValueError, EOFError, OSError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path}: not an .npz archive, or cut short") from None


def as_rows(array: AnyArray) -> AnyArray:
    """An array of any shape as one vector of float32 numbers per row."""
    return np.asarray(array, dtype=np.float32).reshape(len(array), -1)
