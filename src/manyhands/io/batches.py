"""Tables that are read in batches: CSV, TSV and Parquet of any size."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from manyhands.annotations.rows import place
from manyhands.annotations.vocabulary import repeated
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.io.atomic import atomic_write
from manyhands.io.delimited import DELIMITERS, first_line_of_rows, iterate_columns, read_header
from manyhands.io.input_file import InputFile
from manyhands.io.parquet import opened_parquet, text_of_bytes
from manyhands.io.tables import SUFFIXES, arrow_table, delimiter_of, format_of, write_stream
from manyhands.io.texts import encoding_of, require_names

BATCHED = ("csv", "tsv", "parquet")  # formats


class BatchedTable:
    """A file of named columns that is never in memory as a whole."""

    def __init__(self, path: InputFile, format: str, encoding: str = "utf-8") -> None:
        if format not in BATCHED:
            raise DataError(
                f"{path}: is {format}; files that are read in batches are {', '.join(BATCHED)}"
            )
        self.path, self.format, self.encoding = path, format, encoding_of(path, encoding)

    @cached_property
    def columns(self) -> list[str]:
        """The names of the columns."""
        if self.format in DELIMITERS:
            return read_header(self.path, self.delimiter, self.encoding)
        with opened_parquet(self.path, bounded=False) as file:
            names: list[str] = file.schema_arrow.names
        require_names(self.path, names)
        if twice := repeated(names):
            raise DataError(f"{self.path}: the column {twice[0]!r} appears more than once")
        return names

    def column_types(self, names: Sequence[str]) -> tuple[str, ...]:
        """The types of some columns; all cells of CSV are text."""
        if self.format in DELIMITERS:
            return ("string",) * len(names)
        with opened_parquet(self.path, bounded=False) as file:
            return tuple(str(file.schema_arrow.field(name).type) for name in names)

    @cached_property
    def delimiter(self) -> str:
        """What parts the cells of a line."""
        return delimiter_of(self.path, DELIMITERS[self.format], self.encoding)

    def batches(self, names: Sequence[str], n_rows: int) -> Iterator[dict[str, Any]]:
        """Some columns, as arrow arrays of up to about `n_rows` rows in the order of the file."""
        if self.format in DELIMITERS:
            found = iterate_columns(self.path, names, self.delimiter, self.encoding)
            yield from ({name: batch.column(name) for name in names} for batch in found)
            return
        with opened_parquet(self.path, bounded=False, pre_buffer=False) as file:
            for batch in file.iter_batches(n_rows, columns=list(names), use_threads=True):
                yield {name: _plain(batch.column(name), name, self.path) for name in names}

    def place(self, row: int) -> str:
        """The place of a row, for an error message."""
        first = None
        if self.format in DELIMITERS:
            n_rows = sum(len(next(iter(each.values()))) for each in self.batches(self.columns, 1))
            first = first_line_of_rows(self.path, n_rows)
        return place(str(self.path), first, row)


def _plain(column: pa.Array, name: str, path: InputFile) -> pa.Array:
    plain: pa.Array = text_of_bytes(column, name, path)
    return plain


def write_tables(
    tables: Iterable[Mapping[str, AnyArray]], path: str | Path, format: str | None = None
) -> None:
    """Write tables with the same columns one below the other, completely or not at all."""
    kind = format_of(Path(path), format, SUFFIXES)
    with atomic_write(path) as stream:
        append_tables(tables, stream, kind)


def append_tables(tables: Iterable[Mapping[str, AnyArray]], stream: BinaryIO, format: str) -> None:
    """Write such tables to an open binary stream."""
    writer: Any = None
    try:
        for place, columns in enumerate(tables):
            if format == "parquet":
                table = arrow_table(columns)
                if writer is None:
                    writer = pq.ParquetWriter(stream, table.schema)
                writer.write_table(table)
            else:
                write_stream(columns, stream, format, header=place == 0)
    finally:
        if writer is not None:
            writer.close()
