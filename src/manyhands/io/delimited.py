"""CSV and TSV: fast for valid files, errors with the line for others.

Files of whole numbers are common, and reading them as numbers takes half the time of reading names.
But "007" and "7" are different names, so every byte is checked first.
"""

import csv
import mmap
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.core.kernels import kernel, run_blocks
from manyhands.io.texts import not_a_table, not_text, require_names, with_mark

DELIMITERS = {"csv": ",", "tsv": "\t"}
_NAMES = pa.dictionary(pa.int32(), pa.string())
_BLOCK, _LARGEST_BLOCK = 1 << 20, (1 << 31) - 1
_CHECKED_BLOCK = 1 << 24
_STREAMED_BLOCK = 1 << 22
_LONGEST = 18  # digits that surely fit 64 bits


def read_header(path: Path, delimiter: str, encoding: str) -> list[str]:
    """The column names; a `DataError` for a file that cannot be a table."""
    if path.stat().st_size == 0:
        raise DataError(f"{path}: the file is empty")
    try:
        header = next(_rows(path, delimiter, encoding), (1, []))[1]
    except (UnicodeError, LookupError, csv.Error):
        raise not_text(path, encoding) from None
    if not any(name.strip() for name in header):
        raise DataError(f"{path}, line 1: no column names; the first line must name the columns")
    require_names(path, header)
    if any("\udc80" <= mark <= "\udcff" for name in header for mark in name):
        raise not_text(path, encoding)
    if any("\x00" in name for name in header):
        raise not_a_table(path)
    return header


class _File(NamedTuple):
    """A delimited file, and how to read some of its columns."""

    path: Path
    delimiter: str
    encoding: str
    columns: Sequence[str]
    kind: pa.DataType
    quoted: bool


def read_columns(
    path: Path, columns: Sequence[str], delimiter: str, encoding: str
) -> tuple[dict[str, pa.ChunkedArray], int | None]:
    """Some columns of a delimited file with a header line, as whole numbers or text.

    The second value is the line of the first row if every row is one line.
    """
    header = read_header(path, delimiter, encoding)
    kind = pa.int64() if holds_plain_integers(path, delimiter) else _NAMES
    quoted = _has_quoted_rows(path)
    file = _File(path, delimiter, encoding, columns, kind, quoted)
    try:
        if quoted and _count(path, b'"') % 2 == 1:
            _require_closed_quotes(file)
        table, in_lines = _read(file), not quoted
        if all(_holds_blank(table.column(name)) for name in columns):  # a blank line does that
            table, in_lines = _read(file, skip_blank_lines=True), False
    except (pa.ArrowInvalid, pa.ArrowKeyError, UnicodeError) as error:
        raise _diagnosis(file, len(header), str(error)) from None
    if table.num_rows == 0:
        raise _no_rows(path)
    in_lines = in_lines or _count_lines(path) == table.num_rows + 1
    unified = table.unify_dictionaries()
    return {name: unified.column(name) for name in columns}, 2 if in_lines else None


def iterate_columns(
    path: Path, columns: Sequence[str], delimiter: str, encoding: str
) -> Iterator[pa.RecordBatch]:
    """The same in batches of a few megabytes, for files of any size; blank lines are left out."""
    header = read_header(path, delimiter, encoding)
    kind = pa.int64() if holds_plain_integers(path, delimiter) else pa.string()
    file = _File(path, delimiter, encoding, columns, kind, _has_quoted_rows(path))
    n_rows = 0
    try:
        if file.quoted and _count(path, b'"') % 2 == 1:
            _require_closed_quotes(file)
        options = _options(file, skip_blank_lines=True, block=_STREAMED_BLOCK)
        with pacsv.open_csv(pa.OSFile(os.fspath(path)), **options) as reader:
            for batch in reader:
                n_rows += batch.num_rows
                yield batch
    except (pa.ArrowInvalid, pa.ArrowKeyError, UnicodeError) as error:
        if "Empty CSV" in str(error):
            raise _no_rows(path) from None
        raise _diagnosis(file, len(header), str(error)) from None
    if n_rows == 0:
        raise _no_rows(path)


def first_line_of_rows(path: Path, n_rows: int) -> int | None:
    """The line of the first of all rows of a file if every row is one line."""
    return 2 if _count_lines(path) == n_rows + 1 else None


def _no_rows(path: Path) -> DataError:
    return DataError(f"{path}: has a header line and no rows")


def _has_quoted_rows(path: Path) -> bool:
    """Whether there are quotes below the header, so that a cell may have a line break."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        body = data.find(b"\n") + 1
        return data[:body].count(b'"') % 2 == 1 or data.find(b'"', body) >= 0


def _read(file: _File, *, skip_blank_lines: bool = False, block: int = _BLOCK) -> pa.Table:
    try:
        return pacsv.read_csv(
            pa.OSFile(os.fspath(file.path)),  # by its name it might be unpacked again
            **_options(file, skip_blank_lines=skip_blank_lines, block=block),
        )
    except pa.ArrowInvalid as error:
        size = file.path.stat().st_size
        if "Empty CSV" in str(error) and size <= block:
            raise _no_rows(file.path) from None
        longer = "straddl" in str(error) or "Empty CSV" in str(error)
        if not longer or block > _BLOCK or size <= _BLOCK:
            raise
    # a row, or the header, is longer than a block: read the file in one block
    return _read(file, skip_blank_lines=skip_blank_lines, block=min(size, _LARGEST_BLOCK))


def _options(file: _File, *, skip_blank_lines: bool, block: int) -> dict[str, Any]:
    return {
        "read_options": pacsv.ReadOptions(encoding=file.encoding, block_size=block),
        "parse_options": pacsv.ParseOptions(
            delimiter=file.delimiter,
            newlines_in_values=file.quoted,
            ignore_empty_lines=skip_blank_lines,
        ),
        "convert_options": pacsv.ConvertOptions(
            include_columns=list(file.columns),
            column_types=dict.fromkeys(file.columns, file.kind),
            strings_can_be_null=False,
            null_values=[],
        ),
    }


def _holds_blank(column: pa.ChunkedArray) -> bool:
    if not pa.types.is_dictionary(column.type):
        return False  # whole numbers: `holds_plain_integers` checked every cell
    return any(
        chunk.null_count or pc.any(pc.equal(chunk.dictionary, "")).as_py()
        for chunk in column.chunks
    )


def _diagnosis(file: _File, n_columns: int, message: str) -> DataError:
    """Read the file again, slowly, to find the line that is broken."""
    path = file.path
    try:
        for line, cells in _rows(path, file.delimiter, file.encoding, strict=True):
            if cells and len(cells) != n_columns:
                cut = "; the file may be cut short" if len(cells) < n_columns else ""
                return DataError(
                    f"{path}, line {line}: {len(cells)} cells where the header has {n_columns}{cut}"
                )
        path.read_bytes().decode(file.encoding)
    except UnicodeError:
        return not_text(path, file.encoding)
    except csv.Error as error:
        return DataError(f"{path}: not a valid table ({error}); a quote may be left open")
    return DataError(f"{path}: cannot be read as a table ({message.splitlines()[0]})")


def _require_closed_quotes(file: _File) -> None:
    """Raise a `DataError` for a file that ends inside a quoted cell."""
    line = 1
    try:
        for last, _ in _rows(file.path, file.delimiter, file.encoding, strict=True):
            line = last + 1
    except csv.Error as error:
        if "end of data" in str(error):
            raise DataError(
                f"{file.path}, line {line}: a quote is opened and never closed; "
                "the file may be cut short"
            ) from None


def _rows(
    path: Path, delimiter: str, encoding: str, *, strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Every row by Python's own reader, with its last line; bytes that are no text are kept."""
    longest = csv.field_size_limit(sys.maxsize)
    try:
        with path.open(encoding=with_mark(encoding), newline="", errors="surrogateescape") as file:
            reader = csv.reader(file, delimiter=delimiter, strict=strict)
            for cells in reader:
                yield reader.line_num, cells
    finally:
        csv.field_size_limit(longest)


def _count_lines(path: Path) -> int:
    """Number of lines up to the last that is not blank."""
    with path.open("rb") as file:
        tail_start = max(file.seek(0, 2) - 4096, 0)
        file.seek(tail_start)
        tail = file.read()
    return _count(path, b"\n") - tail.count(b"\n") + tail.rstrip(b"\r\n").count(b"\n") + 1


def _count(path: Path, byte: bytes) -> int:
    with path.open("rb") as file:
        return sum(part.count(byte) for part in iter(lambda: file.read(1 << 20), b""))


def holds_plain_integers(path: Path, delimiter: str) -> bool:
    """Whether all cells below the header are whole numbers without leading zeros or blanks."""
    with path.open("rb") as stream:
        # Not closed explicitly: a thread may use the array for a moment after the result is known.
        data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    body = data.find(b"\n") + 1
    plain = b"0123456789-\r\n" + delimiter.encode()
    if body == 0 or body == len(data) or data[body : body + 4096].translate(None, plain):
        return False
    bytes_, mark = np.frombuffer(data, dtype=np.uint8), ord(delimiter)
    starts = range(body, len(data), _CHECKED_BLOCK)
    blocks = [(start, min(start + _CHECKED_BLOCK, len(data))) for start in starts]
    return all(run_blocks(lambda block: _plain_cells(bytes_, *block, mark), blocks))


@kernel
def _plain_cells(data: AnyArray, start: int, stop: int, delimiter: int) -> bool:
    """Check the cells that begin in [start, stop); a cell may end behind the block."""
    newline, carriage, minus, zero, nine = 10, 13, 45, 48, 57
    position = start
    before = data[start - 1]
    if before != newline and before != delimiter:  # noqa: PLR1714 - a tuple compiles slowly
        # the block before checks the cell that is cut here
        while position < stop and data[position] != newline and data[position] != delimiter:
            position += 1
        position += 1
    while position < stop:
        first = position
        if data[first] == minus:
            first += 1
        last = first
        while last < len(data) and zero <= data[last] <= nine:
            last += 1
        n_digits = last - first
        if n_digits == 0 or n_digits > _LONGEST:
            return False
        if data[first] == zero and (n_digits > 1 or first > position):
            return False
        if last < len(data) and data[last] == carriage:
            last += 1
        if last < len(data) and data[last] != newline and data[last] != delimiter:
            return False
        position = last + 1
    return True
