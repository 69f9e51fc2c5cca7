"""Checks of features that are numbers: their form, and that every one is finite."""

from typing import Any

import narwhals as nw
import numpy as np
import torch
from torch import Tensor

from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError


def frame_values(frame: nw.DataFrame[Any]) -> AnyArray:
    """The numbers of a frame; other columns are refused."""
    for name, kind in frame.schema.items():
        if not (kind.is_numeric() or kind == nw.Boolean):
            raise DataError(
                f"features: column {name!r} holds {kind}, not numbers; encode it or leave it out"
            )
    if not frame.columns:
        raise DataError("features: the frame has no columns")
    if set(frame.schema.values()) <= {nw.Float32(), nw.Float64()}:
        values = frame.to_numpy()  # without a copy, where the frame holds one array
        if values.dtype.kind == "f":  # missing values of some frames are objects
            return values
    columns = [frame.get_column(name).to_numpy() for name in frame.columns]
    return np.stack([column.astype(np.float64) for column in columns], axis=1)


def checked_array(features: Any, names: list[str] | None, first: int = 0) -> AnyArray:
    """Features as an array of 32-bit floats, a row per item; errors count rows from `first`."""
    try:
        if isinstance(features, np.ma.MaskedArray):  # what is masked is missing
            features = np.ma.filled(features.astype(np.float64), np.nan)
        array = np.asarray(features)
        if array.dtype == object:
            array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "features must be numbers, a row of equal length per item; got something else"
        ) from None
    if array.dtype.kind == "c":
        raise DataError(
            f"features must be numbers; got an array of {array.dtype}. Complex data not supported"
        )
    if array.dtype.kind not in "biuf":
        raise DataError(f"features must be numbers; got an array of {array.dtype}")
    if array.ndim < 2:
        raise DataError(
            f"features must have a row per item; got an array of shape {array.shape}. Reshape your "
            "data: (items, features)"
        )
    if 0 in array.shape[1:]:
        raise DataError(
            f"features must have a row per item; got an array of shape {array.shape}: "
            f"0 feature(s) (shape={array.shape}) while a minimum of 1 is required."
        )
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(array, dtype=np.float32)
    _require_finite(np.isfinite(array), array, names, first)
    return array if array.flags.writeable else array.copy()  # torch takes no read-only memory


def checked_tensor(tensor: Tensor, keep_integers: bool) -> Tensor:
    """A tensor of 32-bit floats, a row per item, or of integers."""
    tensor = tensor.detach()
    if tensor.ndim < 2 or 0 in tensor.shape[1:]:
        raise DataError(
            f"features must have a row per item; got a tensor of shape {tuple(tensor.shape)}"
        )
    if keep_integers and not tensor.is_floating_point() and tensor.dtype != torch.bool:
        return tensor
    tensor = tensor.float()
    finite = torch.isfinite(tensor)
    if not bool(finite.all()):
        _require_finite(finite.cpu().numpy(), tensor.cpu().numpy(), None)
    return tensor


def checked_sparse(matrix: Any) -> Any:
    """A sparse matrix of 32-bit floats."""
    if matrix.dtype.kind not in "biuf" or len(matrix.shape) != 2:
        raise DataError(f"features must be numbers, a row per item; got {matrix!r}")
    with np.errstate(over="ignore"):
        matrix = matrix.astype(np.float32)
    rows = matrix.tocoo()
    bad = np.flatnonzero(~np.isfinite(rows.data))
    if len(bad):
        _refuse_value(rows.data[bad[0]], int(rows.row[bad[0]]), int(rows.col[bad[0]]))
    return matrix


def _require_finite(
    finite: AnyArray, array: AnyArray, names: list[str] | None, first: int = 0
) -> None:
    if finite.all():
        return
    place = np.unravel_index(int(np.argmin(finite)), finite.shape)
    column: Any = int(place[1]) if len(place) == 2 else tuple(int(each) for each in place[1:])
    named = column if names is None else names[int(column)]
    _refuse_value(array[place], first + int(place[0]), named)


def _refuse_value(value: Any, row: int, column: Any) -> None:
    shown = "NaN" if np.isnan(value) else value
    raise DataError(
        f"features: row {row}, column {column!r} is {shown}; fill it or leave the item out"
    )
