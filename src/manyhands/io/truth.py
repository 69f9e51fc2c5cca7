"""Truth tables: the columns item and truth, for some of the items or all."""

from collections import Counter
from pathlib import Path
from typing import Any

from manyhands.annotations.columns import is_candidate
from manyhands.annotations.rows import place
from manyhands.annotations.vocabulary import normalize_classes, normalize_names
from manyhands.core.errors import DataError
from manyhands.io.tables import SUFFIXES, Table, existing, format_of

_BLANKS = {"item": {""}, "truth": {"", "nan"}}
_REMEDY = "name the columns of a truth table item and truth"


def read_truth(
    path: str | Path,
    *,
    format: str | None = None,
    item: str | None = None,
    truth: str | None = None,
    encoding: str = "utf-8",
) -> dict[Any, Any]:
    """{item: truth} from a table with columns item and truth, one row per item."""
    found = existing(path)
    table = Table(found, format_of(found, format, SUFFIXES), encoding)
    item = _column_by_name(table, table.columns, "item", item)
    truth = _truth_column(table, [name for name in table.columns if name != item], truth)
    columns = table.select([item, truth])
    cells = {noun: columns[name].to_pylist() for noun, name in (("item", item), ("truth", truth))}
    for noun, values in cells.items():
        for row, value in enumerate(values):
            if value is None or str(value).strip().lower() in _BLANKS[noun]:
                where = place(str(found), table.first_line, row)
                raise DataError(f"{where}: the {noun} is blank; leave the row out")
    items, truths = (
        normalize_names(cells["item"]).tolist(),
        normalize_classes(cells["truth"]).tolist(),
    )
    twice = [name for name, count in Counter(items).items() if count > 1]
    if twice:
        raise DataError(f"{found}: the truth of item {twice[0]!r} is given more than once")
    return dict(zip(items, truths, strict=True))


def _truth_column(table: Table, columns: list[str], given: str | None) -> str:
    candidates = any(is_candidate(column, "truth") for column in columns)
    labels = any(is_candidate(column, "label") for column in columns)
    role = "label" if given is None and labels and not candidates else "truth"
    return _column_by_name(table, columns, role, given)


def _column_by_name(table: Table, columns: list[str], role: str, given: str | None) -> str:
    """The given column, or the one called as the role, or the one with a similar name."""
    if given is None and columns.count(role) == 1:
        return role
    return table.find_column(role, given, among=columns, remedy=_REMEDY)
