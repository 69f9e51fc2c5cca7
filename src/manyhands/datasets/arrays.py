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
    try:
        return np.loadtxt(path, dtype=np.int64, ndmin=1)
    except ValueError as error:
        raise DataError(f"{path}: expected one whole number per line ({error})") from None


def read_numbers(path: Path) -> Floats:
    """One finite number per line."""
    try:
        numbers = np.loadtxt(path, dtype=np.float64, ndmin=1)
    except ValueError as error:
        raise DataError(f"{path}: expected one number per line ({error})") from None
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise DataError(f"{path}: expected one finite number per line")
    return numbers


def read_npy_rows(path: Path) -> AnyArray:
    """The rows of a .npy file, flattened to vectors."""
    return as_rows(read_npy(path))


def read_npz_rows(path: Path, name: str) -> AnyArray:
    """The rows of one array of an .npz file, flattened to vectors."""
    return as_rows(read_npz(path, name))


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
