"""Write labels, and copy tables between formats with all their columns."""

import csv
import io
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manyhands.annotations import Annotations
from manyhands.annotations.grouping import duplicated_pairs
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingName
from manyhands.core.settings import require_choice
from manyhands.io.atomic import atomic_write
from manyhands.io.delimited import DELIMITERS
from manyhands.io.joined import open_table
from manyhands.io.labels import DENSE_MISSING, LABEL_SUFFIXES
from manyhands.io.matrices import typed_cells
from manyhands.io.opening import Paths, input_files
from manyhands.io.tables import FORMATS, format_of, require_target, write_table
from manyhands.io.texts import text_lines

_PLAIN_NUMBER = re.compile(r"(?=.{1,18}$)-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
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
    kind = format_of(Path(target), None, LABEL_SUFFIXES)
    if table.format == "jsonl" and kind in DELIMITERS:
        columns = _as_written(files, columns, encoding)
    if table.format == "parquet" or kind == table.format == "jsonl":
        write_table(columns, target)
    elif kind == "parquet":
        write_table({name: _typed(column) for name, column in columns.items()}, target)
    else:
        texts = {name: column.cast(pa.string()) for name, column in columns.items()}
        with atomic_write(target) as stream:
            write = _write_lines if kind == "jsonl" else _write_delimited
            write(texts, stream, DELIMITERS.get(kind, ""))
    return len(columns[table.columns[0]])


def _write_delimited(texts: dict[str, Any], stream: BinaryIO, delimiter: str) -> None:
    """Write columns of text with quotes only where they are needed."""
    if any("\x00" in name for name in texts):
        raise DataError("the name of a column holds NUL, which csv and tsv cannot; rename it")
    lines = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    writer = csv.writer(lines, delimiter=delimiter, lineterminator="\n")
    writer.writerow(texts)
    writer.writerows(zip(*(text.to_pylist() for text in texts.values()), strict=True))
    lines.flush()
    lines.detach()


def _write_lines(texts: dict[str, Any], stream: BinaryIO, _: str) -> None:
    """Write columns of text as JSON lines; columns of numbers keep their digits, without quotes."""
    keys = [json.dumps(name, ensure_ascii=False) for name in texts]
    cells = [
        [cell or "null" for cell in text.to_pylist()]
        if _are_numbers(text)
        else [json.dumps(cell, ensure_ascii=False) for cell in text.to_pylist()]
        for text in texts.values()
    ]
    for row in zip(*cells, strict=True):
        pairs = ", ".join(f"{key}: {cell}" for key, cell in zip(keys, row, strict=True))
        stream.write(f"{{{pairs}}}\n".encode())


def _as_written(files: Iterable[Path], columns: dict[str, Any], encoding: str) -> dict[str, Any]:
    """The columns of JSON lines, with numbers as the text that they are written with."""
    lines = [line for path in files for line in text_lines(path, encoding) if line.strip()]
    written: dict[str, Any] = dict.fromkeys(("parse_int", "parse_float"), _Digits)
    digits = [json.loads(line, parse_constant=_constant, **written) for line in lines]
    numeric = [name for name, column in columns.items() if _is_numeric(column.type)]
    return columns | {
        name: pa.array([None if row.get(name) is None else row[name].text for row in digits])
        for name in numeric
    }


def _constant(name: str) -> "_Digits | None":
    """NaN is a cell without a number."""
    return None if name == "NaN" else _Digits(name)


class _Digits:
    """A number of a JSON file as it is written there."""

    def __init__(self, text: str) -> None:
        self.text = text


def _typed(column: Any) -> Any:
    """A column of text as numbers if all of its cells are plain numbers or blank."""
    if not pa.types.is_string(column.type):
        return column
    text = column.cast(pa.string())
    if not _are_numbers(text):
        return column
    filled = pc.if_else(pc.equal(text, ""), None, text)
    whole = pc.all(pc.match_substring_regex(filled, r"^-?\d+$")).as_py()
    return filled.cast(pa.int64() if whole else pa.float64())


def _are_numbers(text: Any) -> bool:
    """Whether all cells are blank or plain numbers that JSON can hold: 007 and 1_000 are none."""
    distinct = [cell for cell in pc.unique(text).to_pylist() if cell]
    return bool(distinct) and all(_PLAIN_NUMBER.fullmatch(cell) for cell in distinct)


def _is_numeric(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def is_table(path: str | Path, format: str | None = None) -> bool:
    """Whether a file of this name, or of this format, is a table of columns."""
    found = path if isinstance(path, Path) else Path(path)  # an opened file knows its format
    return format_of(found, format, LABEL_SUFFIXES) in FORMATS


def write_annotations(
    annotations: Annotations, path: str | Path, *, layout: str = "long", missing: Any = -1
) -> None:
    """Write labels; the suffix decides the format, and `layout` the shape of a table.

    Only a long table has the times of labels, where these are known, and can have several labels of
    one annotator for one item; for these, other layouts raise a `DataError`. A .txt or .npy matrix
    has the labels only, without names.
    """
    require_choice("layout", layout, ("long", "wide"))
    target = Path(path)
    kind = format_of(target, None, LABEL_SUFFIXES)
    if kind not in FORMATS or layout == "wide":
        _require_one_each(annotations)
    if kind in FORMATS and layout == "long":
        write_table(annotations.to_columns(times=True), target)
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
