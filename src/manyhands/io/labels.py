"""Files of labels of items, in every layout -> rows -> annotations."""

import json
import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manyhands.annotations import Annotations, Kind, Rows
from manyhands.annotations.columns import find_columns
from manyhands.annotations.dense import dense_cells
from manyhands.annotations.grouping import Duplicates
from manyhands.annotations.labels import as_list
from manyhands.annotations.rows import encode_rows, nested_columns
from manyhands.annotations.vocabulary import repeated
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingName
from manyhands.core.settings import require_choice
from manyhands.io.delimited import DELIMITERS
from manyhands.io.tables import SUFFIXES, Table, format_of
from manyhands.io.texts import existing, text_lines

LABEL_SUFFIXES = SUFFIXES | {".txt": "txt", ".npy": "npy", ".json": "json"}
LAYOUTS = ("long", "wide", "dense")
DENSE_MISSING = (-1, "?", "")
_SEPARATORS = {**DELIMITERS, "txt": None}  # of matrices; None is white space
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]+")


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
    file = ItemFile(path, format, layout, item, annotator, label, kind, classes, missing, encoding)
    return Annotations.from_rows(file.rows(), duplicates=duplicates)


@dataclass(frozen=True)
class ItemFile:
    """A file of labels of items and how to read it; the settings are those of `read`."""

    path: str | Path
    format: str | None = None
    layout: str | None = None
    item: str | None = None
    annotator: str | None = None
    label: str | None = None
    kind: Kind | None = None
    classes: Iterable[Any] | None = None
    missing: Any = None
    encoding: str = "utf-8"

    def rows(self) -> Rows:
        """The rows of the file, including unusable ones."""
        found = existing(self.path)
        format = format_of(found, self.format, LABEL_SUFFIXES)
        if self.layout is not None:
            require_choice("layout", self.layout, LAYOUTS)
        if format in {"txt", "npy"} or self.layout == "dense":
            return self._dense_rows(*_read_matrix(found, format, self.encoding))
        if format == "json":
            labels = _json_object(found)
            return self._encoded(*nested_columns(labels), items=list(labels))
        table = Table(found, format, self.encoding)
        return self._wide_rows(table) if self.layout == "wide" else self._long_rows(table)

    def _codes(self, default: Sequence[Any] = ()) -> list[Any]:
        return as_list(default if self.missing is None else self.missing)

    def _encoded(self, *columns: Any, **named: Any) -> Rows:
        settings: dict[str, Any] = {"missing": self._codes(), "source": str(Path(self.path))}
        settings |= {"kind": self.kind, "classes": self.classes} | named
        return encode_rows(*columns, **settings)

    def _long_rows(self, table: Table) -> Rows:
        try:
            names = find_columns(table.columns, self.item, self.annotator, self.label)
        except DataError as error:
            raise DataError(f"{table.path}: ", *error.args, *_layout_hint(table)) from None
        columns = table.select(names)
        return self._encoded(*(columns[name] for name in names), first_line=table.first_line)

    def _wide_rows(self, table: Table) -> Rows:
        item = table.find_column("item", self.item) if self.item else table.columns[0]
        annotators = [name for name in table.columns if name != item]
        if len(set(table.columns)) < len(table.columns) or not annotators:
            raise DataError(
                f"{table.path}: every column but {item!r} must be one annotator, named once"
            )
        columns = table.select([item, *annotators])
        grid = np.array([columns[name].to_pylist() for name in annotators], dtype=object).T
        names = table.filled("item", columns[item], "every row needs an item")
        twice = repeated(names)
        if twice:
            raise DataError(
                f"{table.path}: the item {twice[0]!r} has more than one row; in a wide table it "
                "has one"
            )
        return self._dense_rows(grid, table.first_line, names, annotators)

    def _dense_rows(
        self,
        grid: AnyArray,
        first_line: int | None,
        items: Sequence[Any] | None = None,
        annotators: Sequence[Any] | None = None,
    ) -> Rows:
        cells = dense_cells(grid, self._codes(DENSE_MISSING), items, annotators)
        return self._encoded(**cells, missing=(), first_line=first_line)


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
    twice = repeated([name for name, _ in pairs])
    if twice:
        raise DataError(f"{twice[0]!r} is named twice in one object; name it once")
    return dict(pairs)


def _read_matrix(path: Path, format: str, encoding: str) -> tuple[AnyArray, int | None]:
    """The cells of a matrix, and the line of its first row if the file has one line per row."""
    if format == "npy":
        return _array(path), None
    if format not in _SEPARATORS:
        raise DataError(f"{path}: a dense matrix is .txt, .csv, .tsv or .npy, not {format}")
    rows = [
        (number, line.split(_SEPARATORS[format]))
        for number, line in enumerate(text_lines(path, encoding), 1)
        if line.strip()
    ]
    if not rows:
        raise DataError(f"{path}: the file is empty")
    width = len(rows[0][1])
    for number, row in rows:
        if len(row) != width:
            raise DataError(
                f"{path}, line {number}: {len(row)} cells where line {rows[0][0]} has {width}; "
                "every line of a matrix has equally many; the file may be cut short"
            )
    return typed_cells([row for _, row in rows]), 1 if rows[-1][0] == len(rows) else None


def _array(path: Path) -> AnyArray:
    try:
        with path.open("rb") as stream:
            loaded = np.load(stream, allow_pickle=False)
    except (ValueError, EOFError, zipfile.BadZipFile):
        raise DataError(f"{path}: not a .npy array, or cut short") from None
    if not isinstance(loaded, np.ndarray) or loaded.ndim != 2 or loaded.dtype.kind not in "biufSU":
        raise DataError(f"{path}: expected one matrix of labels, items x annotators")
    return loaded


def typed_cells(rows: list[list[str]]) -> AnyArray:
    """Numbers if all cells are numbers; otherwise text, so that "007" is kept."""
    distinct = {cell.strip() for row in rows for cell in row}
    if all(_WHOLE.fullmatch(cell) for cell in distinct):
        return np.array(rows, dtype=np.int64)
    if not any(_LEADING_ZERO.fullmatch(cell) for cell in distinct):
        try:
            return np.array(rows, dtype=np.float64)
        except ValueError:
            pass
    return np.array(rows, dtype=object)
