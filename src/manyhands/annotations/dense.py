"""Dense matrices with a row per item and a column per annotator."""

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from manyhands.core.arrays import AnyArray, Bools, Codes
from manyhands.core.errors import DataError


def dense_cells(
    matrix: Any,
    missing: Iterable[Any],
    items: Sequence[Any] | None = None,
    annotators: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """The labelled cells of a matrix as arguments of `encode_rows`, in row order.

    NaN and None are always missing. Items and annotators are called 0, 1, 2 ... by default.
    """
    grid = as_grid(matrix)
    if grid.ndim != 2:
        raise DataError(f"expected a matrix of items x annotators; got shape {grid.shape}")
    filled = ~_is_missing(grid, list(missing))
    row, column = np.nonzero(filled)
    label = grid[filled]
    if label.dtype.kind in "UOS":
        label = np.array([_without_decimals(value) for value in label.tolist()], dtype=object)
    items_i = _names("item", grid.shape[0], items)
    annotators_a = _names("annotator", grid.shape[1], annotators)
    return {
        "item": items_i[row], "annotator": annotators_a[column], "label": label,
        "items": items_i, "annotators": annotators_a, "row_of": row.astype(np.int32),
    }  # fmt: skip


def dense_matrix(
    shape: tuple[int, int], row: Codes, column: Codes, label: AnyArray, missing: Any
) -> AnyArray:
    """The matrix of labels; `missing` fills the other cells, and the last repeated label wins.

    Truth values stay such beside None or a word; beside a number they are 0 and 1.
    """
    beside_number = isinstance(missing, Real)
    any_type = label.dtype.kind == "O" or (label.dtype.kind == "b" and not beside_number)
    dtype = object if any_type else np.result_type(label.dtype, type(missing))
    grid: AnyArray = np.full(shape, missing, dtype=dtype)
    grid[row, column] = label
    return grid


def require_no_label(missing: Any, names: AnyArray) -> None:
    """Raise a `DataError` if the code for "no label" is also a label."""
    if _is_missing(names, [missing]).any():
        raise DataError(
            f"missing={missing!r} stands for 'no label', but {missing!r} is also a label; "
            "choose another code with missing="
        )


def _names(noun: str, n_names: int, given: Sequence[Any] | None) -> AnyArray:
    if given is None:
        return np.arange(n_names)
    if len(given) != n_names:
        raise DataError(f"expected {n_names} {noun} names, as in the matrix; got {len(given)}")
    return np.array([*given, None], dtype=object)[:-1]  # one dimension, also for sequences


def as_grid(matrix: Any) -> AnyArray:
    """The cells of a matrix as an array; masked cells are None."""
    if isinstance(matrix, np.ma.MaskedArray):
        return np.array(matrix.tolist(), dtype=object)  # None where masked
    grid = np.asarray(matrix)
    return grid.astype(str) if grid.dtype.kind == "S" else grid


def _is_missing(grid: AnyArray, missing: list[Any]) -> Bools:
    if grid.dtype.kind in "iufb":
        codes = [float(code) for code in missing if _is_number(code)]
        return np.isin(grid, codes) | (np.isnan(grid) if grid.dtype.kind == "f" else False)
    codes_text = {str(_without_decimals(code)) for code in missing} | {"", "nan", "NaN", "<NA>"}
    texts = [
        value is None or str(_without_decimals(value)).strip() in codes_text
        for value in grid.ravel().tolist()
    ]
    return np.array(texts, dtype=bool).reshape(grid.shape)


def _without_decimals(value: object) -> object:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else value


def _is_number(code: object) -> bool:
    try:
        float(str(code))
    except ValueError:
        return False
    return True
