"""Texts as features: a file with one per line, or a table with a column of them."""

from pathlib import Path

import numpy as np

import manyhands as mh
from manyhands.annotations.columns import find_column, is_candidate
from manyhands.annotations.rows import place
from manyhands.annotations.vocabulary import normalize_names
from manyhands.cli.options import Reading
from manyhands.core.arrays import object_array
from manyhands.core.errors import DataError
from manyhands.io.tables import SUFFIXES, Table, existing

_NAMES = ("text", "texts")


def texts_from(path: str, reading: Reading, column: str | None) -> "mh.io.Features | None":
    """The texts of a file with the items they belong to; None where its features are numbers.

    Lines of a .txt file are items 0, 1, 2 ... Of a table the column is taken that is given, or is
    called text; the items stand in another, or are 0, 1, 2 ... where there is no other.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".txt" and column is None:
        texts = mh.read_texts(path, encoding=reading.encoding)
        return mh.io.Features(np.arange(len(texts)), texts)
    if suffix not in SUFFIXES:
        return None
    table = Table(existing(path), SUFFIXES[suffix], reading.encoding)
    name = _text_column(table, column)
    return None if name is None else _of_table(table, name, reading.item)


def _text_column(table: Table, given: str | None) -> str | None:
    """The column of texts: the one given, or one called so that need not be the items'."""
    if given is not None:
        try:
            return find_column(table.columns, "text", given)
        except DataError as error:
            raise DataError(f"{table.path}: {error}") from None
    named = [name for name in table.columns if str(name).lower() in _NAMES]
    others = [name for name in table.columns if name not in named]
    items = any(is_candidate(name, "item") for name in others)
    return named[0] if len(named) == 1 and (items or not others) else None


def _of_table(table: Table, name: str, item: str | None) -> "mh.io.Features":
    others = [column for column in table.columns if column != name]
    key = None
    if others:
        try:
            key = find_column(others, "item", item if item in others else None)
        except DataError as error:
            raise DataError(f"{table.path}: {error}") from None
    columns = table.select([name] if key is None else [name, key])
    cells = columns[name].to_pylist()
    for row, cell in enumerate(cells):
        if cell is not None and not isinstance(cell, str):
            where = place(str(table.path), table.first_line, row)
            raise DataError(f"{where}, column {name!r}: {cell!r} is no text; name another: --text")
    texts = object_array(["" if cell is None else cell for cell in cells])
    if key is None:
        return mh.io.Features(np.arange(len(texts)), texts)
    return mh.io.Features(normalize_names(_items(table, key, columns[key].to_pylist())), texts)


def _items(table: Table, key: str, cells: list[object]) -> list[object]:
    for row, cell in enumerate(cells):
        if cell is None or not str(cell).strip():
            where = place(str(table.path), table.first_line, row)
            raise DataError(f"{where}: the item is blank; leave the row out")
    return cells
