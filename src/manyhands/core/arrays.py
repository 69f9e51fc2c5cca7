"""Names for the array types that appear in signatures."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

AnyArray = NDArray[Any]
Bools = NDArray[np.bool_]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Offsets = NDArray[np.int64]


def read_only(array: AnyArray) -> AnyArray:
    """A view of the array that refuses to be written to."""
    view = array.view()
    view.flags.writeable = False
    return view
