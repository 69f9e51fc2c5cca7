"""Plain tables that other libraries use: crowd-kit's long table and cleanlab's wide one."""

from typing import Any

from manyhands.annotations.labels import is_blank
from manyhands.core.errors import SettingError, SettingName
from manyhands.io.exports.exported import (
    ExportedLabels,
    LabelRows,
    Records,
    field_of,
    is_records,
    names_of,
)

CROWD_KIT, CLEANLAB = "crowd-kit", "cleanlab"
REMEDY = "every row needs one"


def matches_crowd_kit(content: Any) -> bool:
    """Whether rows have the columns task, worker and label."""
    return is_records(content) and {"task", "worker", "label"} <= set(content[0])


def read_crowd_kit(
    content: Any, *, item: str | None = None, annotator: str | None = None, label: str | None = None
) -> ExportedLabels:
    """The labels of rows with the columns task, worker and label, unless others are named."""
    columns = item or "task", annotator or "worker", label or "label"
    rows = LabelRows(CROWD_KIT, columns[1], REMEDY, columns[0], f"{columns[2]!r}")
    for row in content:
        name, who, said = (field_of(row, column) for column in columns)
        rows.data.setdefault(name, {k: v for k, v in row.items() if k not in columns})
        rows.add(name, who, said)
    return rows.finish(column=columns[2])


def matches_cleanlab(content: Any) -> bool:
    """Never: a matrix of labels has nothing of its own, so the format must be named."""
    return False


def read_cleanlab(
    content: Any, *, item: str | None = None, annotator: str | None = None, label: str | None = None
) -> ExportedLabels:
    """The labels of a row per item and a column per annotator; blank cells are no labels.

    `item` is the column of items; by default items are numbered.
    """
    for name, given in (("annotator", annotator), ("label", label)):
        if given is not None:
            raise SettingError(SettingName(name), " is not for a matrix of labels; leave it out")
    records: Records = content
    rows = LabelRows(CLEANLAB, "column", REMEDY, item or "row", "cells")
    people = [name for name in names_of(records) if name != item]
    for number, record in enumerate(records):
        row = number if item is None else field_of(record, item)
        rows.data[row] = {}
        for who in people:
            if not is_blank(record.get(who)):
                rows.add(row, who, record[who])
    return rows.finish()
