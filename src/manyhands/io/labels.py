"""Files of labels of items, in every layout -> rows -> annotations."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from manyhands.annotations import Annotations, Duplicates, Kind, Rows
from manyhands.annotations.columns import find_columns
from manyhands.annotations.dense import dense_cells
from manyhands.annotations.labels import as_list
from manyhands.annotations.rows import encode_rows, place
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingName
from manyhands.core.settings import require_choice
from manyhands.io.matrix import read_matrix
from manyhands.io.tables import DELIMITERS, SUFFIXES, Table, existing, format_of

LABEL_SUFFIXES = SUFFIXES | {".txt": "txt", ".npy": "npy", ".json": "json"}
LABEL_FORMATS = tuple(dict.fromkeys(LABEL_SUFFIXES.values()))
LAYOUTS = ("long", "wide", "dense")
DENSE_MISSING = (-1, "?", "")


def read_annotations(
    path: str | Path,
    *,
    format: str | None = None,
    layout: str | None = None,
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    kind: Kind | None = None,
    classes: Iterable[Any] | None = None,
    missing: Any = None,
    duplicates: Duplicates = "keep",
    encoding: str = "utf-8",
) -> Annotations:
    """Read a file of labels.

    The suffix decides the format (.csv .tsv .parquet .jsonl: tables; .txt .npy: a dense matrix;
    .json: {item: {annotator: label}}) unless `format` is given. A table is long: one row per label,
    and three columns that are found by their names or given. `layout="wide"` means one row per item
    and one column per annotator, `layout="dense"` the same without a header.

    In a long table a blank label is an error unless `missing` lists what to drop ("" for blank).
    In a matrix -1, "?" and blank mean "no label" unless `missing` is given.
    """
    rows = read_rows(
        path,
        format=format,
        layout=layout,
        item=item,
        annotator=annotator,
        label=label,
        kind=kind,
        classes=classes,
        missing=missing,
        encoding=encoding,
    )
    return Annotations.from_rows(rows, duplicates=duplicates)


def read_rows(
    path: str | Path,
    *,
    format: str | None = None,
    layout: str | None = None,
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    kind: Kind | None = None,
    classes: Iterable[Any] | None = None,
    missing: Any = None,
    encoding: str = "utf-8",
) -> Rows:
    """The rows of a label file, including unusable ones; see `read_annotations`."""
    found = existing(path)
    file_format = format_of(found, format, LABEL_SUFFIXES)
    if layout is not None:
        require_choice("layout", layout, LAYOUTS)
    dense = file_format in {"txt", "npy"} or layout == "dense"
    codes = list(DENSE_MISSING) if missing is None else as_list(missing)
    settings: dict[str, Any] = {"kind": kind, "classes": classes, "source": str(found)}
    if dense:
        matrix = read_matrix(found, file_format, encoding)
        return _dense_rows(matrix.cells, codes, settings | {"first_line": matrix.first_line})
    in_rows = as_list(() if missing is None else missing)
    if file_format == "json":
        return _dict_rows(_json_object(found), in_rows, settings)
    table = Table(found, file_format, encoding)
    if layout == "wide":
        return _wide_rows(table, item, codes, settings)
    return _long_rows(table, (item, annotator, label), in_rows, settings)


def _long_rows(
    table: Table, given: tuple[str | None, ...], missing: list[Any], settings: dict[str, Any]
) -> Rows:
    try:
        names = find_columns(table.columns, *given)
    except DataError as error:
        raise DataError(f"{table.path}: ", *error.args, *_layout_hint(table)) from None
    columns = table.select(names)
    return encode_rows(
        *(columns[name] for name in names),
        missing=missing,
        first_line=table.first_line,
        **settings,
    )


def _layout_hint(table: Table) -> tuple[str | SettingName, ...]:
    marks = [mark for mark in ",;\t|" if mark in str(table.columns[0])]
    if len(table.columns) == 1 and marks:
        formats = {mark: SettingName("format", name) for name, mark in DELIMITERS.items()}
        remedy = formats.get(marks[0], "save it with commas")
        return f" (its columns seem to be separated by {marks[0]!r}: ", remedy, ")"
    if len(table.columns) > 3:
        wide = SettingName("layout", "wide")
        return " (a table with a column per annotator needs ", wide, ")"
    return ()


def _wide_rows(
    table: Table, item: str | None, missing: list[Any], settings: dict[str, Any]
) -> Rows:
    item = table.find_column("item", item) if item else table.columns[0]
    annotators = [name for name in table.columns if name != item]
    if len(set(table.columns)) < len(table.columns) or not annotators:
        raise DataError(
            f"{table.path}: every column but {item!r} must be one annotator, named once"
        )
    columns = table.select([item, *annotators])
    grid = np.array([columns[name].to_pylist() for name in annotators], dtype=object).T
    names = columns[item].to_pylist()
    for row, name in enumerate(names):
        if name is None or not str(name).strip():
            where = place(str(table.path), table.first_line, row)
            raise DataError(f"{where}: the item is blank; every row needs an item")
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise DataError(
            f"{table.path}: the item {twice!r} has more than one row; in a wide table it has one"
        )
    named = {"items": names, "annotators": annotators, "first_line": table.first_line}
    return _dense_rows(grid, missing, settings | named)


def _dense_rows(grid: AnyArray, missing: list[Any], settings: dict[str, Any]) -> Rows:
    cells = dense_cells(grid, missing)
    items = cells.row_names(settings.get("items"))
    annotators = cells.column_names(settings.get("annotators"))
    named = settings | {"items": items, "annotators": annotators, "row_of": cells.row}
    return encode_rows(items[cells.row], annotators[cells.column], cells.label, **named)


def _json_object(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_once)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not JSON ({error}); the file may be cut short") from None
    except RecursionError:
        raise DataError(f"{path}: not {{item: {{annotator: label}}}}: nested too deep") from None
    except DataError as error:
        raise error.at(path) from None
    if not isinstance(found, dict) or not all(isinstance(row, dict) for row in found.values()):
        raise DataError(f"{path}: expected {{item: {{annotator: label}}}}; for rows use .jsonl")
    if not any(found.values()):
        raise DataError(f"{path}: has no label")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(
            name for name, count in Counter(name for name, _ in pairs).items() if count > 1
        )
        raise DataError(f"{twice!r} is named twice in one object; name it once")
    return found


def _dict_rows(
    labels: dict[str, dict[str, Any]], missing: list[Any], settings: dict[str, Any]
) -> Rows:
    return encode_rows(
        [item for item, by_annotator in labels.items() for _ in by_annotator],
        [annotator for by_annotator in labels.values() for annotator in by_annotator],
        [label for by_annotator in labels.values() for label in by_annotator.values()],
        items=list(labels),
        missing=missing,
        **settings,
    )
