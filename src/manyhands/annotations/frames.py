"""Data frames of pandas, polars, pyarrow and every other library that narwhals supports."""

from collections.abc import Mapping
from typing import Any, cast

import narwhals as nw
import numpy as np

from manyhands.core.errors import DataError


def open_frame(frame: Any) -> "nw.DataFrame[Any]":
    """A frame of any library behind one interface; a lazy frame is computed."""
    try:
        wrapped = nw.from_native(frame)
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"a column name appears twice: {' '.join(str(error).split())}") from None
    except TypeError:
        raise DataError(
            f"expected a table (pandas, polars, pyarrow ...); got {type(frame).__name__}"
        ) from None
    return wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped


def make_frame(columns: Mapping[str, Any], backend: str) -> Any:
    """A frame of the given library (`backend`) from named columns.

    >>> make_frame({"item": [1, 2]}, "pandas").shape
    (2, 1)
    """
    lists = {
        name: values.tolist()
        if isinstance(values, np.ndarray) and values.dtype == object
        else values
        for name, values in columns.items()
    }
    return nw.from_dict(lists, backend=cast(Any, backend)).to_native()
