"""Features of items from a file: a table with a column of items, or an array."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manyhands.annotations.columns import find_column
from manyhands.annotations.rows import place
from manyhands.annotations.vocabulary import normalize_names
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.io.tables import SUFFIXES, Table, existing, format_of

FEATURE_SUFFIXES = SUFFIXES | {".npy": "npy", ".npz": "npz"}


@dataclass(frozen=True)
class Features:
    """A row of numbers per item: `values` (i, ...), the items' names, the columns' names."""

    items: AnyArray
    values: AnyArray
    names: list[str] | None = None

    def __len__(self) -> int:
        return len(self.items)


def read_features(
    path: str | Path,
    *,
    item: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
) -> Features:
    """Features from a file; the suffix decides the format unless `format` does.

    A table (.csv .tsv .parquet .jsonl) has a column of items, found by name or given, and numbers
    in all others. An array (.npy) has a row per item, and the items are called 0, 1, 2 ...; an
    archive (.npz) holds such an array, and may hold the names of its rows as `items`.
    """
    found = existing(path)
    kind = format_of(found, format, FEATURE_SUFFIXES)
    if kind == "npy":
        return _numbered(found, _load(found))
    if kind == "npz":
        return _from_archive(found)
    return _from_table(found, Table(found, kind, encoding), item)


def _from_table(path: Path, table: Table, item: str | None) -> Features:
    try:
        key = find_column(table.columns, "item", item)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    names = [name for name in table.columns if name != key]
    if not names:
        raise DataError(f"{path}: has a column of items and no features")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise DataError(f"{path}: the column {twice[0]!r} appears more than once")
    columns = table.select([key, *names])
    items = columns[key].to_pylist()
    for row, cell in enumerate(items):
        if cell is None or not str(cell).strip():
            where = place(str(path), table.first_line, row)
            raise DataError(f"{where}: the item is blank; leave the row out")
    values = np.empty((len(items), len(names)))
    for position, name in enumerate(names):
        values[:, position] = _numbers(path, table, name, columns[name])
    return Features(normalize_names(items), values, names)


def _numbers(path: Path, table: Table, name: str, column: Any) -> AnyArray:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        numbers = pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        numbers = np.array([_number(cell) for cell in column.to_pylist()])
    except pa.ArrowNotImplementedError:
        raise DataError(f"{path}: column {name!r} holds {column.type}, not numbers") from None
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        cell = column[int(bad[0])].as_py()
        where = place(str(path), table.first_line, int(bad[0]))
        raise DataError(
            f"{where}, column {name!r}: {cell!r} is not a finite number; fill it or leave the "
            "row or the column out"
        )
    return np.asarray(numbers)


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return np.nan


def _from_archive(path: Path) -> Features:
    archive = _load(path)
    arrays = [name for name in archive.files if name != "items"]
    if len(arrays) != 1:
        listed = ", ".join(archive.files)
        raise DataError(
            f"{path}: expected one array of features, and perhaps `items`; it holds {listed}"
        )
    numbered = _numbered(path, archive[arrays[0]])
    if "items" not in archive.files:
        return numbered
    items = normalize_names(archive["items"].tolist())
    if len(items) != len(numbered.values):
        raise DataError(f"{path}: {len(items)} items for {len(numbered.values)} rows")
    return Features(items, numbered.values)


def _numbered(path: Path, values: AnyArray) -> Features:
    if values.ndim < 2 or values.dtype.kind not in "biuf":
        raise DataError(
            f"{path}: expected an array of numbers with a row per item; got {values.dtype} of "
            f"shape {values.shape}"
        )
    return Features(np.arange(len(values)), values)


def _load(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError):  # what numpy says invites to open pickles
        raise DataError(f"{path}: not a numpy file of numbers, or cut short") from None
