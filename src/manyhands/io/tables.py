"""Tables of named columns in CSV, TSV, Parquet and JSON lines."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.io.csv_text import read_columns, read_header
from manyhands.io.whole import whole_file

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
FORMATS = ("csv", "tsv", "parquet", "jsonl")
_DELIMITERS = {"csv": ",", "tsv": "\t"}


def format_of(path: Path, given: str | None, known: Mapping[str, str]) -> str:
    """The format of a file: the one given, or the one its suffix names."""
    if given is not None:
        if given not in known.values():
            names = ", ".join(dict.fromkeys(known.values()))
            raise DataError(f"no format {given!r}; known: {names}")
        return given
    found = known.get(path.suffix.lower())
    if found is None:
        names = " ".join(known)
        raise DataError(
            f"{path}: the suffix {path.suffix!r} names no known format ({names}); give --format"
        )
    return found


def existing(path: str | Path) -> Path:
    """The path of a file that is there and is a file."""
    found = Path(path)
    if not found.exists():
        raise DataError(f"{found}: no such file")
    if found.is_dir():
        raise DataError(f"{found}: is a folder; name a file in it")
    return found


class Table:
    """A file of named columns: the names are read at once, a column when it is asked for."""

    def __init__(self, path: Path, format: str, encoding: str = "utf-8") -> None:
        self.path, self.format, self.encoding = path, format, encoding
        self._loaded: pa.Table | None = None
        if format in _DELIMITERS:
            self.columns = read_header(path, _DELIMITERS[format], encoding)
        else:
            self._loaded = _read_parquet(path) if format == "parquet" else _read_json_lines(path)
            self.columns = self._loaded.column_names

    def select(self, names: Sequence[str]) -> dict[str, Any]:
        """Some columns by name."""
        if self._loaded is None:
            delimiter = _DELIMITERS[self.format]
            return dict(read_columns(self.path, names, delimiter, self.encoding))
        if self._loaded.num_rows == 0:
            raise DataError(f"{self.path}: has columns and no rows")
        return {name: self._loaded.column(name) for name in names}


def write_table(
    columns: Mapping[str, AnyArray], path: str | Path, format: str | None = None
) -> None:
    """Write columns to a file, whole or not at all; the suffix decides the format."""
    kind = format_of(Path(path), format, SUFFIXES)
    with whole_file(path) as stream:
        write_stream(columns, stream, kind)


def write_stream(columns: Mapping[str, AnyArray], stream: BinaryIO, format: str) -> None:
    """Write columns to an open binary stream."""
    table = pa.table({name: _plain(values) for name, values in columns.items()})
    if format == "parquet":
        pq.write_table(table, stream)
    elif format == "jsonl":
        for row in table.to_pylist():
            clean = {name: None if _is_nan(value) else value for name, value in row.items()}
            stream.write((json.dumps(clean, ensure_ascii=False) + "\n").encode())
    else:
        options = pacsv.WriteOptions(delimiter=_DELIMITERS[format], quoting_style="needed")
        pacsv.write_csv(table, stream, options)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _plain(values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.dtype == object:
        return [None if value is None else str(value) for value in values.tolist()]
    return values


def _read_parquet(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(
            f"{path}: not a Parquet file, or cut short ({str(error).splitlines()[0]})"
        ) from None


def _read_json_lines(path: Path) -> pa.Table:
    """One object per line; a list per column, empty cells where an object lacks a key."""
    columns: dict[str, list[Any]] = {}
    n_rows = 0
    try:
        with path.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                for name, value in _object(path, number, line).items():
                    cells = columns.setdefault(name, [None] * n_rows)
                    cells.extend([None] * (n_rows - len(cells)))
                    cells.append(_cell(value))
                n_rows += 1
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8 text; JSON lines must be UTF-8") from None
    if n_rows == 0:
        raise DataError(f"{path}: the file is empty")
    full = {name: cells + [None] * (n_rows - len(cells)) for name, cells in columns.items()}
    return pa.table({name: _column(cells) for name, cells in full.items()})


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}, line {number}: not JSON ({error.msg}); the file may be cut short"
        ) from None
    if not isinstance(found, dict):
        raise DataError(f"{path}, line {number}: expected an object like {{...}} on every line")
    return found


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def _column(cells: list[Any]) -> pa.Array:
    try:
        return pa.array(cells)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if cell is None else str(cell) for cell in cells])
