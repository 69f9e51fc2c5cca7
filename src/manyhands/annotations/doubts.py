"""Reasons to doubt a choice of columns, although their names and cells fit."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from manyhands.annotations.columns import BARE_ID, NONE, is_about, is_id, is_text, is_time, strength
from manyhands.annotations.plausible import Cells, are_measurements, distinct_cells
from manyhands.core.errors import DataError, SettingName

_MAY_REPEAT = 0.1  # of the rows: an annotator who labelled an item again
_TOO_MANY = 1 / 3  # of the rows
_SAMPLE = 50_000  # rows
_MOST_LISTED = 4
_MOST_CLASSES = 20
ENOUGH = 10  # rows that repeat a name, to tell what is the same for all of its rows


class Reading(NamedTuple):
    """The names of the columns that were chosen."""

    item: str
    annotator: str
    label: str


def require_no_doubt(
    reading: Reading, columns: Sequence[str], cells: Cells, given: Mapping[str, str | None]
) -> None:
    """Raise a `DataError` if cells or other columns make a reading doubtful."""
    vague = given["annotator"] is None and strength(reading.annotator, "annotator") == BARE_ID
    if vague:
        _require_people(reading, cells)
    if given["item"] is not None and given["annotator"] is not None:
        return
    others = [name for name in dict.fromkeys(columns) if name not in reading]
    unknown = [name for name in others if not _is_known(name)]
    texts = [name for name in others if is_text(name)]
    if not unknown and not texts:
        return
    item, annotator, _ = reading
    few = cells.sample(item, reading)
    if not few.is_unique(item):
        if few.repeated_share(item, annotator) > _TOO_MANY:
            _require_no_finer_item(reading, unknown, texts, cells)
        return
    if given["item"] is None and strength(item, "item") <= BARE_ID:
        _require_no_other_item(reading, unknown, cells)
    if vague:
        _require_no_other_annotator(reading, unknown, cells)


def require_no_other_label(reading: Reading, columns: Sequence[str], cells: Cells) -> None:
    """Raise a `DataError` if a column of unknown name may as well be the label."""
    others = [name for name in dict.fromkeys(columns) if name not in reading]
    unknown = [name for name in others if not (_is_known(name) or is_id(name) or is_about(name))]
    cells.load(unknown)
    names = [
        name
        for name in unknown
        if 1 < cells.n_distinct(name) <= _MOST_CLASSES
        and not are_measurements(cells.columns[name])
        and not any(cells.determines(owner, name) for owner in _owners(reading, cells))
    ]
    if names:
        raise ambiguous(cells, "label", [reading.label, *names])


def _owners(reading: Reading, cells: Cells) -> list[str]:
    """The item and the annotator, if they are in enough rows to tell what is a fact about them."""
    return [name for name in reading[:2] if cells.n_rows - cells.n_distinct(name) >= ENOUGH]


def tells_items_apart(cells: Cells, name: str, annotator: str) -> bool:
    """Whether the cells of a column repeat as items do, and every annotator has them once."""
    if are_measurements(cells.columns[name]) or cells.is_unique(name):
        return False
    return cells.repeated_share(name, annotator) <= _MAY_REPEAT


def ambiguous(cells: Cells, role: str, names: Sequence[str]) -> DataError:
    """The error that lists columns of which each may have a role."""
    shown = [f"{name!r} (first row: {cells.example(name)})" for name in names[:_MOST_LISTED]]
    more = " ..." if len(names) > _MOST_LISTED else ""
    return DataError(
        f"several columns may be the {role}: {', '.join(shown)}{more}; name it with ",
        SettingName(role, ...),
    )


def _require_people(reading: Reading, cells: Cells) -> None:
    """Raise a `DataError` if annotators have the names of classes."""
    _, annotator, label = reading
    people, said = (distinct_cells(cells.columns[name][:_SAMPLE]) for name in (annotator, label))
    words = {name for name in said if not name.lstrip("+-").replace(".", "", 1).isdecimal()}
    if (len(words) > 1 and words.issubset(people)) or (people and words.issuperset(people)):
        raise DataError(
            f"the column {annotator!r}, taken for the annotator, holds the same cells as the "
            f"label {label!r}, such as {cells.example(label)}; name the column of annotators with ",
            SettingName("annotator", ...),
        )  # fmt: skip


def _require_no_other_item(reading: Reading, unknown: list[str], cells: Cells) -> None:
    """Raise a `DataError` if the item is different in every row and another column repeats."""
    cells.load(unknown)
    names = [
        name
        for name in unknown
        if 1 < cells.n_distinct(name) <= cells.n_rows / 2
        and tells_items_apart(cells, name, reading.annotator)
    ]
    if names and not cells.is_unique(reading.annotator):
        raise ambiguous(cells, "item", [reading.item, *names])


def _require_no_other_annotator(reading: Reading, unknown: list[str], cells: Cells) -> None:
    """Raise a `DataError` if users may have written the items, and others labelled them."""
    cells.load(unknown)
    names = [
        name
        for name in unknown
        if not (is_id(name) or is_about(name) or are_measurements(cells.columns[name]))
    ]
    if names:
        raise ambiguous(cells, "annotator", [reading.annotator, *names])


def _require_no_finer_item(
    reading: Reading, unknown: list[str], texts: list[str], cells: Cells
) -> None:
    """Raise a `DataError` if annotators labelled items again and a column tells this apart."""
    cells.load(unknown)
    n_labels = cells.n_distinct(*reading)
    repeating = [
        name
        for name in unknown
        if not are_measurements(cells.columns[name]) and not cells.is_unique(name)
    ]
    varying = [name for name in [*texts, *repeating] if cells.n_distinct(*reading, name) > n_labels]
    if not varying:
        return
    shown = ", ".join(f"{name!r} ({cells.example(name)})" for name in varying[:_MOST_LISTED])
    raise DataError(
        f"with {reading.item!r} as the item and {reading.annotator!r} as the annotator, most "
        f"annotators labelled an item several times, and {shown} may tell these labels apart; "
        "name the columns with ", SettingName("item", ...), " and ", SettingName("annotator", ...),
    )  # fmt: skip


def _is_known(name: str) -> bool:
    """Whether the name of a column says that it tells no items apart."""
    return is_time(name) or is_text(name) or strength(name, "truth") > NONE
