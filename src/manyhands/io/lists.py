"""Cells that are lists: several labels of an item in one cell."""

import ast
from typing import Any

from manyhands.annotations.columns import is_candidate
from manyhands.core.errors import DataError
from manyhands.io.json_text import parse_cell
from manyhands.io.tables import Table

_PEOPLE = "annotators"


def parsed_list(cell: str) -> Any:
    """A cell that is a list of plain values in JSON or Python, parsed; others as they are."""
    if not (cell.startswith("[") and cell.endswith("]")) or "{" in cell:
        return cell
    found = parse_cell(cell)
    if not isinstance(found, str):
        return found
    try:
        return ast.literal_eval(cell)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return cell


def require_paired_lists(table: Table) -> None:
    """Raise a `DataError` for lists of labels without as many annotators."""
    named = {
        role: [name for name in table.columns if is_candidate(name, role)]
        for role in ("label", "annotator")
    }
    cells = table.select([*named["label"], *named["annotator"]]) if named["label"] else {}
    lists = {name: found for name, column in cells.items() if (found := _lists(column))}
    labels = [name for name in named["label"] if name in lists]
    people = [name for name in named["annotator"] if name in lists]
    if not labels:
        return
    for row, said in enumerate(lists[labels[0]]):
        who = lists[people[0]][row] if people else None
        if who is not None and said is not None and len(who) != len(said):
            raise DataError(
                f"{table.place(row)}: {len(who)} annotators and {len(said)} labels; every label "
                "needs its annotator"
            )
    if not named["annotator"]:
        raise DataError(
            f"{table.path}: the column {labels[0]!r} has a list of labels per item without "
            f"annotators; add a column {_PEOPLE!r} with lists of who gave them, or write a row per "
            "label with item, annotator and label"
        )


def _lists(column: Any) -> list[list[Any] | None]:
    """The lists of a column, None for a blank cell; nothing if other cells are in it."""
    cells = [parsed_list(cell) if isinstance(cell, str) else cell for cell in column.to_pylist()]
    if not all(cell is None or cell == "" or isinstance(cell, list) for cell in cells):
        return []
    found = [cell if isinstance(cell, list) else None for cell in cells]
    return found if any(cell is not None for cell in found) else []
