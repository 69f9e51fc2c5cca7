"""Between formats, with ids, names and every further column kept."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.io.labels import DENSE_MISSING, LABEL_SUFFIXES
from manyhands.io.tables import FORMATS, SUFFIXES, Table, existing, format_of, write_table
from manyhands.io.whole import whole_file


def copy_table(source: str | Path, target: str | Path, *, encoding: str = "utf-8") -> int:
    """Rewrite a table in another format with all its columns and rows; how many rows it has."""
    found = existing(source)
    table = Table(found, format_of(found, None, SUFFIXES), encoding)
    if len(set(table.columns)) < len(table.columns):
        raise DataError(f"{found}: a column name appears twice; rename one of them")
    columns = {name: _plain(column) for name, column in table.select(table.columns).items()}
    write_table(columns, target)
    return len(columns[table.columns[0]])


def is_table(path: str | Path) -> bool:
    """Whether a file of this name is a table of columns."""
    return format_of(Path(path), None, LABEL_SUFFIXES) in FORMATS


def write_annotations(
    annotations: Annotations, path: str | Path, *, layout: str = "long", missing: Any = -1
) -> None:
    """Write labels; the suffix decides the format, and for a table the layout its shape."""
    target = Path(path)
    kind = format_of(target, None, LABEL_SUFFIXES)
    if kind in FORMATS and layout == "long":
        write_table(
            {
                "item": annotations.items[annotations.item],
                "annotator": annotations.annotators[annotations.annotator],
                "label": annotations.label_names(),
            },
            target,
        )
    elif kind == "json":
        with whole_file(target) as stream:
            stream.write(json.dumps(_nested(annotations), ensure_ascii=False).encode())
    elif kind in FORMATS:
        _write_wide(annotations, target)
    else:
        _write_matrix(annotations, target, kind, missing)


def _write_wide(annotations: Annotations, target: Path) -> None:
    grid = annotations.to_dense(missing="") if annotations.classes.dtype == object else None
    if grid is None:
        numbers = annotations.as_kind("numbers").to_dense(missing=np.nan)
        grid = np.array([[_cell(value) for value in row] for row in numbers], dtype=object)
    columns: dict[str, AnyArray] = {"item": annotations.items}
    write_table(
        columns | {str(name): grid[:, a] for a, name in enumerate(annotations.annotators)}, target
    )


def _write_matrix(annotations: Annotations, target: Path, kind: str, missing: Any) -> None:
    grid = annotations.to_dense(missing=missing)
    with whole_file(target) as stream:
        if kind == "npy":
            if grid.dtype == object:
                raise DataError("a .npy matrix holds numbers only; these labels are words")
            np.save(stream, grid, allow_pickle=False)
            return
        for row in grid.tolist():
            cells = [str(cell) for cell in row]
            if any(" " in cell or cell in DENSE_MISSING for cell in cells if cell != str(missing)):
                raise DataError("a label with a space cannot stand in a .txt matrix; use a table")
            stream.write((" ".join(cells) + "\n").encode())


def _nested(annotations: Annotations) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {str(name): {} for name in annotations.items}
    names = zip(
        annotations.items[annotations.item].tolist(),
        annotations.annotators[annotations.annotator].tolist(),
        annotations.label_names().tolist(),
        strict=True,
    )
    for item, annotator, label in names:
        nested[str(item)][str(annotator)] = label
    return nested


def _cell(value: float) -> str:
    if np.isnan(value):
        return ""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _plain(column: Any) -> Any:
    return column.cast(column.type.value_type) if hasattr(column.type, "value_type") else column
