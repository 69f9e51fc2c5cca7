"""Parquet files: what they unpack to is bounded before it is unpacked."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from manyhands.core.errors import DataError, first_line
from manyhands.io.packed import shown_size, unpacked_limit

_ROWS = 1 << 16  # of a batch
_CELL = 8  # bytes that a cell takes at least: footers tell nothing of repeated cells


@contextmanager
def opened_parquet(path: Path, *, bounded: bool = True, **options: Any) -> Iterator[pq.ParquetFile]:
    """A Parquet file; a `DataError` for any other file, and for one that unpacks to too much.

    It may unpack to any size if it is not `bounded`, for those who read it in batches.
    """
    try:
        file = pq.ParquetFile(path, **options)
        if bounded:
            _require_bounded(path, file.metadata)
        yield file
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise  # of the machine
        raise DataError(f"{path}: not a Parquet file, or cut short ({first_line(error)})") from None


def read_parquet(path: Path) -> pa.Table:
    """The table of a Parquet file; a `DataError` if it would take too much memory.

    A short text may be repeated in millions of rows of a small file, so texts are read as a
    dictionary, and unpacked only when it is known what they need.
    """
    limit = unpacked_limit(path)
    with opened_parquet(path) as file:
        schema = file.schema_arrow
        texts = [each.name for each in schema if _is_text(each.type)]
    with opened_parquet(path, read_dictionary=texts) as file:
        before, batches = pa.total_allocated_bytes(), []
        for batch in file.iter_batches(_ROWS):
            batches.append(batch)
            if pa.total_allocated_bytes() - before > limit:  # the footer told less
                raise _too_large(path, pa.total_allocated_bytes() - before)
        found = pa.Table.from_batches(batches, file.schema_arrow)
    packed = [_unpacked_size(column) for column in found.columns]
    if sum(packed) > limit:
        raise _too_large(path, sum(packed))
    columns = [
        column if column.type == each.type else column.cast(each.type)
        for column, each in zip(found.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def text_of_bytes(column: Any, name: str, path: Path) -> Any:
    """A column of bytes as text; a `DataError` if they are not UTF-8. Others as they are."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not _is_bytes(kind):
        return column
    if pa.types.is_fixed_size_binary(kind):
        column = column.cast(pa.binary())
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        raise DataError(
            f"{path}: the column {name!r} holds bytes that are not UTF-8 text; write it as text"
        ) from None


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _require_bounded(path: Path, footer: pq.FileMetaData) -> None:
    groups = [footer.row_group(place) for place in range(footer.num_row_groups)]
    told = sum(group.total_byte_size for group in groups)
    needed = max(told, _CELL * footer.num_rows * footer.num_columns)
    if needed > unpacked_limit(path):
        raise _too_large(path, needed)


def _unpacked_size(column: pa.ChunkedArray) -> int:
    """Bytes of a column when its texts are unpacked."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = (
        pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() or 0
        for chunk in column.chunks
        if _is_text(chunk.dictionary.type)
    )
    return sum(lengths) + _CELL * len(column)


def _too_large(path: Path, needed: int) -> DataError:
    return DataError(
        f"{path}: would unpack to about {shown_size(needed)}, and at most "
        f"{shown_size(unpacked_limit(path))} are unpacked; keep the rows and columns that you need"
    )
