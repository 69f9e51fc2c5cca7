"""Features of items, however they come: arrays, tensors, sparse matrices, frames, datasets."""

from typing import Any

import narwhals as nw
import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.utils.data import Dataset

from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.engine.inputs import DatasetInputs, Inputs, SparseInputs, TensorInputs


def as_inputs(features: Any, *, keep_codes: bool = False) -> Inputs:
    """Features as what the training loop reads rows from; a row per item.

    Numbers become 32-bit floats. With `keep_codes` a torch tensor of whole numbers stays as it is,
    for networks that look them up. Values that are not finite are refused by row and column.
    """
    if isinstance(features, Inputs):
        return features
    if isinstance(features, Tensor):
        return TensorInputs(_checked_tensor(features, keep_codes))
    if sparse.issparse(features):
        return SparseInputs(_checked_sparse(features))
    if isinstance(features, Dataset):
        return DatasetInputs(_checked_dataset(features), keep_codes=keep_codes)
    names: list[str] | None = None
    frame = nw.from_native(features, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        names, features = list(frame.columns), _numbers_of(frame)
    return TensorInputs(torch.from_numpy(_checked_array(features, names)))


def are_counts(features: Any) -> bool:
    """Whether features are whole numbers, 0 or more, in an array or a sparse matrix.

    >>> are_counts(np.array([[0, 2], [1, 0]])), are_counts(np.array([[0.5, 2.0]]))
    (True, False)
    """
    stored: Any = features
    features = stored.tocoo().data if sparse.issparse(features) else features
    if not isinstance(features, np.ndarray) or features.dtype.kind not in "iuf":
        return False
    return bool((features >= 0).all() and (features == np.floor(features)).all())


def require_like(
    shape: tuple[int, ...],
    names: AnyArray | None,
    known: tuple[int, ...],
    known_names: AnyArray | None,
) -> None:
    """Refuse features of another shape, or in other columns, than a model was trained on."""
    if shape != known:
        raise DataError(
            f"features of shape {shape} per item where the model was trained on {known}"
        )
    if names is not None and known_names is not None and not np.array_equal(names, known_names):
        first = int(np.flatnonzero(names != known_names)[0])
        raise DataError(
            f"features: column {first} is {names[first]!r} where training had "
            f"{known_names[first]!r}; give the columns in the order of training"
        )


def feature_names(features: Any) -> AnyArray | None:
    """The names of a frame's columns; None for what has no names."""
    frame = nw.from_native(features, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    return np.array([str(name) for name in frame.columns], dtype=object)


def _numbers_of(frame: nw.DataFrame[Any]) -> AnyArray:
    for name, kind in frame.schema.items():
        if not (kind.is_numeric() or kind == nw.Boolean):
            raise DataError(
                f"features: column {name!r} holds {kind}, not numbers; encode it or leave it out"
            )
    columns = [frame.get_column(name).to_numpy() for name in frame.columns]
    if not columns:
        raise DataError("features: the frame has no columns")
    return np.stack([column.astype(np.float64) for column in columns], axis=1)


def _checked_array(features: Any, names: list[str] | None) -> AnyArray:
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
    if array.dtype.kind not in "biuf":
        raise DataError(f"features must be numbers; got an array of {array.dtype}")
    if array.ndim < 2 or 0 in array.shape[1:]:
        raise DataError(f"features must have a row per item; got an array of shape {array.shape}")
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(array, dtype=np.float32)
    _require_finite(np.isfinite(array), array, names)
    return array if array.flags.writeable else array.copy()  # torch takes no read-only memory


def _checked_tensor(tensor: Tensor, keep_codes: bool) -> Tensor:
    tensor = tensor.detach()
    if tensor.ndim < 2 or 0 in tensor.shape[1:]:
        raise DataError(
            f"features must have a row per item; got a tensor of shape {tuple(tensor.shape)}"
        )
    if keep_codes and not tensor.is_floating_point() and tensor.dtype != torch.bool:
        return tensor
    tensor = tensor.float()
    finite = torch.isfinite(tensor)
    if not bool(finite.all()):
        _require_finite(finite.cpu().numpy(), tensor.cpu().numpy(), None)
    return tensor


def _checked_sparse(matrix: Any) -> Any:
    if matrix.dtype.kind not in "biuf" or len(matrix.shape) != 2:
        raise DataError(f"features must be numbers, a row per item; got {matrix!r}")
    with np.errstate(over="ignore"):
        matrix = matrix.astype(np.float32)
    rows = matrix.tocoo()
    bad = np.flatnonzero(~np.isfinite(rows.data))
    if len(bad):
        _refuse_value(rows.data[bad[0]], int(rows.row[bad[0]]), int(rows.col[bad[0]]))
    return matrix


def _checked_dataset(dataset: Dataset[Any]) -> Dataset[Any]:
    if not hasattr(dataset, "__len__") or len(dataset) == 0:
        raise DataError("features: a Dataset must have a length above 0; iterable ones do not")
    return dataset


def _require_finite(finite: AnyArray, array: AnyArray, names: list[str] | None) -> None:
    if finite.all():
        return
    place = np.unravel_index(int(np.argmin(finite)), finite.shape)
    column: Any = int(place[1]) if len(place) == 2 else tuple(int(each) for each in place[1:])
    _refuse_value(array[place], int(place[0]), column if names is None else names[int(column)])


def _refuse_value(value: Any, row: int, column: Any) -> None:
    raise DataError(
        f"features: row {row}, column {column!r} is {value}; fill it or leave the item out"
    )
