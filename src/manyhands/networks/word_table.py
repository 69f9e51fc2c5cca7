"""Words as numbers: which word has which code, and the vector it starts from."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from manyhands.core.arrays import AnyArray
from manyhands.core.seeds import generator

PADDING, UNKNOWN = 0, 1  # codes of no word, and of a word that is not in the table
_FIRST = 2
_SPREAD = 0.1  # of vectors drawn for words that have none


@dataclass(frozen=True, eq=False)
class WordTable:
    """The words a network knows; `words[w]` has the code w + 2 and row w + 2 of `vectors`.

    A word is looked up as it is written, then in lower case; else it is unknown.

    >>> table = WordTable.of(["the", "Cat"], dimension=4)
    >>> table.codes(np.array(["The", "Cat", "cat", "dog"], dtype=object)).tolist()
    [2, 3, 1, 1]
    """

    words: tuple[str, ...]
    vectors: NDArray[np.float32]

    @classmethod
    def of(
        cls,
        words: Iterable[str],
        known: Iterable[str] = (),
        vectors: NDArray[np.float32] | None = None,
        *,
        dimension: int = 100,
        seed: int = 0,
    ) -> "WordTable":
        """A table of words; those in `known` start from its rows of `vectors`.

        Others start from small random numbers, and the unknown word from the mean of all. The
        vector of no word is zero.
        """
        names = tuple(dict.fromkeys(words))
        row_of = {word: row for row, word in enumerate(known)}
        size = dimension if vectors is None else vectors.shape[1]
        rng = generator(seed, "vectors of words")
        made = rng.normal(scale=_SPREAD, size=(len(names) + _FIRST, size)).astype(np.float32)
        if vectors is not None:
            found = [
                (w, row_of.get(name, row_of.get(name.lower()))) for w, name in enumerate(names)
            ]
            for w, row in found:
                if row is not None:
                    made[w + _FIRST] = vectors[row]
        made[PADDING] = 0.0
        made[UNKNOWN] = made[_FIRST:].mean(axis=0) if names else 0.0
        return cls(names, made)

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.vectors)

    @cached_property
    def _code_of(self) -> dict[str, int]:
        return {word: code for code, word in enumerate(self.words, _FIRST)}

    def codes(self, words: AnyArray) -> NDArray[np.int64]:
        """The code of every word."""
        code_of = self._code_of
        named = [str(word) for word in words.tolist()]
        found = {word: code_of.get(word, code_of.get(word.lower(), UNKNOWN)) for word in {*named}}
        return np.array([found[word] for word in named], dtype=np.int64)
