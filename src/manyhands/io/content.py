"""The format of a file by its first bytes, for a file whose name does not tell it."""

import codecs
import json
import re
from typing import Any

from manyhands.annotations.tags import is_bio_tag

LOOKED_AT = 1 << 16  # bytes
_MOST = 0.9  # of the lines must look like tagged tokens
_NUMBER = re.compile(r"[-+]?[0-9]*\.?[0-9]+|\?|nan", re.IGNORECASE)  # ? and nan: no label
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def suffix_by_content(head: bytes, *, whole: bool) -> str | None:
    r"""The suffix that files of this content have; None if it is not clear.

    `head` are the first bytes of the file, and `whole` tells whether they are all of it.

    >>> suffix_by_content(b"item,annotator,label\n1,ann,cat\n", whole=True)
    '.csv'
    >>> suffix_by_content(b'{"item": 1, "label": 2}\n{"item": 3}\n', whole=True)
    '.jsonl'
    """
    if head.startswith(b"PAR1"):
        return ".parquet"
    if head.startswith(b"\x93NUMPY"):
        return ".npy"
    encoding = "utf-16" if head.startswith(_UTF_16) else "utf-8-sig"
    text = head.decode(encoding, errors="replace")
    lines = [line for line in text.split("\n") if line.strip()]
    if "\x00" in text or not lines:
        return None
    if text.lstrip().startswith("["):
        return ".json"
    if text.lstrip().startswith("{"):
        return _suffix_of_json(lines, whole)
    return _suffix_of_lines(lines if whole or len(lines) == 1 else lines[:-1])


def _suffix_of_json(lines: list[str], whole: bool) -> str:
    """One object in every line, or one object in many lines or of nested objects."""
    if len(lines) == 1 and not whole:
        return ".json"
    try:
        first: dict[str, Any] = json.loads(lines[0])
    except (ValueError, RecursionError):
        return ".json"
    nested = all(isinstance(value, dict) for value in first.values())
    return ".json" if len(lines) == 1 and nested else ".jsonl"


def _suffix_of_lines(lines: list[str]) -> str | None:
    if _are_tagged_tokens([line.split() for line in lines]):
        return ".conll"
    if "\t" in lines[0]:
        return ".tsv"
    if any(mark in lines[0] for mark in ",;|"):
        return ".csv"
    rows = [line.split() for line in lines]
    is_matrix = len({len(row) for row in rows}) == 1 and len(rows[0]) > 1
    return ".txt" if is_matrix and all(_NUMBER.fullmatch(c) for row in rows for c in row) else None


def _are_tagged_tokens(rows: list[list[str]]) -> bool:
    """Whether most lines are a token and its tags, and not all tokens may be tags too."""
    tagged = [row for row in rows if len(row) > 1 and all(map(_is_tag, row[1:]))]
    has_tag = any(is_bio_tag(cell) for row in tagged for cell in row[1:])
    return (
        has_tag and len(tagged) >= _MOST * len(rows) and not all(_is_tag(row[0]) for row in tagged)
    )


def _is_tag(cell: str) -> bool:
    return cell == "?" or is_bio_tag(cell)
