"""CSV and TSV: fast when the file is sound, precise about the place when it is not."""

import csv
import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from manyhands.core.errors import DataError
from manyhands.io.integers import holds_plain_integers

_NAMES = pa.dictionary(pa.int32(), pa.string())


def read_header(path: Path, delimiter: str, encoding: str) -> list[str]:
    """The column names, or an error for a file that cannot be a table."""
    if path.stat().st_size == 0:
        raise DataError(f"{path}: the file is empty")
    try:
        with path.open(encoding=_with_mark(encoding), newline="") as stream:
            header = next(csv.reader(stream, delimiter=delimiter), [])
    except (UnicodeError, csv.Error):
        raise not_text(path, encoding) from None
    if not any(name.strip() for name in header):
        raise DataError(f"{path}, line 1: no column names; the first line must name the columns")
    if any("\x00" in name for name in header):
        raise DataError(f"{path}: not a text table; give its format with --format")
    return header


def read_columns(
    path: Path, columns: Sequence[str], delimiter: str, encoding: str
) -> dict[str, pa.ChunkedArray]:
    """Some columns of a delimited file with a header line: whole numbers, or text."""
    header = read_header(path, delimiter, encoding)
    whole_numbers = holds_plain_integers(path, delimiter)
    convert = pacsv.ConvertOptions(
        include_columns=list(columns),
        column_types=dict.fromkeys(columns, pa.int64() if whole_numbers else _NAMES),
        strings_can_be_null=False,
        null_values=[],
    )
    table = _read(path, delimiter, encoding, convert, len(header))
    if table.num_rows == 0:
        raise DataError(f"{path}: has a header line and no rows")
    unified = table.unify_dictionaries()
    return {name: unified.column(name) for name in columns}


def one_line_per_row(path: Path) -> bool:
    """Whether rows and lines go together: no quotes, so no line break inside a cell."""
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data.find(b'"') < 0


def _read(
    path: Path, delimiter: str, encoding: str, convert: pacsv.ConvertOptions, n_columns: int
) -> pa.Table:
    try:
        return pacsv.read_csv(
            path,
            read_options=pacsv.ReadOptions(encoding=encoding),
            parse_options=pacsv.ParseOptions(
                delimiter=delimiter, newlines_in_values=not one_line_per_row(path)
            ),
            convert_options=convert,
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError, UnicodeError, LookupError) as error:
        raise _diagnosis(path, delimiter, encoding, n_columns, str(error)) from None


def _diagnosis(path: Path, delimiter: str, encoding: str, n_columns: int, said: str) -> DataError:
    """Read again slowly to tell which line is broken, and how."""
    try:
        for line, cells in _lines(path, delimiter, encoding):
            if cells and len(cells) != n_columns:
                cut = "; the file may be cut short" if len(cells) < n_columns else ""
                return DataError(
                    f"{path}, line {line}: {len(cells)} cells where the header has {n_columns}{cut}"
                )
    except UnicodeError:
        return not_text(path, encoding)
    except csv.Error as error:
        return DataError(f"{path}: not a sound table ({error}); a quote may be left open")
    return DataError(f"{path}: cannot be read as a table ({said.splitlines()[0]})")


def _lines(path: Path, delimiter: str, encoding: str) -> Iterator[tuple[int, list[str]]]:
    with path.open(encoding=_with_mark(encoding), newline="") as stream:
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
        for cells in reader:
            yield reader.line_num, cells


def not_text(path: Path, encoding: str) -> DataError:
    """An error that tells where a file stops being text in the encoding."""
    try:
        path.read_bytes().decode(encoding)
    except LookupError:
        return DataError(f"{path}: no encoding is called {encoding!r}; try utf-8 or latin-1")
    except UnicodeDecodeError as error:
        data = path.read_bytes()
        line = data[: error.start].count(b"\n") + 1
        byte = data[error.start]
        return DataError(
            f"{path}, line {line}: byte 0x{byte:02x} is not {encoding} text; save the file as "
            "UTF-8 or name its encoding with --encoding (latin-1, utf-16 ...)"
        )
    return DataError(f"{path}: not a text table; give its format with --format")


def _with_mark(encoding: str) -> str:
    return "utf-8-sig" if encoding.lower().replace("_", "-") in {"utf-8", "utf8"} else encoding
