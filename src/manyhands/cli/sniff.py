"""What a file looks like, by its name and its beginning: tagged tokens, spans, or neither."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from manyhands.annotations import is_bio_tag
from manyhands.cli.options import Reading
from manyhands.cli.output import TAGGED
from manyhands.core.errors import DataError
from manyhands.io.conll import token_rows
from manyhands.io.tables import SUFFIXES, Table
from manyhands.io.texts import text_lines

T = TypeVar("T")

TOKEN_FORMATS = ("conll", "spans")
UNCLEAR = "unclear"
_STARTS, _ENDS = {"start", "begin", "start_offset"}, {"end", "stop", "end_offset"}
_TEXTS = {"text", "tokens", "words"}
_LOOKED_AT, _MOST = 1000, 0.9  # lines of a .txt file, and how many must look like tagged tokens


def layout_of(path: str, reading: Reading) -> str | None:
    """How tagged tokens are laid out in a file, "conll" or "spans", or `UNCLEAR`; None: no tags."""
    suffix = Path(path).suffix.lower()
    if reading.format in TOKEN_FORMATS:
        return reading.format
    if reading.layout is not None:
        return None
    if reading.format is None and suffix in TAGGED:
        return "conll"
    if reading.format == "txt" or (reading.format is None and suffix == ".txt"):
        return _tagged_text(path, reading)
    table = reading.format or SUFFIXES.get(suffix)
    return "spans" if table is not None and _has_spans(path, table, reading.encoding) else None


def _tagged_text(path: str, reading: Reading) -> str | None:
    """Whether most lines are a token and its tags; unclear where the tokens are tags too."""
    mark = (reading.missing or ["?"])[0]
    looked_at = _until_refused(token_rows(Path(path), reading.encoding))
    rows = [cells for _, cells in looked_at if cells and not cells[0].startswith("#")]

    def tagged(cells: list[str]) -> bool:
        return all(is_bio_tag(cell) or cell == mark for cell in cells)

    with_tags = [row for row in rows if len(row) > 1 and tagged(row[1:])]
    said = any(is_bio_tag(cell) for row in with_tags for cell in row[1:])
    if not said or len(with_tags) < _MOST * len(rows):
        return None
    return UNCLEAR if all(tagged(row[:1]) for row in with_tags) else "conll"


def _until_refused(lines: Iterator[T]) -> Iterator[T]:
    """The first lines of a file; none where it cannot be read, which its reader will tell."""
    try:
        yield from islice(lines, _LOOKED_AT)
    except (OSError, DataError):
        return


def _has_spans(path: str, format: str, encoding: str) -> bool:
    """Whether a table has columns of texts and of whole numbers where spans start and end."""
    by_lower = {name.lower(): name for name in _columns(path, format, encoding)}
    if not all(by_lower.keys() & names for names in (_STARTS, _ENDS, _TEXTS)):
        return False
    first = by_lower[sorted(by_lower.keys() & _STARTS)[0]]
    try:
        cells = Table(Path(path), format, encoding).select([first])[first].to_pylist()
    except DataError:
        return False
    return all(cell is None or str(cell).removesuffix(".0").isdecimal() for cell in cells if cell)


def _columns(path: str, format: str, encoding: str) -> list[str]:
    """The names of a table's columns, by a look at its beginning only."""
    try:
        if format == "jsonl":
            lines = _until_refused(text_lines(Path(path), encoding))
            first = next((line for line in lines if line.strip()), "{}")
            found = json.loads(first)
            return list(found) if isinstance(found, dict) else []
        if format == "parquet":
            return list(pq.read_schema(path).names)
        return [str(name) for name in Table(Path(path), format, encoding).columns]
    except (OSError, ValueError, RecursionError, DataError, pa.ArrowException):
        return []  # its reader will tell
