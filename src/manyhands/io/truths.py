"""Truths of items: a table with columns item and truth, or a file with one truth per line."""

from pathlib import Path
from typing import Any

import numpy as np

from manyhands.annotations.columns import is_candidate
from manyhands.annotations.truths import ListedTruths, item_column, truth_column
from manyhands.annotations.vocabulary import normalize_classes, normalize_names, repeated
from manyhands.core.errors import DataError
from manyhands.io.input_file import InputFile
from manyhands.io.matrices import header_of
from manyhands.io.tables import SUFFIXES, Table, format_of
from manyhands.io.texts import existing, text_lines

TRUTH_SUFFIXES = SUFFIXES | {".txt": "txt", ".npy": "npy"}
_LEAVE_OUT = "leave the row out"


def read_truth(
    path: str | Path,
    *,
    format: str | None = None,
    item: str | None = None,
    truth: str | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
) -> dict[Any, Any]:
    """{item: truth} from a table with columns item and truth, one row per item.

    A .txt file with one truth per line, or a .npy array with one dimension, has the truths of items
    that are the rows of a matrix: they are called 0, 1, 2 ..., and a blank line is an item without
    a truth. Such truths are only used for as many items with these names.

    The file may be packed (.gz .bz2 .xz .zst .zip) or an Excel workbook, of which `sheet` names a
    sheet.
    """
    file = existing(path, sheet)
    kind = format_of(file, format, TRUTH_SUFFIXES)
    if kind == "npy":
        return ListedTruths(_array(file), str(path))
    if kind == "txt":
        found = None if item or truth else _listed(file, encoding)
        if found is not None:
            return ListedTruths(found, str(path))
        kind = header_of(file, encoding)[0]
    table = Table(file, kind, encoding)
    try:
        item = item_column(table.columns, item)
        truth = truth_column([name for name in table.columns if name != item], truth)
    except DataError as error:
        raise error.at(table.path) from None
    columns = table.select([item, truth])
    items = normalize_names(table.filled("item", columns[item], _LEAVE_OUT)).tolist()
    truths = table.filled("truth", columns[truth], _LEAVE_OUT, frozenset(["", "nan"]))
    twice = repeated(items)
    if twice:
        raise DataError(f"{table.path}: the truth of item {twice[0]!r} is given more than once")
    return dict(zip(items, normalize_classes(truths).tolist(), strict=True))


def _listed(file: InputFile, encoding: str) -> list[str] | None:
    """One truth per line of a text file; None if its first line names the columns of a table."""
    names = header_of(file, encoding)[1]
    if len(names) > 1 and any(is_candidate(name, "item") for name in names):
        return None
    lines = [line.strip() for line in text_lines(file, encoding)]
    while lines and not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, 1):
        cells = line.replace("\t", " ").replace(",", " ").split()
        if len(cells) > 1 and all(map(_is_number, cells)):
            raise DataError(
                f"{file}, line {number}: {len(cells)} numbers where one truth is expected; a list "
                "of truths has one per line, and a table has columns item and truth"
            )
    return lines


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _array(file: InputFile) -> list[Any]:
    try:
        with file.open("rb") as stream:
            loaded = np.load(stream, allow_pickle=False)
    except Exception:  # numpy raises many kinds, and suggests to load pickles
        raise DataError(f"{file}: not a .npy array, or cut short") from None
    if not isinstance(loaded, np.ndarray) or loaded.ndim != 1 or loaded.dtype.kind not in "biufSU":
        raise DataError(f"{file}: expected one truth per item, an array with one dimension")
    values: list[Any] = loaded.astype(str if loaded.dtype.kind == "S" else loaded.dtype).tolist()
    return values
