"""Files of labels of items, in every layout -> rows -> annotations."""

import json
import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from manyhands.annotations import Annotations, Kind, Rows
from manyhands.annotations.choose import choose_columns
from manyhands.annotations.columns import is_candidate, is_text, is_time, numbered_annotators
from manyhands.annotations.dense import dense_cells
from manyhands.annotations.grouping import Duplicates
from manyhands.annotations.labels import as_list
from manyhands.annotations.plausible import are_measurements, distinct_cells, is_prose
from manyhands.annotations.rows import encode_rows, nested_columns
from manyhands.annotations.source import Source
from manyhands.annotations.vocabulary import repeated
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingName
from manyhands.core.settings import require_choice
from manyhands.io.delimited import DELIMITERS
from manyhands.io.tables import SUFFIXES, Table, format_of
from manyhands.io.texts import existing, text_lines
from manyhands.io.tool_files import read_export

LABEL_SUFFIXES = SUFFIXES | {".txt": "txt", ".npy": "npy", ".json": "json"}
_MOST_CLASSES = 50  # that columns of a wide table share
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
        exported = self._exported(found, format) if self.layout is None else None
        if exported is not None:
            return exported
        if format in {"txt", "npy"} or self.layout == "dense":
            return self._dense_rows(*_read_matrix(found, format, self.encoding))
        if format == "json":
            labels = _json_content(found)
            if isinstance(labels, list):
                return self._long_rows(Table.of_records(found, labels))
            rows = self._encoded(*nested_columns(labels), items=list(labels))
            return self._read(rows, "nested")
        table = Table(found, format, self.encoding)
        return self._wide_rows(table) if self.layout == "wide" else self._long_rows(table)

    def _codes(self, default: Sequence[Any] = ()) -> list[Any]:
        return as_list(default if self.missing is None else self.missing)

    def _encoded(self, *columns: Any, **named: Any) -> Rows:
        settings: dict[str, Any] = {"missing": self._codes(), "source": str(Path(self.path))}
        settings |= {"kind": self.kind, "classes": self.classes} | named
        return encode_rows(*columns, **settings)

    def _long_rows(self, table: Table) -> Rows:
        given = (self.layout, self.annotator, self.label)
        if not any(given) and self._is_wide(table):
            return self._wide_rows(table)
        try:
            chosen = choose_columns(
                table.columns, table.select,
                item=self.item, annotator=self.annotator, label=self.label,
                check_labels=self.kind is None and self.classes is None,
            )  # fmt: skip
        except DataError as error:
            hint = () if any(given) else _layout_hint(table)
            raise DataError(f"{table.path}: ", *error.args, *hint) from None
        rows = self._encoded(*chosen.cells, first_line=table.first_line)
        return replace(rows, read_from=chosen.source(self.path))

    def _exported(self, path: Path, format: str) -> Rows | None:
        """The rows of a file that a tool exported; None for any other file."""
        named = {"item": self.item, "annotator": self.annotator, "label": self.label}
        found = read_export(path, format, self.encoding, **named)
        if found is None:
            return None
        rows = self._encoded(found.item, found.annotator, found.label)
        source = Source(str(self.path), found.tool, notes=(found.summary(),), known=found.known)
        return replace(rows, read_from=source)

    def _read(
        self,
        rows: Rows,
        layout: str,
        item: str = "",
        annotator: str = "",
        label: str = "",
        notes: Sequence[str] = (),
    ) -> Rows:
        source = Source(str(self.path), layout, item, annotator, label, tuple(notes))
        return replace(rows, read_from=source)

    def _is_wide(self, table: Table) -> bool:
        """Whether a table has a column per annotator, by names and the classes that they share."""
        named = numbered_annotators(table.columns)
        others = [name for name in table.columns if name not in named]
        if not named or not any(is_candidate(name, "item") for name in others):
            return False
        said = [set(distinct_cells(column)) for column in table.select(named).values()]
        return all(len(cells) <= _MOST_CLASSES and not cells.isdisjoint(said[0]) for cells in said)

    def _wide_item(self, table: Table) -> str:
        """The column of items of a wide table: the given one, the one called so, or the first."""
        if self.item is not None:
            return table.find_column("item", self.item)
        first, named = table.columns[0], numbered_annotators(table.columns)
        if named:
            others = [name for name in table.columns if name not in named]
            return table.find_column("item", among=others)
        if is_candidate(first, "annotator"):
            raise DataError(
                f"{table.path}: the first column {first!r} seems to name annotators, and a wide "
                "table has a row per item and a column per annotator; turn it, or name the column "
                "of items with ", SettingName("item", ...),
            )  # fmt: skip
        return str(first)

    def _wide_rows(self, table: Table) -> Rows:
        item = self._wide_item(table)
        others = [name for name in table.columns if name != item]
        if len(set(table.columns)) < len(table.columns) or not others:
            raise DataError(
                f"{table.path}: every column but {item!r} must be one annotator, named once"
            )
        columns = table.select([item, *others])
        named = numbered_annotators(table.columns)
        left = {name: "is not called an annotator" for name in others if named}
        left |= {
            name: "holds times"
            for name in others
            if is_time(name) and are_measurements(columns[name])
        }
        left |= {name: "holds truths" for name in others if is_candidate(name, "truth")}
        left |= {
            name: "holds texts"
            for name in others
            if is_text(name) or is_prose(distinct_cells(columns[name]))
        }
        annotators = [name for name in others if name in named or name not in left]
        if not annotators:
            raise DataError(
                f"{table.path}: no column holds labels; {others[0]!r} {left[others[0]]}"
            )
        grid = np.array([columns[name].to_pylist() for name in annotators], dtype=object).T
        names = table.filled("item", columns[item], "every row needs an item")
        twice = repeated(names)
        if twice:
            raise DataError(
                f"{table.path}: the item {twice[0]!r} has more than one row; in a wide table it "
                "has one"
            )
        rows = self._dense_rows(grid, table.first_line, names, annotators)
        notes = [
            f"the column {name!r} {why} and is no annotator"
            for name, why in left.items()
            if name not in annotators
        ]
        if self.layout is None:
            notes.insert(0, "read as a wide table, with a column per annotator")
        shown = ", ".join(map(str, annotators[:3])) + (" ..." if len(annotators) > 3 else "")
        return self._read(rows, "wide", item, shown, notes=notes)

    def _dense_rows(
        self,
        grid: AnyArray,
        first_line: int | None,
        items: Sequence[Any] | None = None,
        annotators: Sequence[Any] | None = None,
    ) -> Rows:
        cells = dense_cells(grid, self._codes(DENSE_MISSING), items, annotators)
        rows = self._encoded(**cells, missing=(), first_line=first_line)
        return self._read(rows, "dense")


def _layout_hint(table: Table) -> tuple[str | SettingName, ...]:
    if len(table.columns) > 2 and not any(
        is_candidate(name, "annotator") for name in table.columns
    ):
        wide = SettingName("layout", "wide")
        return " (a table with a column per annotator needs ", wide, ")"
    return ()


def _json_content(path: Path) -> dict[str, Any] | list[dict[str, Any]]:
    """{item: {annotator: label}}, or a list of records."""
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_once)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not JSON ({error}); the file may be cut short") from None
    except RecursionError:
        raise DataError(f"{path}: not {{item: {{annotator: label}}}}: nested too deep") from None
    except DataError as error:
        raise error.at(path) from None
    if isinstance(found, list) and found and all(isinstance(row, dict) for row in found):
        return found
    if not isinstance(found, dict) or not all(isinstance(row, dict) for row in found.values()):
        raise DataError(
            f"{path}: expected {{item: {{annotator: label}}}}, or a list of records [{{...}}, ...]"
        )
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
