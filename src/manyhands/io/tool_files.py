"""Files that annotation tools export: recognised by their content, and read."""

import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from manyhands.core.errors import DataError
from manyhands.io.exports import EXPORTS, Export, ExportedLabels, recognise
from manyhands.io.input_file import InputFile
from manyhands.io.opening import shown_paths
from manyhands.io.texts import encoding_of, text_lines, with_mark

_LOOKED_AT = 50  # rows that tell what a file is
_PLAIN_TABLES = ("crowd-kit", "cleanlab", "list-columns")  # read as any other table
_OF_TABLES = ("mturk", "label-studio-table")  # those that are CSV


def read_exports(
    files: Sequence[InputFile], format: str, encoding: str, **named: str | None
) -> ExportedLabels | None:
    """The labels of files that a tool exported; None for any other files.

    Archives and several files of doccano are those of its users. Other files must all be exports
    of one tool; `named` are fields of items, annotators and labels.
    """
    by_user = files_of_users(files, encoding) if format == "jsonl" else {}
    if by_user:
        try:
            return EXPORTS["doccano"].read(by_user, **named)
        except DataError as error:
            raise error.at(shown_paths(files)) from None
    found = [read_export(file, format, encoding, **named) for file in files]
    exports = [each for each in found if each is not None]
    for file, each in zip(files, found, strict=True):
        if exports and (each is None or each.tool != exports[0].tool):
            what = "no export of a tool" if each is None else f"an export of {each.tool}"
            raise DataError(
                f"{file}: is {what}, and another of these files is one of {exports[0].tool}; read "
                "them one by one"
            )
    return _joined(files, exports) if exports else None


def files_of_users(files: Sequence[InputFile], encoding: str) -> dict[str, list[Any]]:
    """{user: records} of a doccano export; nothing for other files, or one outside of a zip."""
    titles = [file.title for file in files]
    if len(set(titles)) < len(files) or not (len(files) > 1 or files[0].from_archive):
        return {}
    first = {file.title: _first_records(file, encoding) for file in files}
    tool = recognise(first) if any(first.values()) else None
    if tool is None or tool.name != "doccano":
        return {}
    return {file.title: _all_records(file, encoding) for file in files}


def _joined(files: Sequence[InputFile], exports: Sequence[ExportedLabels]) -> ExportedLabels:
    """The labels of several exports; an item must be the same thing in all of them."""
    whole = exports[0]
    for file, each in zip(files[1:], exports[1:], strict=True):
        other = [item for item, data in each.data.items() if whole.data.get(item, data) != data]
        if other:
            raise DataError(
                f"{file}: the item {other[0]!r} has other data than in a file before; exports of "
                "several projects count their items alike: read them one by one"
            )
        columns = {*whole.extras, *each.extras}
        whole = replace(
            whole,
            item=whole.item + each.item,
            annotator=whole.annotator + each.annotator,
            label=whole.label + each.label,
            extras={name: _cells(whole, name) + _cells(each, name) for name in columns},
            data=whole.data | each.data,
            known=whole.known | each.known,
            skipped=dict(Counter(whole.skipped) + Counter(each.skipped)),
        )
    return whole


def _cells(labels: ExportedLabels, name: str) -> list[Any]:
    return labels.extras.get(name, [None] * len(labels.label))


def read_export(
    path: Path,
    format: str,
    encoding: str,
    *,
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
) -> ExportedLabels | None:
    """The labels of a file that a tool exported; None for any other file."""
    if format == "json":
        content = _parsed(path)
        tool = _tool(content)
    elif format == "jsonl":
        content = _all_records(path, encoding) if _tool(_first_records(path, encoding)) else []
        tool = _tool(content) if content else None
    elif format == "csv":
        tool = _tool(list(islice(_csv_rows(path, encoding), _LOOKED_AT)))
        tool = tool if tool is not None and tool.name in _OF_TABLES else None
        content = list(_csv_rows(path, encoding)) if tool else []
    else:
        return None
    if tool is None:
        return None
    try:
        return tool.read(content, item=item, annotator=annotator, label=label)
    except DataError as error:
        raise error.at(path) from None


def _tool(content: Any) -> Export | None:
    found = recognise(content) if content else None
    return None if found is None or found.name in _PLAIN_TABLES else found


def _parsed(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError):
        return None  # the reader of plain files raises the error


def _first_records(path: Path, encoding: str) -> list[Any]:
    return list(islice(_records(path, encoding), _LOOKED_AT))


def _all_records(path: Path, encoding: str) -> list[Any]:
    return list(_records(path, encoding))


def _records(path: Path, encoding: str) -> Iterator[Any]:
    try:
        for line in text_lines(path, encoding):
            if line.strip():
                yield json.loads(line)
    except (ValueError, RecursionError):
        return  # the reader of plain files raises the error


def _csv_rows(path: Path, encoding: str) -> Iterator[dict[str, str]]:
    try:
        with path.open(encoding=with_mark(encoding_of(path, encoding)), newline="") as stream:
            yield from csv.DictReader(stream)
    except (UnicodeError, LookupError, csv.Error):
        return  # the reader of plain files raises the error
