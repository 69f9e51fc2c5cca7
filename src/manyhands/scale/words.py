"""Distinct cells of a column that is read in batches."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from manyhands.annotations.vocabulary import Vocabulary, as_arrow, encode, name_to_text
from manyhands.core.arrays import AnyArray, Codes


class Place(NamedTuple):
    """A row of one of several files."""

    file: int
    row: int


def distinct_words(column: Any) -> tuple[list[str], AnyArray]:
    """The distinct cells of a column as text, "" for blank ones, and which one every row has.

    >>> distinct_words(pa.array([7, None, 7]))
    (['7', ''], array([0, 1, 0]))
    """
    cells = as_arrow(column)
    if not pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_encode()
    words = [_text(cell) for cell in cells.dictionary.to_pylist()]
    index = cells.indices
    if index.null_count:
        words.append("")
        index = index.cast(pa.int64()).fill_null(len(words) - 1)
    return words, index.to_numpy(zero_copy_only=False)


def _text(cell: object) -> str:
    text = "" if cell is None else name_to_text(cell)
    return text if text.strip() else ""


@dataclass
class Words:
    """The distinct cells of a column: how often each occurs, and where it does first."""

    codes: dict[str, int] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    first: list[Place] = field(default_factory=list)
    types: set[Any] = field(default_factory=set)  # of the columns

    def add(self, column: Any, begin: Place) -> None:
        """Count the cells of a batch whose first row is at `begin`."""
        words, index = distinct_words(column)
        self.types.add(column.type)
        counts = np.bincount(index, minlength=len(words))
        first = np.full(len(words), -1, dtype=np.int64)
        first[index[::-1]] = np.arange(len(index))[::-1]
        for word, count, row in zip(words, counts.tolist(), first.tolist(), strict=True):
            if count:
                self._count(word, count, Place(begin.file, begin.row + row))

    def add_counts(self, column: Any, counts: Iterable[int]) -> None:
        """Add distinct cells that were counted elsewhere; the place of each is its number."""
        words, index = distinct_words(column)
        self.types.add(column.type)
        for row, (word, count) in enumerate(zip(index.tolist(), counts, strict=True)):
            self._count(words[word], count, Place(0, row))

    def merge(self, other: "Words") -> None:
        """Count the cells of another file, which comes after."""
        self.types |= other.types
        for word, count, place in zip(other.codes, other.counts, other.first, strict=True):
            self._count(word, count, place)

    def _count(self, word: str, count: int, place: Place) -> None:
        code = self.codes.setdefault(word, len(self.codes))
        if code == len(self.counts):
            self.counts.append(0)
            self.first.append(place)
        self.counts[code] += count

    def column(self) -> pa.Array:
        """The words as a column of the type that they were read from, or as text."""
        words = [word or None for word in self.codes]
        kinds = {_kind(each) for each in self.types}
        if kinds == {"bool"}:
            return pa.array([None if word is None else word == "true" for word in words])
        if kinds == {"int"}:
            return pa.array([None if word is None else int(word) for word in words], pa.int64())
        return pa.array(words, pa.string())

    def vocabulary(self, noun: str) -> Vocabulary:
        """The names in their order; blank ones are left out."""
        return encode(self.column(), noun)[1]


def _kind(type_: Any) -> str:
    inner = type_.value_type if pa.types.is_dictionary(type_) else type_
    if pa.types.is_boolean(inner):
        return "bool"
    return "int" if pa.types.is_integer(inner) else "text"


class WordCodes:
    """The codes of words in a vocabulary that is known, for columns that are read in batches."""

    def __init__(self, codes: dict[str, int]) -> None:
        self._codes = codes

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> "WordCodes":
        """The codes of names."""
        return cls({name_to_text(name): code for code, name in enumerate(vocabulary.names)})

    def __call__(self, column: Any) -> Codes:
        """The code of every row; -1 for a blank or unknown cell."""
        words, index = distinct_words(column)
        return np.array([self._codes.get(word, -1) for word in words] or [-1], np.int32)[index]
