"""Whether the cells of a table can be what its column names promise."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from manyhands.annotations.columns import is_text
from manyhands.core.errors import DataError, SettingName

_ENOUGH_ROWS = 20  # before cells that all differ mean anything
_NEARLY_ALL = 0.9
_LARGE = 1_000_000  # rows; looking for equal texts would take longer than the consensus
_PROSE = 4.0  # words in a cell, on average


def require_labels(name: str, column: Any) -> None:
    """Raise a `DataError` for labels that are lists, texts or ids."""
    distinct = distinct_cells(column)
    some = next(iter(distinct), "")
    if distinct and sum(map(_is_list, distinct)) > len(distinct) / 2:
        raise DataError(
            f"the column {name!r}, taken for the label, holds lists such as {some!r}: several "
            "labels in a cell; keep one label per row, or name another column with ",
            SettingName("label", ...), ", or take every list for a class with ",
            SettingName("kind", "classes"),
        )  # fmt: skip
    if len(column) < _ENOUGH_ROWS or len(distinct) < _NEARLY_ALL * len(column):
        return
    if _all_numbers(distinct) and not all(map(_is_whole, distinct)):
        return  # measurements
    raise DataError(
        f"the column {name!r}, taken for the label, has {len(distinct)} different values in "
        f"{len(column)} rows, such as {some!r}: these are no classes; name the column of labels "
        "with ", SettingName("label", ...), ", or say what they are with ",
        SettingName("kind", "numbers"), " or ", SettingName("kind", "classes"),
    )  # fmt: skip


def require_annotators(name: str, column: Any) -> None:
    """Raise a `DataError` for annotators that are texts."""
    distinct = distinct_cells(column)
    if distinct and len(distinct) >= _NEARLY_ALL * len(column) and is_prose(distinct):
        raise DataError(
            f"the column {name!r}, taken for the annotator, holds texts such as "
            f"{next(iter(distinct))!r}; name the column of annotators with ",
            SettingName("annotator", ...),
        )  # fmt: skip


def is_prose(cells: Iterable[str]) -> bool:
    """Whether cells hold texts of several words."""
    lengths = [len(cell.split()) for cell in cells]
    return bool(lengths) and sum(lengths) >= _PROSE * len(lengths)


def text_notes(item: str, columns: Mapping[str, Any]) -> list[str]:
    """Notes about items and their texts; `columns` holds the item and columns of texts."""
    if is_text(item):
        return [f"items are told apart by their {item}: rows with equal {item} are one item"]
    notes = []
    for name in columns:
        if name == item or len(columns[item]) > _LARGE:
            continue
        pairs = {*zip(_cells(columns[item]), _cells(columns[name]), strict=True)}
        n_repeated = len(pairs) - len({text for _, text in pairs})
        if n_repeated:
            notes.append(
                f"{n_repeated} items repeat the {name} of another item; they stay different items"
            )
    return notes


def distinct_cells(column: Any) -> list[str]:
    """The different cells of a column as text, in their order; blank cells are left out."""
    if pa.types.is_nested(column.type):
        return []  # its reader raises the error
    return [str(cell) for cell in pc.unique(_decoded(column)).to_pylist() if cell not in (None, "")]


def _cells(column: Any) -> list[Any]:
    cells: list[Any] = _decoded(column).to_pylist()
    return cells


def _decoded(column: Any) -> Any:
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


def _is_list(cell: str) -> bool:
    return cell.startswith("[") and cell.endswith("]")


def _is_whole(cell: str) -> bool:
    return cell.lstrip("+-").isdecimal()


def _all_numbers(cells: list[str]) -> bool:
    try:
        for cell in cells:
            float(cell)
    except ValueError:
        return False
    return True
