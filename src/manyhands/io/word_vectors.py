"""Word vectors: GloVe's text files, and .npz archives."""

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from manyhands.core.arrays import AnyArray, object_array
from manyhands.core.errors import DataError
from manyhands.io.texts import existing, require_width, text_lines

_FIRST = 100  # lines that decide how many numbers a vector has


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Row w of `vectors` (w, d) belongs to word w; words are distinct."""

    words: AnyArray
    vectors: NDArray[np.float32]

    @property
    def dimension(self) -> int:
        """Number of components of a vector."""
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.words)


def read_word_vectors(
    path: str | Path,
    *,
    words: Iterable[str] | None = None,
    dimension: int | None = None,
    encoding: str = "utf-8",
) -> WordVectors:
    """Vectors from lines "word number number ...", or from an .npz with `words` and `vec`.

    `words` limits the vectors to these words, so that memory grows with the vocabulary in use. A
    word may contain blanks: the numbers are at the end of a line. A first line "n_words dimension"
    is skipped. The first vector of a word counts. `dimension` is the number of components; by
    default that of the first lines of the file.
    """
    found = existing(path)
    wanted = None if words is None else frozenset(words)
    if found.suffix.lower() == ".npz":
        vectors = _of_archive(found, wanted)
    else:
        vectors = _of_lines(found, wanted, dimension, encoding)
    if dimension is not None and vectors.dimension != dimension:
        raise DataError(
            f"{found}: vectors have {vectors.dimension} numbers; expected dimension={dimension}"
        )
    if not np.isfinite(vectors.vectors).all():
        row = int(np.argmin(np.isfinite(vectors.vectors).all(axis=1)))
        raise DataError(f"{found}: the vector of {vectors.words[row]!r} is not finite")
    return vectors


def _of_archive(path: Path, wanted: frozenset[str] | None) -> WordVectors:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            word, vector = archive["words"], archive["vec"]
    except KeyError as error:
        raise DataError(f"{path}: no array {error}; expected 'words' and 'vec'") from None
    except (ValueError, TypeError, EOFError, OSError, BadZipFile, zlib.error):
        raise DataError(f"{path}: not a plain .npz archive, or cut short") from None
    if word.ndim != 1 or word.dtype.kind != "U" or vector.ndim != 2 or len(word) != len(vector):
        raise DataError(
            f"{path}: expected words (w,) as text and vec (w, d); got {word.dtype} of shape "
            f"{word.shape} and {vector.dtype} of shape {vector.shape}"
        )
    if vector.dtype.kind not in "fiu":
        raise DataError(f"{path}: 'vec' must contain numbers; got {vector.dtype}")
    row_of: dict[str, int] = {}
    for row, name in enumerate(word.tolist()):
        if wanted is None or name in wanted:
            row_of.setdefault(name, row)
    rows = np.array(list(row_of.values()), dtype=np.int64)
    return WordVectors(object_array(list(row_of)), vector[rows].astype(np.float32))


def _of_lines(
    path: Path, wanted: frozenset[str] | None, dimension: int | None, encoding: str
) -> WordVectors:
    lines = _numbered(path, encoding)
    head = list(islice(lines, _FIRST))
    if not head:
        raise DataError(f"{path}: has no word")
    counts = Counter(line.count(" ") for _, line in head)  # a few words contain blanks
    size = dimension or min(counts, key=lambda count: (-counts[count], count))
    if size < 1:
        raise DataError(f"{path}, line {head[0][0]}: expected a word, then its numbers")
    require_width(path, size)
    row_of: dict[str, int] = {}
    rows: list[NDArray[np.float32]] = []
    for number, line in chain(head, lines):
        word, *cells = line.rsplit(" ", size)
        if len(cells) < size or not word:
            raise DataError(
                f"{path}, line {number}: {len(cells)} numbers where {size} are expected; "
                "the file may be cut short"
            )
        if (wanted is None or word in wanted) and word not in row_of:
            row_of[word] = len(rows)
            rows.append(_vector(cells, path, number))
    vectors = np.stack(rows) if rows else np.zeros((0, size), dtype=np.float32)
    return WordVectors(object_array(list(row_of)), vectors)


def _numbered(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, with their numbers, without a first line of sizes."""
    for number, line in enumerate(text_lines(path, encoding), 1):
        cells = line.split()
        sizes = number == 1 and len(cells) == 2 and all(cell.isdecimal() for cell in cells)
        if cells and not sizes:
            yield number, line.rstrip(" \t\r")


def _vector(cells: list[str], path: Path, number: int) -> NDArray[np.float32]:
    try:
        return np.array(cells, dtype=np.float32)
    except ValueError:
        raise DataError(f"{path}, line {number}: a vector must have numbers only") from None
