"""What a label of every annotator costs, from a table."""

import math
from pathlib import Path
from typing import Any

from manyhands.annotations.vocabulary import normalize_names, repeated
from manyhands.core.errors import DataError
from manyhands.io.tables import Table

_REMEDY = "name the columns of a table of costs annotator and cost"


def read_costs(
    path: str | Path,
    *,
    format: str | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
) -> dict[Any, float]:
    """{annotator: cost} from a table with columns annotator and cost, one row per annotator."""
    table = Table.open(path, format, encoding, sheet)
    if "cost" not in table.columns:
        raise DataError(f"{table.path}: has no column 'cost'; {_REMEDY}")
    others = [name for name in table.columns if name != "cost"]
    person = table.find_column("annotator", among=others, remedy=_REMEDY)
    columns = table.select([person, "cost"])
    names = normalize_names(table.filled("annotator", columns[person], _REMEDY)).tolist()
    twice = repeated(names)
    if twice:
        raise DataError(f"{table.path}: the cost of annotator {twice[0]!r} is given more than once")
    cells = table.filled("cost", columns["cost"], "leave the row out")
    return {
        name: _cost(cell, table.place(row))
        for row, (name, cell) in enumerate(zip(names, cells, strict=True))
    }


def _cost(cell: Any, place: str) -> float:
    try:
        cost = float(cell)
    except (TypeError, ValueError):
        cost = math.nan
    if not 0 < cost < math.inf:
        raise DataError(f"{place}: the cost of a label must be a number above 0; got {cell!r}")
    return cost
