"""Names for the array types of signatures, and arrays that several rooms make."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyhands.core.settings import require

AnyArray = NDArray[Any]
Bools = NDArray[np.bool_]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Offsets = NDArray[np.int64]


def read_only(array: AnyArray) -> AnyArray:
    """A view of the array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def object_array(values: Sequence[Any] | AnyArray) -> AnyArray:
    """A one-dimensional array of Python objects, also where the objects are sequences.

    >>> object_array([(1, 2), (3, 4)]).shape
    (2,)
    """
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "Oi":
        return values
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def digest(*arrays: AnyArray) -> str:
    """A checksum of whole arrays: their shapes, their types and every value or name.

    >>> digest(np.arange(6)) == digest(np.arange(6).reshape(2, 3))
    False
    """
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(f"{array.dtype.str} {array.shape} ".encode())
        if array.dtype.kind in "OU":  # an object is an address in memory; its text has a length
            texts = [str(each) for each in array.ravel().tolist()]
            whole.update(repr(texts).encode(errors="backslashreplace"))
        else:
            whole.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return whole.hexdigest()[:16]


def symmetric_confusions(accuracy_a: Floats, n_classes: int) -> Floats:
    """Confusions (a, k, l) with the accuracy on the diagonal and equal errors beside it.

    Row = true class, column = label.

    ::

        C[a, k, k] = accuracy_a,   C[a, k, l] = (1 - accuracy_a) / (K - 1)

    >>> symmetric_confusions(np.array([0.8]), 3)[0, 0].round(2).tolist()
    [0.8, 0.1, 0.1]
    """
    in_range = bool(np.all((accuracy_a >= 0) & (accuracy_a <= 1)))
    require(in_range, "accuracy_a", "in 0..1", accuracy_a)
    error_a = (1.0 - accuracy_a) / max(n_classes - 1, 1)
    confusion_akl = np.tile(error_a[:, None, None], (1, n_classes, n_classes))
    diagonal = np.arange(n_classes)
    confusion_akl[:, diagonal, diagonal] = symmetric_diagonals(accuracy_a, n_classes)
    return confusion_akl


def symmetric_diagonals(accuracy_a: Floats, n_classes: int) -> Floats:
    """The diagonals (a, k) of `symmetric_confusions`; nobody is wrong about a single class."""
    right_a1 = accuracy_a[:, None] if n_classes > 1 else np.ones((len(accuracy_a), 1))
    return np.repeat(right_a1, n_classes, axis=1)
