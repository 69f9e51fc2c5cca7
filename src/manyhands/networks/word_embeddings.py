"""The words that a network knows: their codes, and the embeddings they start from."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from manyhands.core.arrays import AnyArray
from manyhands.core.settings import generator

PADDING, UNKNOWN = 0, 1  # the code of padding, and that of every word without an embedding
_FIRST_WORD = 2
_SCALE = 0.1  # standard deviation of the embeddings drawn for words without a vector


@dataclass(frozen=True, eq=False)
class WordEmbeddings:
    """Words with codes and embeddings: `words[w]` has the code w + 2 and row w + 2 of `vectors`.

    A word is looked up as it is written, then in lower case. If neither is known, its code is
    `UNKNOWN`.

    >>> table = WordEmbeddings.build(["the", "Cat"], embedding_dim=4)
    >>> table.encode(np.array(["The", "Cat", "cat", "dog"], dtype=object)).tolist()
    [2, 3, 1, 1]
    """

    words: tuple[str, ...]
    vectors: NDArray[np.float32]

    @classmethod
    def build(
        cls,
        words: Iterable[str],
        known: Iterable[str] = (),
        vectors: NDArray[np.float32] | None = None,
        *,
        embedding_dim: int = 100,
        seed: int = 0,
    ) -> "WordEmbeddings":
        """Embeddings of some words; those in `known` start from its rows of `vectors`.

        Other words start from small random numbers, the unknown word from the mean of all words.
        The embedding of padding is zero.
        """
        names = tuple(dict.fromkeys(words))
        row_of = {word: row for row, word in enumerate(known)}
        size = embedding_dim if vectors is None else vectors.shape[1]
        rng = generator(seed, "vectors of words")
        shape = (len(names) + _FIRST_WORD, size)
        embeddings = rng.normal(scale=_SCALE, size=shape).astype(np.float32)
        if vectors is not None:
            for code, name in enumerate(names, _FIRST_WORD):
                row = row_of.get(name, row_of.get(name.lower()))
                if row is not None:
                    embeddings[code] = vectors[row]
        embeddings[PADDING] = 0.0
        embeddings[UNKNOWN] = embeddings[_FIRST_WORD:].mean(axis=0) if names else 0.0
        return cls(names, embeddings)

    @property
    def embedding_dim(self) -> int:
        """The length of an embedding."""
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.vectors)

    @cached_property
    def _code_of(self) -> dict[str, int]:
        return {word: code for code, word in enumerate(self.words, _FIRST_WORD)}

    def encode(self, words: AnyArray) -> NDArray[np.int64]:
        """The code of every word."""
        code_of = self._code_of
        names = [str(word) for word in words.tolist()]
        codes = {word: code_of.get(word, code_of.get(word.lower(), UNKNOWN)) for word in {*names}}
        return np.array([codes[word] for word in names], dtype=np.int64)
