"""Tables with a row per item and a column per annotator: which columns are which."""

from dataclasses import dataclass
from typing import Any

from manyhands.annotations.columns import is_candidate, is_text, is_time, numbered_annotators
from manyhands.annotations.plausible import are_measurements, distinct_cells, is_prose
from manyhands.core.errors import DataError, SettingName
from manyhands.io.tables import Table

_MOST_CLASSES = 50  # that columns of a wide table share
_TEXTS = "holds texts"


@dataclass(frozen=True)
class WideTable:
    """The column of items, those of annotators, and why others are none of them."""

    item: str
    annotators: list[str]
    left: dict[str, str]
    columns: dict[str, Any]

    @classmethod
    def of(cls, table: Table, item: str | None = None) -> "WideTable":
        """The columns of a wide table; `item` names the column of items."""
        item = _item_column(table, item)
        others = [name for name in table.columns if name != item]
        if len(set(table.columns)) < len(table.columns) or not others:
            raise DataError(
                f"{table.path}: every column but {item!r} must be one annotator, named once"
            )
        columns = table.select([item, *others])
        named = numbered_annotators(table.columns)
        reasons = {name: _why_no_annotator(name, columns[name], bool(named)) for name in others}
        left = {name: why for name, why in reasons.items() if why and name not in named}
        annotators = [name for name in others if name not in left]
        if not annotators:
            raise DataError(
                f"{table.path}: no column holds labels; {others[0]!r} {left[others[0]]}"
            )
        return cls(item, annotators, left, columns)

    def notes(self) -> list[str]:
        """What a user should know about columns that are no annotators."""
        return [f"the column {name!r} {why} and is no annotator" for name, why in self.left.items()]

    def texts(self) -> dict[str, Any]:
        """The columns of items and of their texts."""
        prose = [name for name, why in self.left.items() if why == _TEXTS]
        return {name: self.columns[name] for name in (self.item, *prose)}


def is_wide(table: Table) -> bool:
    """Whether a table has a column per annotator, by names and the classes that they share."""
    named = numbered_annotators(table.columns)
    others = [name for name in table.columns if name not in named]
    if not named or not any(is_candidate(name, "item") for name in others):
        return False
    said = [set(distinct_cells(column)) for column in table.select(named).values()]
    return all(len(cells) <= _MOST_CLASSES and not cells.isdisjoint(said[0]) for cells in said)


def _item_column(table: Table, given: str | None) -> str:
    """The column of items of a wide table: the given one, the one called so, or the first."""
    if given is not None:
        return table.find_column("item", given)
    first, named = table.columns[0], numbered_annotators(table.columns)
    if named:
        others = [name for name in table.columns if name not in named]
        return table.find_column("item", among=others)
    if is_candidate(first, "annotator"):
        raise DataError(
            f"{table.path}: the first column {first!r} seems to name annotators, and a wide "
            "table has a row per item and a column per annotator; turn it, or name the column "
            "of items with ", SettingName("item", ...),
        )  # fmt: skip
    return str(first)


def _why_no_annotator(name: str, column: Any, others_are_numbered: bool) -> str:
    if is_text(name) or is_prose(distinct_cells(column)):
        return _TEXTS
    if is_candidate(name, "truth"):
        return "holds truths"
    if is_time(name) and are_measurements(column):
        return "holds times"
    return "is not called an annotator" if others_are_numbered else ""
