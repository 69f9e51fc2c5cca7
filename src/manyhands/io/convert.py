"""Write labels, and copy tables between formats with all their columns."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from manyhands.annotations import Annotations
from manyhands.annotations.grouping import duplicated_pairs
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingName
from manyhands.core.settings import require_choice
from manyhands.io.atomic import atomic_write
from manyhands.io.joined import open_table
from manyhands.io.labels import DENSE_MISSING, LABEL_SUFFIXES
from manyhands.io.matrices import typed_cells
from manyhands.io.opening import Paths, input_files
from manyhands.io.tables import FORMATS, format_of, require_target, write_table

_NO_LABEL = {str(code) for code in DENSE_MISSING}


def copy_table(
    source: Paths, target: str | Path, *, format: str | None = None, encoding: str = "utf-8"
) -> int:
    """Copy a table, or several, to another format with all columns; return the number of rows."""
    files = input_files(source)
    require_target(target)
    table = open_table(files, format, encoding)
    if len(set(table.columns)) < len(table.columns):
        raise DataError(f"{table.path}: a column name appears twice; rename one of them")
    columns = {name: _plain(column) for name, column in table.select(table.columns).items()}
    write_table(columns, target)
    return len(columns[table.columns[0]])


def is_table(path: str | Path, format: str | None = None) -> bool:
    """Whether a file of this name, or of this format, is a table of columns."""
    found = path if isinstance(path, Path) else Path(path)  # an opened file knows its format
    return format_of(found, format, LABEL_SUFFIXES) in FORMATS


def write_annotations(
    annotations: Annotations, path: str | Path, *, layout: str = "long", missing: Any = -1
) -> None:
    """Write labels; the suffix decides the format, and `layout` the shape of a table.

    Only a long table can have several labels of one annotator for one item; other layouts raise a
    `DataError`. A .txt or .npy matrix has the labels only, without names.
    """
    require_choice("layout", layout, ("long", "wide"))
    target = Path(path)
    kind = format_of(target, None, LABEL_SUFFIXES)
    if kind not in FORMATS or layout == "wide":
        _require_one_each(annotations)
    if kind in FORMATS and layout == "long":
        write_table(annotations.to_columns(), target)
    elif kind == "json":
        with atomic_write(target) as stream:
            stream.write(json.dumps(_nested(annotations), ensure_ascii=False).encode())
    elif kind in FORMATS:
        _write_wide(annotations, target)
    else:
        _write_matrix(annotations, target, kind, missing)


def _require_one_each(annotations: Annotations) -> None:
    again = np.flatnonzero(duplicated_pairs(annotations.item, annotations.annotator))
    if len(again):
        item = annotations.items[annotations.item[again[0]]]
        annotator = annotations.annotators[annotations.annotator[again[0]]]
        raise DataError(
            f"annotator {str(annotator)!r} labelled item {str(item)!r} more than once, which only "
            "a long table can express; set ", SettingName("duplicates"), " to first or last",
        )  # fmt: skip


def _write_wide(annotations: Annotations, target: Path) -> None:
    columns: dict[str, AnyArray] = {"item": annotations.items}
    if annotations.annotator_vocabulary.codes(["item"])[0] >= 0:
        raise DataError("an annotator is named 'item', as the first column is; write a long table")
    grid = np.full((annotations.n_items, annotations.n_annotators), "", dtype=object)
    names = [_cell(label) for label in annotations.label_names().tolist()]
    for name in _NO_LABEL.intersection(each.strip() for each in names):
        raise DataError(f"the label {name!r} means no label in a wide table; write a long one")
    grid[annotations.item, annotations.annotator] = names
    write_table(
        columns | {str(name): grid[:, a] for a, name in enumerate(annotations.annotators)}, target
    )


def _write_matrix(annotations: Annotations, target: Path, kind: str, missing: Any) -> None:
    if kind == "npy" and annotations.classes.dtype == object:
        raise DataError("a .npy matrix holds numbers only; these labels are words")
    for name in annotations.classes.tolist():
        marked = str(name).startswith("\ufeff")  # taken off where a file begins with it
        if str(name).split() != [str(name)] or str(name) in _NO_LABEL or marked:
            raise DataError(f"the label {name!r} cannot stand in a matrix; use a table")
    words = annotations.classes.dtype == object
    if words and typed_cells([list(map(str, annotations.classes))]).dtype != object:
        raise DataError("all labels are words that look like numbers; use a table")
    grid = annotations.to_dense(missing=missing)
    with atomic_write(target) as stream:
        if kind == "npy":
            np.save(stream, grid, allow_pickle=False)
            return
        for row in grid.tolist():
            stream.write((" ".join(map(_cell, row)) + "\n").encode())


def _nested(annotations: Annotations) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {str(name): {} for name in annotations.items}
    columns = [column.tolist() for column in annotations.to_columns().values()]
    for item, annotator, label in zip(*columns, strict=True):
        nested[str(item)][str(annotator)] = label
    return nested


def _cell(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _plain(column: Any) -> Any:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
