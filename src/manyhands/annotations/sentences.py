"""Sentences: the words of all sentences in one array, with the offsets of the sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from manyhands.annotations.grouping import ItemArray, offsets_from_lengths, run_indices
from manyhands.core.arrays import AnyArray, Offsets, object_array, read_only
from manyhands.core.errors import DataError


@dataclass(frozen=True, eq=False, repr=False)
class Sentences(ItemArray):
    """Sentence s has the words `word[offsets[s]:offsets[s + 1]]` and the name `names[s]`.

    It behaves as an array of sentences: `len`, `shape` and indexing go by sentence. The items of
    token annotations are the tokens, in order; their names are "<sentence>:<token>", where tokens
    are counted from 0 in each sentence (see `token_names`).

    >>> sentences = Sentences.from_lists([["Anna", "sang"], ["yes"]])
    >>> len(sentences), sentences.n_tokens, sentences.words(1)
    (2, 3, ['yes'])
    >>> sentences[1:].token_names.tolist()
    ['1:0']
    """

    word: AnyArray
    offsets: Offsets
    names: AnyArray

    def __post_init__(self) -> None:
        offsets = self.offsets
        valid = len(offsets) > 0 and offsets[0] == 0 and bool(np.all(np.diff(offsets) >= 0))
        if not valid or offsets[-1] != len(self.word):
            raise DataError(
                f"offsets must start at 0, never decrease, and end at the number of tokens "
                f"({len(self.word)}); got {offsets.tolist()[:6]}"
            )
        if len(self.names) != len(offsets) - 1:
            raise DataError(
                f"expected one name for each of {len(offsets) - 1} sentences; "
                f"got {len(self.names)} names"
            )

    @classmethod
    def from_lists(
        cls, sentences: Sequence[Sequence[str]], names: Sequence[Any] | None = None
    ) -> "Sentences":
        """From a list of words per sentence; the default names are 0, 1, 2 ..."""
        word = [str(word) for words in sentences for word in words]
        return cls.from_tokens(
            word, offsets_from_lengths([len(words) for words in sentences]), names
        )

    @classmethod
    def from_tokens(
        cls, word: Sequence[str] | AnyArray, offsets: Offsets, names: Sequence[Any] | None = None
    ) -> "Sentences":
        """From the words of all sentences and the offsets of the sentences."""
        starts = np.asarray(offsets, dtype=np.int64)
        names_s = np.arange(len(starts) - 1) if names is None else object_array(names)
        return cls(read_only(object_array(word)), read_only(starts), read_only(names_s))

    @property
    def n_tokens(self) -> int:
        """Number of tokens of all sentences."""
        return len(self.word)

    @property
    def lengths(self) -> Offsets:
        """Number of tokens of every sentence."""
        return np.diff(self.offsets)

    @cached_property
    def sentence_of_token(self) -> Offsets:
        """The sentence of every token."""
        return read_only(np.repeat(np.arange(len(self)), self.lengths))

    @property
    def token_names(self) -> AnyArray:
        """Names of the tokens as items: "<sentence>:<token>", tokens counted from 0."""
        position_t = np.arange(self.n_tokens) - self.offsets[self.sentence_of_token]
        name_t = self.names[self.sentence_of_token]
        pairs = zip(name_t.tolist(), position_t.tolist(), strict=True)
        return object_array([f"{name}:{position}" for name, position in pairs])

    def words(self, sentence: int) -> list[str]:
        """The words of one sentence."""
        first, end = self.offsets[sentence], self.offsets[sentence + 1]
        return [str(word) for word in self.word[first:end]]

    def to_lists(self) -> list[list[str]]:
        """A list of words per sentence."""
        return [self.words(s) for s in range(len(self))]

    def tokens_of(self, sentences: Any) -> Offsets:
        """The tokens of some sentences, selected by an index, a slice, indices or a mask."""
        return run_indices(self.offsets, self.positions(sentences))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, key: Any) -> "Sentences":
        """Some of the sentences, with their names."""
        chosen = self.positions(key)
        return Sentences(
            read_only(self.word[self.tokens_of(chosen)]),
            read_only(offsets_from_lengths(self.lengths[chosen])),
            read_only(self.names[chosen]),
        )

    def __repr__(self) -> str:
        return f"Sentences({len(self)} sentences, {self.n_tokens} tokens)"
