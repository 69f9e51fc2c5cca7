"""Parquet files with lists and records in their cells, as Hugging Face datasets write them."""

from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from manyhands.core.errors import DataError
from manyhands.io.json_text import parse_json
from manyhands.io.parquet import opened_parquet


def parquet_records(path: Path, n_rows: int | None = None) -> list[dict[str, Any]]:
    """The rows of a Parquet file, without pictures and sounds; classes by their names."""
    try:
        with opened_parquet(path) as file:
            schema = file.schema_arrow
            if not any(pa.types.is_nested(each.type) for each in schema):
                return []  # a plain table
            plain = [each.name for each in schema if not _is_binary(each.type)]
            batches = file.iter_batches(columns=plain, **({"batch_size": n_rows} if n_rows else {}))
            records = [
                row for batch in islice(batches, 1 if n_rows else None) for row in batch.to_pylist()
            ]
    except DataError:
        return []  # the reader of plain files raises the error
    features = _features(schema.metadata or {})
    return [
        {name: _named(cell, features.get(name)) for name, cell in row.items()} for row in records
    ]


def _is_binary(type: pa.DataType) -> bool:
    return pa.types.is_binary(type) or (
        pa.types.is_struct(type) and any(pa.types.is_binary(each.type) for each in type)
    )


def _features(metadata: dict[bytes, bytes]) -> dict[str, Any]:
    """What Hugging Face datasets write about their columns."""
    try:
        found = parse_json(metadata[b"huggingface"], "")["info"]["features"]
    except (KeyError, ValueError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def _named(cell: Any, feature: Any) -> Any:
    """A cell with the names of classes in place of their numbers."""
    if isinstance(feature, list):
        feature = {"feature": feature[0]} if len(feature) == 1 else None
    if not isinstance(feature, dict) or cell is None:
        return cell
    names = feature.get("names")
    if feature.get("_type") == "ClassLabel" and isinstance(names, list):
        return names[cell] if isinstance(cell, int) and 0 <= cell < len(names) else None
    inner = feature.get("feature", feature)
    if isinstance(cell, list):
        return [_named(each, inner) for each in cell] if inner is not feature else cell
    if isinstance(cell, dict) and isinstance(inner, dict):
        return {name: _member(each, inner.get(name)) for name, each in cell.items()}
    return cell


def _member(cell: Any, feature: Any) -> Any:
    """A member of a dictionary; Hugging Face makes a list of it for dictionaries in lists."""
    if isinstance(cell, list) and isinstance(feature, dict) and "feature" not in feature:
        return [_named(each, feature) for each in cell]
    return _named(cell, feature)
