"""Matrices of labels, items x annotators, without names: .txt, .csv, .tsv and .npy."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingName
from manyhands.io.delimited import DELIMITERS
from manyhands.io.texts import require_width, text_lines

_SEPARATORS = {**DELIMITERS, "txt": None}  # None is white space
_ENOUGH_ROWS = 3  # so that a first line of other cells means anything
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]+")


def header_of(path: Path, encoding: str) -> tuple[str, list[str]]:
    """The format and the names of columns of a text file that may be a table, not a matrix."""
    first = next(text_lines(path, encoding), "")  # none behind a byte order mark
    mark = next((mark for mark in "\t,;|" if mark in first), None)
    names = [] if mark is None else [cell.strip().strip('"') for cell in first.split(mark)]
    return "tsv" if mark == "\t" else "csv", names


class Matrix(NamedTuple):
    """Cells, the line of the first row if the file has one line per row, and names of columns."""

    cells: AnyArray
    first_line: int | None = None
    names: list[str] | None = None


def read_matrix(path: Path, format: str, encoding: str) -> Matrix:
    """The cells of a matrix; the names of its columns if the first line has them."""
    if format == "npy":
        return Matrix(_array(path))
    if format not in _SEPARATORS:
        raise DataError(f"{path}: a dense matrix is .txt, .csv, .tsv or .npy, not {format}")
    rows = [
        (number, line.split(_SEPARATORS[format]))
        for number, line in enumerate(text_lines(path, encoding), 1)
        if line.strip()
    ]
    if not rows:
        raise DataError(f"{path}: the file is empty")
    width = len(rows[0][1])
    require_width(path, width)
    if format == "txt" and width == 1 and any(mark in rows[0][1][0] for mark in ",;|"):
        raise DataError(
            f"{path}: the cells of a matrix in a .txt file are parted by blanks; give ",
            SettingName("format", "csv"), ", and ", SettingName("layout", "dense"),
            " if there is no line of column names",
        )  # fmt: skip
    for number, row in rows:
        if len(row) != width:
            raise DataError(
                f"{path}, line {number}: {len(row)} cells where line {rows[0][0]} has {width}; "
                "every line of a matrix has equally many; the file may be cut short"
            )
    texts = [[cell.strip().strip('"') for cell in row] for _, row in rows]
    names = _column_names(path, format, texts)
    first_line = 1 if rows[-1][0] == len(rows) else None
    if names is None:
        return Matrix(typed_cells([row for _, row in rows]), first_line)
    return Matrix(typed_cells([row for _, row in rows[1:]]), first_line and 2, names)


def _column_names(path: Path, format: str, rows: list[list[str]]) -> list[str] | None:
    """The cells of the first row if they are words above numbers; None if they are labels."""
    first, below = rows[0], {cell for row in rows[1:] for cell in row}
    filled, counted = {*first} - {""}, first == [str(place) for place in range(len(first))]
    alone = below.isdisjoint(filled) or (counted and not filled <= below)
    if len(set(first)) < len(first) or not alone or len(rows) < _ENOUGH_ROWS:
        return None
    are_numbers = all(map(_is_number, below))
    if are_numbers and "" not in first and not any(map(_is_number, first)):
        return first
    if format != "txt" and (counted or "" in first or not are_numbers):
        raise DataError(
            f"{path}, line 1: {', '.join(first[:3])} may be no labels; if they are names of "
            "columns give ", SettingName("layout", "wide"),
            ", otherwise save the matrix as .txt, with blanks between cells",
        )  # fmt: skip
    return None


def _is_number(cell: str) -> bool:
    """Whether a cell is a number or holds no label."""
    try:
        float(cell)
    except ValueError:
        return cell in ("", "?", "<NA>")
    return True


def _array(path: Path) -> AnyArray:
    try:
        with path.open("rb") as stream:
            loaded = np.load(stream, allow_pickle=False)
    except Exception:  # numpy raises many kinds, and suggests to load pickles
        raise DataError(f"{path}: not a .npy array, or cut short") from None
    if not isinstance(loaded, np.ndarray) or loaded.ndim != 2 or loaded.dtype.kind not in "biufSU":
        raise DataError(f"{path}: expected one matrix of labels, items x annotators")
    return loaded


def typed_cells(rows: list[list[str]]) -> AnyArray:
    """Numbers if all cells are numbers; otherwise text, so that "007" is kept."""
    distinct = {cell.strip() for row in rows for cell in row}
    if all(_WHOLE.fullmatch(cell) for cell in distinct):
        return np.array(rows, dtype=np.int64)
    if not any(_LEADING_ZERO.fullmatch(cell) for cell in distinct):
        try:
            return np.array(rows, dtype=np.float64)
        except ValueError:
            pass
    return np.array(rows, dtype=object)
