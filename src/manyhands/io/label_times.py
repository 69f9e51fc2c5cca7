"""Times of labels in tables and exports: how long each label took, and when it was given."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from manyhands.annotations import Rows
from manyhands.annotations.source import Source
from manyhands.annotations.times import Select, find_times
from manyhands.core.errors import DataError, SettingError, SettingName
from manyhands.io.exports import ExportedLabels
from manyhands.io.tables import column_of


def with_times(
    rows: Rows, columns: Sequence[str], select: Select, seconds: str | None, time: str | None
) -> Rows:
    """The rows with the times that some columns of their file have, and what was taken.

    `seconds` and `time` are columns that the caller named.
    """
    source = rows.read_from
    assert source is not None, "rows of a file"
    try:
        times, *taken = find_times(
            columns, select, rows.item, taken=(source.item, source.annotator, source.label),
            seconds=seconds, time=time,
        )  # fmt: skip
    except DataError as error:
        raise error.at(source.path) from None
    told = replace(source, seconds=taken[0], time=taken[1])
    return replace(rows, times=times, read_from=told)


def exported_times(found: ExportedLabels) -> Mapping[str, Any]:
    """The further columns of an export, among which its times are."""
    return {name: column_of(cells) for name, cells in found.extras.items()}


def require_taken(source: Source, **given: str | None) -> None:
    """Raise a `SettingError` for a column of times in a file whose layout has none."""
    for name, column in given.items():
        if column is not None and not getattr(source, name):
            where = f" names a column of a long table or an export; {source.path} is neither"
            raise SettingError(SettingName(name), where)
