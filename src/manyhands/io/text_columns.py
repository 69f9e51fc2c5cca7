"""Texts, and pairs of texts, in the columns of a table of features."""

from typing import Any

from manyhands.annotations.columns import is_candidate
from manyhands.core.errors import DataError, SettingName
from manyhands.io.tables import Table

TEXT, TEXT_PAIR = "text", "text_pair"  # names of columns
_TEXT_NAMES = (TEXT, "texts")


def text_column(table: Table, given: str | None) -> str | None:
    """The column of texts: the given one, or one called text if another can be the items'."""
    if given is not None:
        return table.find_column("text", given)
    named = [name for name in table.columns if str(name).lower() in _TEXT_NAMES]
    others = [name for name in table.columns if name not in named]
    has_items = any(is_candidate(name, "item") for name in others)
    return named[0] if len(named) == 1 and (has_items or not others) else None


def pair_column(table: Table, text: str, given: str | None) -> str | None:
    """The column of the second texts of pairs: the given one, or one called text_pair."""
    others = [name for name in table.columns if name != text]
    if given is not None:
        return table.find_column(TEXT_PAIR, given, among=others)
    return next((name for name in others if str(name).lower() == TEXT_PAIR), None)


def text_cells(table: Table, role: str, column: str, columns: Any) -> list[Any]:
    """The cells of a column of texts; an empty one is an empty text."""
    cells = columns[column].to_pylist()
    for row, cell in enumerate(cells):
        if cell is not None and not isinstance(cell, str):
            where = f"{table.place(row)}, column {column!r}"
            raise DataError(
                f"{where}: {cell!r} is no text; name another column with ", SettingName(role, ...)
            )
    return ["" if cell is None else cell for cell in cells]
