"""Dense matrices with a row per item and a column per annotator."""

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from manyhands.core.arrays import AnyArray, Bools, Codes
from manyhands.core.errors import DataError

_FAR = 5  # a code for "no label" is at least this many times the largest label


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


def filler(matrix: Any, missing: Iterable[Any]) -> int | None:
    """The number that fills most cells of a matrix and probably means "no label"; None without one.

    It is written with nines, such as 999999999, -9 or -99, and far from all other numbers. A matrix
    with a cell that is `missing` has another code for "no label".

    >>> filler([[999, 1, 999], [2, 999, 999]], [-1]), filler([[5, 1], [2, 9]], [-1])
    (999, None)
    """
    grid = as_grid(matrix)
    if grid.dtype.kind not in "iuf" or grid.size == 0 or _is_missing(grid, list(missing)).any():
        return None
    for code in (float(grid.max()), float(grid.min())):
        is_code = grid == code
        others = grid[~is_code]
        nines = code.is_integer() and set(str(abs(int(code)))) == {"9"} and code not in (9, 1)
        alone = len(others) and 2 * is_code.sum() > grid.size and others.min() != others.max()
        if nines and alone and (others.min() >= 0 if code < 0 else _is_far(code, others)):
            return int(code)
    return None


def require_codes(matrix: Any, missing: Sequence[Any]) -> None:
    """Raise a `DataError` if another number than the given ones fills a matrix; see `filler`."""
    code = filler(matrix, missing) if missing else None
    if code is not None:
        raise DataError(
            f"{code} fills most cells of the matrix and probably means 'no label'; give "
            f"missing={code}, or missing=() if it is a label"
        )


def _is_far(code: float, others: AnyArray) -> bool:
    return bool(code >= _FAR * max(abs(float(others.min())), abs(float(others.max())), 1.0))


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
