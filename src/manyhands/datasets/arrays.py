"""Read the arrays of public corpora; errors name the file."""

import zlib
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError

# what numpy raises for a truncated file or another format
_UNREADABLE = (ValueError, TypeError, EOFError, OSError, BadZipFile, zlib.error)


def read_codes(path: Path) -> AnyArray:
    """One whole number per line."""
    return _read_lines(path, "whole number", np.int64)


def read_numbers(path: Path) -> Floats:
    """One finite number per line."""
    numbers = _read_lines(path, "number", np.float64)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise DataError(f"{path}: expected one finite number per line")
    return numbers


def _read_lines(path: Path, what: str, dtype: type) -> AnyArray:
    try:
        return np.loadtxt(path, dtype=dtype, ndmin=1)
    except ValueError as error:
        raise DataError(f"{path}: expected one {what} per line ({error})") from None


def read_npy(path: Path) -> AnyArray:
    """The array of a .npy file, unchanged."""
    try:
        with path.open("rb") as file:
            array = np.load(file, allow_pickle=False)
    except _UNREADABLE:
        array = None
    if not isinstance(array, np.ndarray) or array.ndim == 0:
        raise DataError(f"{path}: not a .npy array, or cut short")
    return array


def read_npz(path: Path, name: str) -> AnyArray:
    """One array of an .npz file, unchanged."""
    try:
        # opened here, because numpy does not close an invalid archive
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            known = list(archive)
            array = archive[name] if name in known else None
    except _UNREADABLE:
        raise DataError(f"{path}: not an .npz archive, or cut short") from None
    if array is None:
        raise DataError(f"{path}: has no array {name!r}; known: {', '.join(known)}")
    if not isinstance(array, np.ndarray) or array.ndim == 0:
        raise DataError(f"{path}: {name!r} is not an array of rows")
    return array


def as_rows(array: AnyArray) -> AnyArray:
    """An array of any shape as one float32 vector per row."""
    return np.asarray(array, dtype=np.float32).reshape(len(array), -1)
