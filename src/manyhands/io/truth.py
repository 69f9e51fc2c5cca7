"""Truth tables: item and truth, for part of the items or all of them."""

from pathlib import Path
from typing import Any

from manyhands.annotations.columns import find_column
from manyhands.annotations.vocabulary import tidy_names
from manyhands.core.errors import DataError
from manyhands.io.tables import SUFFIXES, Table, existing, format_of


def read_truth(
    path: str | Path,
    *,
    format: str | None = None,
    item: str | None = None,
    truth: str | None = None,
    encoding: str = "utf-8",
) -> dict[Any, Any]:
    """{item: truth} from a table with columns item and truth; an item stands in it once."""
    found = existing(path)
    table = Table(found, format_of(found, format, SUFFIXES), encoding)
    try:
        item = find_column(table.columns, "item", item)
        truth = _truth_column([name for name in table.columns if name != item], truth)
    except DataError as error:
        raise DataError(f"{found}: {error}") from None
    columns = table.select([item, truth])
    items = columns[item].to_pylist()
    values = columns[truth].to_pylist()
    for row, value in enumerate(values):
        if value is None or str(value).strip() == "":
            raise DataError(f"{found}, row {row + 1}: the truth is blank; leave the row out")
    if len(set(items)) < len(items):
        twice = next(name for name in items if items.count(name) > 1)
        raise DataError(f"{found}: the truth of item {twice!r} is given more than once")
    return dict(zip(tidy_names(items).tolist(), tidy_names(values).tolist(), strict=True))


def _truth_column(columns: list[str], given: str | None) -> str:
    if given is not None:
        return find_column(columns, "truth", given)
    try:
        return find_column(columns, "truth")
    except DataError:
        return find_column(columns, "label")
