"""What a file of labels holds, by its first lines: tagged tokens, spans or items."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from manyhands.annotations.tags import is_bio_tag
from manyhands.core.errors import DataError
from manyhands.io.conll import BREAK, token_rows
from manyhands.io.json_text import parse_json
from manyhands.io.spans import SPAN_COLUMNS
from manyhands.io.tables import SUFFIXES, Table, format_of
from manyhands.io.texts import existing, text_lines

T = TypeVar("T")

UNCLEAR = "unclear"
_LOOKED_AT, _MOST = 1000, 0.9  # lines of a .txt file, and how many must look like tagged tokens


def column_names(
    path: str | Path,
    format: str | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
) -> list[str]:
    """The column names of a table; none for a file that is no table or cannot be read."""
    try:
        path = existing(path, sheet)
        kind = format_of(path, format, SUFFIXES)
        if kind == "jsonl":
            lines = _until_refused(text_lines(path, encoding))
            found = parse_json(next((line for line in lines if line.strip()), "{}"), path)
            return list(found) if isinstance(found, dict) else []
        if kind == "parquet":
            return list(pq.read_schema(path).names)
        return list(Table(path, kind, encoding).columns)
    except (OSError, DataError, pa.ArrowException):
        return []  # the reader of the file raises the error


def sniff_text(path: Path, missing: str, encoding: str) -> str | None:
    """Whether most lines are a token and its tags; `UNCLEAR` if the tokens may be tags too.

    Columns of other things between tokens and tags are for the reader of tokens to refuse: a
    matrix has no column of tags beside one of words.
    """
    rows = [cells for _, cells in _until_refused(token_rows(path, encoding)) if cells]
    rows = [cells for cells in rows if not cells[0].startswith("#") and cells[0] != BREAK]

    def tagged(cells: list[str]) -> bool:
        return all(is_bio_tag(cell) or cell == missing for cell in cells)

    with_tags = [row for row in rows if len(row) > 1 and tagged(row[1:])]
    has_tag = any(is_bio_tag(cell) for row in with_tags for cell in row[1:])
    if not has_tag or len(with_tags) < _MOST * len(rows):
        return "conll" if _some_columns_are_tags(rows) else None
    return UNCLEAR if all(tagged(row[:1]) for row in with_tags) else "conll"


def _some_columns_are_tags(rows: list[list[str]]) -> bool:
    """Whether some columns hold tags, and the first one and others do not."""
    if len({len(row) for row in rows}) != 1:
        return False
    distinct = [set(column) for column in zip(*rows, strict=True)]
    tags = [all(map(is_bio_tag, cells)) for cells in distinct]
    has_entity = any(cells != {"O"} for cells, are in zip(distinct, tags, strict=True) if are)
    return has_entity and not tags[0]


def _until_refused(lines: Iterator[T]) -> Iterator[T]:
    """The first lines of a file, up to one that cannot be read; its reader raises the error."""
    try:
        yield from islice(lines, _LOOKED_AT)
    except (OSError, DataError):
        return


def has_spans(path: Path, format: str, encoding: str) -> bool:
    """Whether a table has a column of texts, and columns of whole numbers for starts and ends."""
    by_lower = {name.lower(): name for name in column_names(path, format, encoding)}
    starts, ends, texts = (
        [by_lower[name] for role in roles for name in SPAN_COLUMNS[role] if name in by_lower]
        for roles in (("start",), ("end",), ("text", "tokens"))
    )
    if not (starts and ends and texts):
        return False
    try:
        cells = Table(path, format, encoding).select(starts[:1])[starts[0]].to_pylist()
    except DataError:
        return False
    return all(cell is None or str(cell).removesuffix(".0").isdecimal() for cell in cells if cell)
