"""Tables of numbers that are mapped into memory: a copy on disk as an array."""

import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from manyhands.annotations.columns import find_column
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.io.parquet import opened_parquet

_ROWS = 1 << 16  # that are read at a time


def map_numbers(path: Path, item: str | None) -> tuple[list[Any], AnyArray] | None:
    """The items of a Parquet file, and its other columns as a mapped array (i, j).

    The array is 32-bit, as networks read it, in a temporary file that is removed with it. None if a
    column has no numbers, or a cell is missing or not finite: reading the table then tells where.
    """
    with opened_parquet(path, bounded=False, pre_buffer=False) as file:
        schema = file.schema_arrow
        try:
            key = find_column(schema.names, "item", item)
        except DataError:
            return None
        names = [name for name in schema.names if name != key]
        numeric = all(_is_numeric(schema.field(name).type) for name in names)
        if not names or not numeric or len(set(schema.names)) < len(schema.names):
            return None
        n_rows, items = file.metadata.num_rows, list[Any]()
        if n_rows == 0:
            return None
        rows, place = _temporary_array((n_rows, len(names))), 0
        for batch in file.iter_batches(_ROWS, columns=[key, *names], use_threads=True):
            for position, name in enumerate(names):
                column = batch.column(name)
                cells = column.to_numpy(zero_copy_only=False).astype(np.float32)
                if column.null_count or not np.isfinite(cells).all():
                    return None
                rows[place : place + len(batch), position] = cells
            items += batch.column(key).to_pylist()
            place += len(batch)
        rows.flush()
    if any(cell is None or not str(cell).strip() for cell in items):
        return None
    return items, rows


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _temporary_array(shape: tuple[int, int]) -> np.memmap[tuple[int, int], np.dtype[np.float32]]:
    """An array in a file that other processes can map by its name; it is removed with the array."""
    with tempfile.NamedTemporaryFile(prefix="manyhands-", suffix=".f32", delete=False) as stream:
        path = Path(stream.name)
    array = np.memmap(path, mode="w+", dtype=np.float32, shape=shape)
    weakref.finalize(array, path.unlink, missing_ok=True)
    return array
