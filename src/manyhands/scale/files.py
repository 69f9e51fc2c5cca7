"""Files of labels that are read in batches: which columns they have, and what is in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from manyhands.annotations.columns import NONE, PHRASE, TEXT, find_column, strength
from manyhands.annotations.labels import as_list
from manyhands.annotations.source import Source as ReadFrom
from manyhands.core.errors import DataError, SettingName
from manyhands.io import LabelFile
from manyhands.io.batches import BATCHED, BatchedTable
from manyhands.io.exports.exported import FILE_NAME
from manyhands.io.joined import common_format, require_same_columns
from manyhands.io.labels import LABEL_SUFFIXES
from manyhands.scale.label_survey import LabelReading
from manyhands.scale.survey import Source

ROLES = ("item", "annotator", "label")


@dataclass(frozen=True)
class OpenedLabels:
    """Files of labels: their tables, how to read them, and those that cannot be opened."""

    source: Source
    reading: LabelReading
    read_from: ReadFrom
    corrupt: Mapping[str, str]


def open_labels(file: LabelFile, *, skip_corrupt: bool = True) -> OpenedLabels:
    """Open the long tables of some files; nothing but names of columns is read.

    Columns are found by their names alone, because cells are not compared here: if several may have
    a role, it must be given.
    """
    format = common_format(file.inputs, file.format, LABEL_SUFFIXES)
    if format not in BATCHED or file.layout not in (None, "long"):
        raise DataError(
            f"{file.shown}: only long tables ({', '.join(BATCHED)}) are read in batches; convert "
            "it first with manyhands convert"
        )
    tables, corrupt = [], {}
    for path in file.inputs:
        table = BatchedTable(path, format, file.encoding)
        try:
            _ = table.columns
        except DataError as error:
            if not skip_corrupt or len(file.inputs) == 1:
                raise
            corrupt[str(path)] = str(error)
            continue
        tables.append(table)
    if not tables:
        raise DataError(next(iter(corrupt.values())))
    for table in tables[1:]:
        require_same_columns(tables[0], table)
    titled = file.annotator == FILE_NAME and FILE_NAME not in tables[0].columns
    names = _chosen(tables[0], file, titled)
    titles = tuple(table.path.title for table in tables) if titled else None
    reading = LabelReading(
        names[2], file.wanted_kind(), None if file.classes is None else tuple(file.classes),
        tuple(as_list(() if file.missing is None else file.missing)), file.bounds,
    )  # fmt: skip
    read_from = ReadFrom(
        ", ".join(file.names), "long", *names, notes=file.notes,
        files=tuple(file.names) if len(file.names) > 1 else (),
    )  # fmt: skip
    return OpenedLabels(Source(tuple(tables), names, titles), reading, read_from, corrupt)


def _chosen(table: BatchedTable, file: LabelFile, titled: bool) -> tuple[str, str, str]:
    given = {"item": file.item, "annotator": file.annotator, "label": file.label}
    columns = [*table.columns, *([FILE_NAME] if titled else [])]
    try:
        item, annotator, label = (choose_by_name(columns, role, given) for role in ROLES)
    except DataError as error:
        raise error.at(table.path) from None
    if len({item, annotator, label}) < len(ROLES):
        raise DataError(
            f"{table.path}: item, annotator and label must be three columns; got {item!r}, "
            f"{annotator!r}, {label!r}"
        )
    return item, annotator, label


def choose_by_name(columns: Sequence[str], role: str, given: Mapping[str, str | None]) -> str:
    """The column of a role by names alone; a `DataError` if several may have it.

    >>> choose_by_name(["item", "text", "worker", "label"], "item", {"item": None})
    'item'
    """
    if given[role] is not None:
        return find_column(columns, role, given[role])
    free = [name for name in columns if name not in given.values()]
    found = [name for name in free if strength(name, role) > NONE]
    named = [name for name in found if strength(name, role) >= PHRASE]
    texts = [name for name in found if strength(name, role) == TEXT]
    if len(named) == 1 and len(found) == 1 + len(texts):
        return named[0]
    if len(found) > 1:
        shown = ", ".join(repr(name) for name in found)
        raise DataError(
            f"several columns may be the {role}: {shown}; name it with ", SettingName(role, ...)
        )
    return find_column(free, role)


def with_notes(read_from: ReadFrom, *notes: str) -> ReadFrom:
    """The same with more notes."""
    return replace(read_from, notes=(*read_from.notes, *filter(None, notes)))
