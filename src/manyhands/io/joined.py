"""Tables of several files as one."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from manyhands.annotations.rows import Part
from manyhands.core.errors import DataError
from manyhands.io.exports.exported import FILE_NAME
from manyhands.io.input_file import InputFile
from manyhands.io.opening import Paths, input_files, shown_paths
from manyhands.io.tables import SUFFIXES, Table, column_of, format_of


def open_table(
    path: Paths, format: str | None = None, encoding: str = "utf-8", sheet: str | None = None
) -> Table:
    """The table of a file, or of several files with the same columns."""
    files = input_files(path, sheet)
    return table_of(files, common_format(files, format, SUFFIXES), encoding)


def table_of(
    files: Sequence[InputFile], format: str, encoding: str, *, with_names: bool = False
) -> Table:
    """The table of opened files; `with_names` adds the column `FILE_NAME`."""
    tables = [Table(file, format, encoding) for file in files]
    return joined(tables, [file.title for file in files] if with_names else None)


def joined(tables: Sequence[Table], names: Sequence[str] | None = None) -> Table:
    """Tables as one; `names` of files make the column `FILE_NAME`, if no other is called so."""
    if names is None or FILE_NAME in tables[0].columns:
        return tables[0] if len(tables) == 1 else JoinedTable(tables)
    return JoinedTable(tables, names)


def common_format(files: Sequence[InputFile], given: str | None, known: dict[str, str]) -> str:
    """The format of all files; a `DataError` if they differ."""
    formats = [format_of(file, given, known) for file in files]
    for file, format in zip(files, formats, strict=True):
        if format != formats[0]:
            raise DataError(
                f"{file}: is {format}, and {files[0]} is {formats[0]}; several files must be of "
                "one format"
            )
    return formats[0]


class JoinedTable(Table):
    """Tables with the same columns, one below the other."""

    def __init__(self, tables: Sequence[Table], names: Iterable[str] | None = None) -> None:
        first = tables[0]
        self.path, self.format = Path(shown_paths([table.path for table in tables])), first.format
        self.encoding, self.first_line = first.encoding, None
        self.parts = ()
        self._tables, self._names = tables, None if names is None else list(names)
        for table in tables[1:]:
            require_same_columns(first, table)
        self.columns = [*first.columns, *([FILE_NAME] if names is not None else [])]

    def select(self, names: Sequence[str]) -> dict[str, Any]:
        """Some columns by name, with the rows of all files."""
        inner = [name for name in names if self._names is None or name != FILE_NAME]
        found = [table.select(inner or table.columns[:1]) for table in self._tables]
        lengths = [len(next(iter(columns.values()))) for columns in found]
        self.parts = tuple(
            Part(str(table.path), table.first_line, n_rows)
            for table, n_rows in zip(self._tables, lengths, strict=True)
        )
        columns = {name: _joined([each[name] for each in found]) for name in inner}
        if self._names is not None:
            said = [[name] * n for name, n in zip(self._names, lengths, strict=True)]
            columns[FILE_NAME] = pa.chunked_array([[cell for cells in said for cell in cells]])
        return {name: columns[name] for name in names}


class Named(Protocol):
    """A table by its file and its columns."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""


def require_same_columns(first: Named, other: Named) -> None:
    """Raise a `DataError` if two files have other columns."""
    lacking = [name for name in first.columns if name not in other.columns]
    extra = [name for name in other.columns if name not in first.columns]
    if lacking or extra:
        parts = [f"no {', '.join(map(repr, lacking))}"] if lacking else []
        parts += [f"{', '.join(map(repr, extra))} besides"] if extra else []
        raise DataError(
            f"{other.path}: other columns than {first.path}: {', and '.join(parts)}; several files "
            "must have the same columns"
        )


def _joined(columns: Sequence[Any]) -> Any:
    """Columns one below the other; text if they hold several types."""
    if len({column.type for column in columns}) > 1:
        return pa.chunked_array(
            [column_of([cell for column in columns for cell in column.to_pylist()])]
        )
    chunks = [chunk for column in columns for chunk in column.chunks]
    return pa.chunked_array(chunks, type=columns[0].type).unify_dictionaries()
