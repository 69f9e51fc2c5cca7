"""Tables with a row per item and a column per annotator: which columns are which."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from manyhands.annotations.columns import (
    NONE,
    content_words,
    is_candidate,
    is_text,
    is_time,
    numbered_annotators,
    split_name,
    strength,
)
from manyhands.annotations.plausible import are_measurements, distinct_cells, is_prose
from manyhands.core.errors import DataError, SettingName
from manyhands.io.exports.exported import FILE_NAME
from manyhands.io.tables import Table

_MOST_CLASSES = 50  # that columns of a wide table share
_TEXTS = "holds texts"
_SURE = {"conf", "confidence", "certainty", "probability", "prob"}
_SUMMARIES = {"mean", "average", "avg", "median", "std", "sd", "stdev", "variance", "agreement"}


@dataclass(frozen=True)
class WideTable:
    """The column of items, those of annotators, and why others are none of them.

    `item` is None where every column is one of an annotator, and the rows are the items.
    """

    item: str | None
    annotators: list[str]
    left: dict[str, str]
    columns: dict[str, Any]

    @classmethod
    def of(cls, table: Table, item: str | None = None) -> "WideTable":
        """The columns of a wide table; `item` names the column of items."""
        if len(set(table.columns)) < len(table.columns):
            raise DataError(f"{table.path}: every column must be one annotator, named once")
        columns = table.select(table.columns)
        for name, column in columns.items():
            if pa.types.is_nested(column.type):
                raise DataError(
                    f"{table.path}: the column {name!r} holds lists or records; a wide table has "
                    "an item or a label in every cell"
                )
        item = _item_column(table, columns, item)
        others = [name for name in table.columns if name != item]
        if not others:
            raise DataError(
                f"{table.path}: every column but {item!r} must be one annotator, named once"
            )
        left = _no_annotators(columns, others, numbered_annotators(table.columns))
        annotators = [name for name in others if name not in left]
        if not annotators:
            raise DataError(
                f"{table.path}: no column holds labels; {others[0]!r} {left[others[0]]}"
            )
        return cls(item, annotators, left, columns)

    def notes(self) -> list[str]:
        """What a user should know about columns that are no annotators."""
        rows = ["no column names the items: every row is one, numbered from 0"]
        told = [f"the column {name!r} {why} and is no annotator" for name, why in self.left.items()]
        return (rows if self.item is None else []) + told

    def texts(self) -> dict[str, Any]:
        """The columns of items and of their texts."""
        if self.item is None:
            return {}
        prose = [name for name, why in self.left.items() if why == _TEXTS]
        return {name: self.columns[name] for name in (self.item, *prose)}


def is_wide(table: Table) -> bool:
    """Whether a table has a column per annotator, by names and the classes that they share."""
    named = numbered_annotators(table.columns)
    others = [name for name in table.columns if name not in named]
    if not named or (others and not any(is_candidate(name, "item") for name in others)):
        return False
    columns = list(table.select(named).values())
    said = [set(distinct_cells(column)) for column in columns]
    if all(map(_is_number, set().union(*said))) and any(map(are_measurements, columns)):
        return True
    return all(len(cells) <= _MOST_CLASSES and not cells.isdisjoint(said[0]) for cells in said)


def layout_hint(columns: Sequence[str], n_files: int) -> tuple[str | SettingName, ...]:
    """What to do with a table whose columns were not found, if it has a usual form."""
    if any(is_candidate(name, "annotator") for name in columns):
        return ()
    if n_files > 1:
        each = SettingName("annotator", FILE_NAME)
        return " (if every file is of one annotator, who gives it its name: ", each, ")"
    if len(columns) > 2:
        wide = SettingName("layout", "wide")
        return " (a table with a column per annotator needs ", wide, ")"
    return ()


def _item_column(table: Table, columns: Mapping[str, Any], given: str | None) -> str | None:
    """The column of items: the given one, the one called so, or the first; None: the rows."""
    if given is not None:
        return table.find_column("item", given)
    first, named = table.columns[0], numbered_annotators(table.columns)
    if named:
        others = [name for name in table.columns if name not in named]
        return table.find_column("item", among=others) if others else None
    if is_candidate(first, "annotator"):
        raise DataError(
            f"{table.path}: the first column {first!r} seems to name annotators, and a wide "
            "table has a row per item and a column per annotator; turn it, or name the column "
            "of items with ", SettingName("item", ...),
        )  # fmt: skip
    return None if _holds_labels(table.columns, columns) else str(first)


def _holds_labels(names: Sequence[str], columns: Mapping[str, Any]) -> bool:
    """Whether the first column has labels as the others do, and so cannot name the items."""
    first, *others = names
    words = content_words(first)  # none in "nr", and pandas writes "Unnamed: 0"
    is_named = strength(first, "item") != NONE or is_time(first) or words[:1] in ([], ["unnamed"])
    if is_named or not others:
        return False
    cells = columns[first].to_pylist()
    filled = [str(cell) for cell in cells if not _is_blank(cell)]
    said = {str(cell) for name in others for cell in columns[name].to_pylist()}
    if len(filled) == len(cells) and _is_count(filled):
        return False
    if set(filled) <= said:
        return bool(filled)
    return all(map(_is_number, filled)) and all(map(are_measurements, columns.values()))


def _is_count(cells: Sequence[str]) -> bool:
    """Whether cells are numbers in equal steps, such as those of rows or moments, in any order."""
    if not all(map(_is_number, cells)):
        return False
    steps = np.diff(np.sort(np.array(cells, dtype=float)))
    return bool(len(steps) and steps[0] > 0 and np.allclose(steps, steps[0]))


def _no_annotators(
    columns: Mapping[str, Any], others: Sequence[str], named: Sequence[str]
) -> dict[str, str]:
    """Why some columns are those of no annotator."""
    reasons = {name: _why_no_annotator(name, columns[name], bool(named)) for name in others}
    left = {name: why for name, why in reasons.items() if why and name not in named}
    said = {name: set(distinct_cells(columns[name])) for name in others if name not in left}
    numbers = [name for name in said if all(map(_is_number, said[name]))]
    for name, cells in said.items():
        rest = [other for other in said if other != name]
        is_alone = all(said[other].isdisjoint(cells) for other in rest)
        both_numbers = name in numbers and len(numbers) > 1
        is_odd = cells and is_alone and not both_numbers and name not in named
        if is_odd and _share(said, rest, numbers):
            left[name] = "shares no value with the others"
    return {name: left[name] for name in others if name in left}


def _share(said: Mapping[str, set[str]], names: Sequence[str], numbers: Sequence[str]) -> bool:
    """Whether some two columns have a value in common, or are numbers."""
    if sum(name in numbers for name in names) > 1:
        return True
    return any(
        not said[name].isdisjoint(said[other])
        for place, name in enumerate(names)
        for other in names[:place]
    )


def _why_no_annotator(name: str, column: Any, others_are_numbered: bool) -> str:
    words = set(split_name(name))
    if is_text(name) or is_prose(distinct_cells(column)):
        return _TEXTS
    if is_candidate(name, "truth"):
        return "holds truths"
    if is_time(name) and are_measurements(column):
        return "holds times"
    if not words.isdisjoint(_SURE):
        return "holds confidences"
    if not words.isdisjoint(_SUMMARIES):
        return "sums up labels"
    return "is not called an annotator" if others_are_numbered else ""


def _is_blank(cell: object) -> bool:
    return cell is None or str(cell).strip().lower() in ("", "nan", "<na>", "?", "-1")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return _is_blank(cell)
    return True
