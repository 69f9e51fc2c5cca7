"""Files that annotation tools export: recognised by their content, and read."""

import csv
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from manyhands.core.errors import DataError
from manyhands.io.exports import Export, ExportedLabels, recognise
from manyhands.io.texts import text_lines, with_mark

_LOOKED_AT = 50  # rows that tell what a file is
_PLAIN_TABLES = ("crowd-kit", "cleanlab", "list-columns")  # read as any other table
_OF_TABLES = ("mturk", "label-studio-table")  # those that are CSV


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
        with path.open(encoding=with_mark(encoding), newline="") as stream:
            yield from csv.DictReader(stream)
    except (UnicodeError, LookupError, csv.Error):
        return  # the reader of plain files raises the error
