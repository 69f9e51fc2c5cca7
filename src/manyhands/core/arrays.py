"""Names for the array types of signatures, and two ways to make an array safe to share."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
