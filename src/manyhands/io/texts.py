"""Text files: their lines, texts that are one per line, and word counts in the LDA-C format."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy import sparse

from manyhands.annotations.grouping import offsets_from_lengths
from manyhands.core.arrays import AnyArray, object_array
from manyhands.core.errors import DataError, SettingName
from manyhands.io.input_file import InputFile, is_opened
from manyhands.io.opening import opened

MAX_COLUMNS = 1_000_000
_LONGEST_NAME = 10_000  # characters
_MOST_NAMES = 3


def existing(path: str | Path, sheet: str | None = None) -> InputFile:
    """The file at a path, unpacked; a `DataError` if there is none, or an archive of several.

    Of a workbook it is one sheet, and "-" is standard input.
    """
    found = opened(path, sheet)
    if len(found) > 1:
        names = ", ".join(file.content_name for file in found[:_MOST_NAMES])
        rest = " ..." if len(found) > _MOST_NAMES else ""
        raise DataError(
            f"{path}: holds {len(found)} files ({names}{rest}), and one is read; unpack it and "
            "name one of them"
        )
    return found[0]


def read_texts(path: str | Path, *, encoding: str = "utf-8") -> AnyArray:
    """One text per line; a blank line is an empty text."""
    return object_array(list(text_lines(existing(path), encoding)))


def text_lines(path: Path, encoding: str) -> Iterator[str]:
    """The lines of a file without their ends; a `DataError` if it is empty or no text.

    Only line feeds and carriage returns end a line: a text may contain other separators.
    """
    if path.stat().st_size == 0:
        raise DataError(f"{path}: the file is empty")
    try:
        with path.open(encoding=with_mark(encoding_of(path, encoding))) as stream:
            for line in stream:
                yield line.removesuffix("\n")
    except (UnicodeError, LookupError):
        raise not_text(path, encoding) from None


def not_text(path: Path, encoding: str) -> DataError:
    """An error with the first line that is not text in the encoding."""
    data = path.read_bytes()
    try:
        data.decode(encoding)
    except LookupError:
        return DataError(f"{path}: no encoding is called {encoding!r}; try utf-8 or latin-1")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return DataError(
            f"{path}, line {line}: byte 0x{data[error.start]:02x} is not {encoding} text; save the "
            "file as UTF-8 or name its encoding with ", SettingName("encoding", ...),
            " (cp1252, latin-1, utf-16 ...)",
        )  # fmt: skip
    return not_a_table(path)


def encoding_of(path: Path, given: str) -> str:
    """The encoding of a file: the given one, but that of a sheet, which was written here."""
    return path.encoding(given) if is_opened(path) else given


def with_mark(encoding: str) -> str:
    """The encoding; UTF-8 skips the byte order mark that some tools write."""
    return "utf-8-sig" if encoding.lower().replace("_", "-") in {"utf-8", "utf8"} else encoding


def require_names(path: Path, columns: Sequence[str]) -> None:
    """Raise a `DataError` for more or longer names of columns than any table has."""
    require_width(path, len(columns))
    longest = max(columns, key=len, default="")
    if len(longest) > _LONGEST_NAME:
        raise DataError(
            f"{path}: the name of column {columns.index(longest) + 1} has {len(longest)} "
            "characters; give it a short one"
        )


def require_width(path: Path, n_columns: int) -> None:
    """Raise a `DataError` for more columns than any crowd has annotators."""
    if n_columns > MAX_COLUMNS:
        raise DataError(
            f"{path}: has {n_columns} columns, and at most {MAX_COLUMNS} are read; write a row per "
            "label with item, annotator and label"
        )


def not_a_table(path: Path) -> DataError:
    """An error for a file that is no text."""
    return DataError(
        f"{path}: not a text table; give its format with ", SettingName("format", ...),
        ", or its encoding with ", SettingName("encoding", "utf-16"),
    )  # fmt: skip


def read_word_counts(
    path: str | Path, *, n_words: int | None = None, encoding: str = "utf-8"
) -> sparse.csr_matrix:
    """How often each text contains each word, shape (i, w), from lines "n w:count w:count ...".

    n is the number of distinct words of the text and w the code of a word, from 0. `n_words` is
    the size of the vocabulary; by default the largest code is the last word.
    """
    found = existing(path)
    words: list[int] = []
    counts: list[int] = []
    lengths: list[int] = []
    for number, line in enumerate(text_lines(found, encoding), 1):
        pairs = _pairs(line, f"{found}, line {number}")
        words.extend(pairs)
        counts.extend(pairs.values())
        lengths.append(len(pairs))
    largest = max(words, default=-1)
    if n_words is not None and largest >= n_words:
        raise DataError(f"{found}: contains the word {largest}, but n_words is {n_words}")
    shape = (len(lengths), largest + 1 if n_words is None else n_words)
    data, offsets = np.array(counts, dtype=np.int64), offsets_from_lengths(lengths)
    matrix = sparse.csr_matrix((data, np.array(words, dtype=np.int64), offsets), shape=shape)
    matrix.sort_indices()
    return matrix


def _pairs(line: str, where: str) -> dict[int, int]:
    cells = line.split()
    try:
        n_pairs = int(cells[0])
        pairs = [(int(word), int(count)) for word, count in (one.split(":") for one in cells[1:])]
    except (ValueError, IndexError):
        raise DataError(f'{where}: expected "n word:count word:count ...", whole numbers') from None
    if n_pairs != len(pairs):
        raise DataError(
            f"{where}: {len(pairs)} words where {n_pairs} are announced; the file may be cut short"
        )
    if any(word < 0 or count < 1 for word, count in pairs):
        raise DataError(f"{where}: words are counted from 0, and counts are 1 or more")
    if len(dict(pairs)) < len(pairs):
        raise DataError(f"{where}: a word is named twice; add its counts up")
    return dict(pairs)
