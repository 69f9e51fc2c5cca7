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

from manyhands.annotations.columns import find_column
from manyhands.annotations.out_of_scope import tool_for
from manyhands.annotations.rows import Part, place
from manyhands.annotations.vocabulary import repeated
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingName
from manyhands.io.atomic import atomic_write, require_place
from manyhands.io.delimited import DELIMITERS, read_columns, read_header
from manyhands.io.input_file import is_opened
from manyhands.io.json_text import parse_json
from manyhands.io.parquet import read_parquet, text_of_bytes
from manyhands.io.texts import encoding_of, existing, require_names, text_lines

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
TAGGED_SUFFIXES = (".conll", ".bio", ".iob", ".iob2")  # of tokens with their tags
FORMATS = ("csv", "tsv", "parquet", "jsonl")
_OTHER_DELIMITERS = ";\t|,"
_PACKED = {".gz", ".bz2", ".xz", ".zst", ".zip"}
_SHOWN = 40  # characters of a cell in an error
_EXCEL = "xlsx"  # opened as CSV


def format_of(path: Path, given: str | None, known: Mapping[str, str]) -> str:
    """The format of a file: the given one, or that of its suffix."""
    if is_opened(path) and path.from_sheet and given in (None, _EXCEL):
        return "csv"
    if given == _EXCEL:
        raise DataError(f"{path}: is no Excel workbook (.xlsx)")
    if given is not None:
        if given not in known.values():
            names = ", ".join(dict.fromkeys(known.values()))
            raise DataError(f"no format {given!r}; known: {names}")
        return given
    found = known.get(path.suffix.lower())
    if found is None:
        if path.suffix.lower() in _PACKED and is_opened(path):
            raise DataError(f"{path}: is packed more than twice; unpack it first")
        if path.suffix.lower() in _PACKED:
            raise DataError(f"{path}: compressed files are not written; leave out {path.suffix}")
        names = " ".join(known)
        if path.suffix.lower() == ".xml":
            raise DataError(
                f"{path}: XML is not read; to combine regions such as those of Pascal VOC or CVAT "
                f"{tool_for('parts')}"
            )
        if is_opened(path):
            raise DataError(
                f"{path}: neither its name nor its content tells its format; give it with ",
                SettingName("format", ...), f" ({', '.join(dict.fromkeys(known.values()))})",
            )  # fmt: skip
        raise DataError(
            f"{path}: the suffix {path.suffix!r} names no known format ({names}); use one of them"
        )
    return found


class Table:
    """A file of named columns: the names are read at once, the cells by `select`.

    After `select`, `first_line` is the line of the first row if the file has one line per row.
    """

    def __init__(self, path: Path, format: str, encoding: str = "utf-8") -> None:
        encoding = encoding_of(path, encoding)
        self.path, self.format, self.encoding = path, format, encoding
        self.first_line: int | None = None
        self.parts: tuple[Part, ...] = ()
        self._loaded: pa.Table | None = None
        if format in DELIMITERS:
            self._delimiter = delimiter_of(path, DELIMITERS[format], encoding)
            self.columns = read_header(path, self._delimiter, encoding)
            return
        if format == "parquet":
            self._loaded = read_parquet(path)
        else:
            self._loaded, self.first_line = _read_json_lines(path, encoding)
        self.columns = self._loaded.column_names
        if not self.columns:
            raise DataError(f"{path}: has no columns")
        require_names(path, self.columns)
        twice = repeated(self.columns)
        if twice:
            raise DataError(f"{path}: the column {twice[0]!r} appears more than once; rename one")

    @classmethod
    def open(
        cls,
        path: str | Path,
        format: str | None = None,
        encoding: str = "utf-8",
        sheet: str | None = None,
    ) -> "Table":
        """The table of an existing file; the suffix decides the format unless it is given."""
        found = existing(path, sheet)
        return cls(found, format_of(found, format, SUFFIXES), encoding)

    @classmethod
    def of_records(cls, path: Path, records: Sequence[Mapping[str, Any]]) -> "Table":
        """The table of a list of records that was read from a file."""
        table = cls.__new__(cls)
        table.path, table.format, table.encoding, table.first_line = path, "json", "utf-8", None
        table.parts = ()
        table._loaded = _table_of(path, records)
        table.columns = table._loaded.column_names
        return table

    def find_column(
        self,
        role: str,
        given: str | None = None,
        *,
        among: Sequence[str] | None = None,
        remedy: str = "",
    ) -> str:
        """The column of a role, the given one or one found by its name, among some or all."""
        try:
            return find_column(self.columns if among is None else among, role, given, remedy)
        except DataError as error:
            raise error.at(self.path) from None

    def select(self, names: Sequence[str]) -> dict[str, Any]:
        """Some columns by name."""
        if self._loaded is None:
            columns, self.first_line = read_columns(
                self.path, names, self._delimiter, self.encoding
            )
            return columns
        if self._loaded.num_rows == 0:
            raise DataError(f"{self.path}: has columns and no rows")
        return {name: text_of_bytes(self._loaded.column(name), name, self.path) for name in names}

    def place(self, row: int) -> str:
        """The place of a row of the selected columns, for an error message."""
        return place(str(self.path), self.first_line, row, parts=self.parts)

    def filled(
        self, noun: str, column: Any, remedy: str, blanks: frozenset[str] = frozenset([""])
    ) -> list[Any]:
        """The cells of a column; a blank cell raises a `DataError`."""
        cells: list[Any] = column.to_pylist()
        for row, cell in enumerate(cells):
            if cell is None or str(cell).strip().lower() in blanks:
                raise DataError(f"{self.place(row)}: the {noun} is blank; {remedy}")
        return cells


def delimiter_of(path: Path, usual: str, encoding: str) -> str:
    """The delimiter of a file: another one if the usual one finds a single column."""
    header = read_header(path, usual, encoding)
    others = [mark for mark in _OTHER_DELIMITERS if len(header) == 1 and mark in header[0]]
    return others[0] if others else usual


def write_table(
    columns: Mapping[str, AnyArray], path: str | Path, format: str | None = None
) -> None:
    """Write columns to a file, completely or not at all; the suffix decides the format."""
    kind = format_of(Path(path), format, SUFFIXES)
    with atomic_write(path) as stream:
        write_stream(columns, stream, kind)


def require_target(path: str | Path, *, tagged: bool = False, any_suffix: bool = False) -> None:
    """Raise a `DataError` for a file name that `write_table` cannot write to.

    With `tagged` it may also be the name of a file of tokens with their tags, and with
    `any_suffix` that of any file.
    """
    target = Path(path)
    if not any_suffix and not (tagged and target.suffix.lower() in TAGGED_SUFFIXES):
        format_of(target, None, SUFFIXES)
    require_place(target)


def arrow_table(columns: Mapping[str, AnyArray]) -> pa.Table:
    """Columns as a table of arrow."""
    try:
        return pa.table({name: _plain(values) for name, values in columns.items()})
    except UnicodeEncodeError:
        raise DataError("a cell is not text: it holds half of a UTF-16 pair") from None


def write_stream(
    columns: Mapping[str, AnyArray], stream: BinaryIO, format: str, *, header: bool = True
) -> None:
    """Write columns to an open binary stream, of CSV with or without the line of names."""
    table = arrow_table(columns)
    if format in DELIMITERS and any("\x00" in name for name in columns):
        raise DataError(f"the name of a column holds NUL, which {format} cannot; rename it")
    if format == "parquet":
        pq.write_table(table, stream)
    elif format == "jsonl":
        for row in table.to_pylist():
            nan = [key for key, cell in row.items() if isinstance(cell, float) and math.isnan(cell)]
            stream.write((_json(row | dict.fromkeys(nan)) + "\n").encode())
    else:
        options = pacsv.WriteOptions(
            include_header=header, delimiter=DELIMITERS[format], quoting_style="needed"
        )
        flat = [_flat(column) for column in table.columns]
        pacsv.write_csv(pa.table(flat, names=table.column_names), stream, options)


def _plain(values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.dtype == object:
        return [None if value is None else str(value) for value in values.tolist()]
    return values


def _flat(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """A column that CSV can represent: lists and records become JSON text."""
    if not pa.types.is_nested(column.type):
        return column
    return pa.array([None if cell is None else _json(cell) for cell in column.to_pylist()])


def _json(cell: Any) -> str:
    return json.dumps(cell, ensure_ascii=False, default=str)


def _read_json_lines(path: Path, encoding: str) -> tuple[pa.Table, int | None]:
    """The table of one object per line; a cell is None if its object lacks the key.

    The second value is the line of the first row, or None if blank lines separate rows.
    """
    records, last = [], 0
    for number, line in enumerate(text_lines(path, encoding), 1):
        if line.strip():
            records.append(_object(f"{path}, line {number}", line))
            last = number
    if not records:
        raise DataError(f"{path}: the file is empty")
    return _table_of(path, records), 1 if last == len(records) else None


def _table_of(path: Path, records: Sequence[Mapping[str, Any]]) -> pa.Table:
    """The table of records; a cell is None if its record lacks the key."""
    columns: dict[str, list[Any]] = {}
    for n_rows, record in enumerate(records):
        for name, value in record.items():
            cells = columns.setdefault(name, [])
            cells.extend([None] * (n_rows - len(cells)))
            cells.append(_json(value) if isinstance(value, dict | list) else value)
    full = {name: cells + [None] * (len(records) - len(cells)) for name, cells in columns.items()}
    try:
        return pa.table({name: column_of(cells) for name, cells in full.items()})
    except UnicodeEncodeError as error:
        shown = repr(error.object[:_SHOWN])
        raise DataError(f"{path}: {shown} is not text: it holds half of a UTF-16 pair") from None


def _object(where: str, line: str) -> dict[str, Any]:
    found = parse_json(line, where)
    if not isinstance(found, dict):
        raise DataError(f"{where}: expected an object like {{...}} on every line")
    return found


def column_of(cells: list[Any]) -> pa.Array:
    """A column of cells of any type; text if they are of several types."""
    try:
        return pa.array(cells)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([cell if isinstance(cell, str | None) else _json(cell) for cell in cells])
