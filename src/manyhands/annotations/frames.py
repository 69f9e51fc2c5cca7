"""Frames at the door: pandas, polars, pyarrow and whatever else narwhals knows."""

from collections.abc import Mapping
from typing import Any, cast

import narwhals as nw
import numpy as np

from manyhands.core.errors import DataError


def columns_of(frame: Any) -> list[str]:
    """The column names of a frame of any kind."""
    return [str(name) for name in _eager(frame).columns]


def column_of(frame: Any, name: str) -> Any:
    """One column of a frame of any kind, as arrow data."""
    return _eager(frame).get_column(name).to_arrow()


def backend_of(frame: Any) -> str:
    """The kind of a frame, by the name of its library."""
    return str(_eager(frame).implementation)


def make_frame(columns: Mapping[str, Any], backend: str) -> Any:
    """A frame of the asked kind from named columns.

    >>> make_frame({"item": [1, 2]}, "pandas").shape
    (2, 1)
    """
    plain = {
        name: values.tolist()
        if isinstance(values, np.ndarray) and values.dtype == object
        else values
        for name, values in columns.items()
    }
    return nw.from_dict(plain, backend=cast(Any, backend)).to_native()


def _eager(frame: Any) -> Any:
    try:
        wrapped = nw.from_native(frame)
    except TypeError:
        raise DataError(
            f"expected a table (pandas, polars, pyarrow ...); got {type(frame).__name__}"
        ) from None
    return wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped
