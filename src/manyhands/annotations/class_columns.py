"""Which columns of a long table have the labels: one of them, or one per class."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from manyhands.annotations.choose import choose_columns
from manyhands.annotations.columns import find_column, is_candidate, is_id, is_text, is_time
from manyhands.annotations.labels import Kind
from manyhands.annotations.plausible import Select
from manyhands.annotations.set_cells import sets_of_columns
from manyhands.annotations.source import Source


@dataclass(frozen=True)
class LabelColumns:
    """The names of the columns that were taken, their cells, and the classes they are named by.

    `classes` are the columns of a table that has one per class; None for other tables.
    """

    names: tuple[str, str, str]
    cells: tuple[Any, Any, Any]
    notes: tuple[str, ...] = ()
    classes: list[str] | None = None

    def source(self, path: object = "") -> Source:
        """What was taken for item, annotator and label."""
        item, annotator, label = (str(name).strip() for name in self.names)
        return Source(str(path), "long", item, annotator, label, self.notes)


def choose_label_columns(
    columns: Sequence[str],
    select: Select,
    item: str | None,
    annotator: str | None,
    label: str | None,
    kind: Kind | None,
    classes: Iterable[Any] | None,
) -> LabelColumns:
    """The columns of a long table, by `choose_columns` where one column has the labels.

    Labels that are sets may have a column of 0 and 1 per class: the listed `classes`, or all
    columns of such cells where no column is called a label.
    """
    listed = None if classes is None else list(classes)
    if kind == "multilabel" and label is None:
        named = _class_columns(columns, listed)
        if named:
            return _by_class(columns, select, item, annotator, named, are_sure=listed is not None)
    check = kind is None and listed is None
    chosen = choose_columns(columns, select, item, annotator, label, check)
    return LabelColumns(chosen.names, chosen.cells, chosen.notes)


def _class_columns(columns: Sequence[str], listed: list[Any] | None) -> list[str]:
    """The columns that may tell whether a class applies; none if one column has the labels."""
    if listed is not None:
        named = [str(each) for each in listed]
        return named if set(named) <= set(columns) else []
    if any(is_candidate(name, "label") for name in columns):
        return []
    owners = ("item", "annotator", "truth")
    return [
        name
        for name in columns
        if not any(is_candidate(name, role) for role in owners)
        and not (is_id(name) or is_text(name) or is_time(name))
    ]


def _by_class(
    columns: Sequence[str],
    select: Select,
    item: str | None,
    annotator: str | None,
    named: list[str],
    *,
    are_sure: bool,
) -> LabelColumns:
    free = [name for name in columns if name not in named or name in (item, annotator)]
    item, annotator = find_column(free, "item", item), find_column(free, "annotator", annotator)
    named = [name for name in named if name not in (item, annotator)]
    cells = select([item, annotator, *named])
    classes, sets = sets_of_columns({name: cells[name] for name in named}, listed=are_sure)
    other = [name for name in named if name not in classes]
    notes = [f"a column of 0 and 1 per class: {', '.join(classes)}"]
    notes += [f"the column {name!r} has other cells than 0 and 1 and is no class" for name in other]
    label = ", ".join(classes[:3]) + (" ..." if len(classes) > 3 else "")
    found = (cells[item], cells[annotator], sets)
    return LabelColumns((item, annotator, label), found, tuple(notes), classes)
