"""Token sequences: the words of all sentences in one array, and where each sentence begins."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from manyhands.core.arrays import AnyArray, Offsets, read_only
from manyhands.core.errors import DataError


@dataclass(frozen=True, eq=False, repr=False)
class Sentences:
    """Sentence s holds the words `word[offsets[s]:offsets[s + 1]]` and is called `names[s]`.

    As a sequence it is an array of sentences: `len`, `shape` and indexing go by sentence.
    `Annotations` of its tokens have the tokens as items, in order, called "<sentence>:<token>"
    with tokens counted from 0 in their sentence (see `token_names`).

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
        sound = len(offsets) > 0 and offsets[0] == 0 and bool(np.all(np.diff(offsets) >= 0))
        if not sound or offsets[-1] != len(self.word):
            raise DataError(
                f"offsets must begin with 0, never fall and end with the {len(self.word)} tokens"
            )
        if len(self.names) != len(offsets) - 1:
            raise DataError(f"{len(self.names)} names for {len(offsets) - 1} sentences")

    @classmethod
    def from_lists(
        cls, sentences: Sequence[Sequence[str]], names: Sequence[Any] | None = None
    ) -> "Sentences":
        """From a list of words per sentence; without names they are called 0, 1, 2 ..."""
        word = [str(word) for words in sentences for word in words]
        return cls.from_tokens(word, offsets_of_lengths([len(words) for words in sentences]), names)

    @classmethod
    def from_tokens(
        cls, word: Sequence[str] | AnyArray, offsets: Offsets, names: Sequence[Any] | None = None
    ) -> "Sentences":
        """From the words of all sentences and the offsets at which sentences begin."""
        starts = np.asarray(offsets, dtype=np.int64)
        called = np.arange(len(starts) - 1) if names is None else as_objects(names)
        return cls(read_only(as_objects(word)), read_only(starts), read_only(called))

    @property
    def n_tokens(self) -> int:
        """How many tokens all sentences hold."""
        return len(self.word)

    @property
    def lengths(self) -> Offsets:
        """Number of tokens of every sentence."""
        return np.diff(self.offsets)

    @cached_property
    def sentence_of_token(self) -> Offsets:
        """The sentence in which every token stands."""
        return read_only(np.repeat(np.arange(len(self)), self.lengths))

    @property
    def token_names(self) -> AnyArray:
        """What the tokens are called as items: "<sentence>:<token>", tokens counted from 0."""
        position_t = np.arange(self.n_tokens) - self.offsets[self.sentence_of_token]
        name_t = self.names[self.sentence_of_token]
        pairs = zip(name_t.tolist(), position_t.tolist(), strict=True)
        return as_objects([f"{name}:{position}" for name, position in pairs])

    def words(self, sentence: int) -> list[str]:
        """The words of one sentence."""
        first, end = self.offsets[sentence], self.offsets[sentence + 1]
        return [str(word) for word in self.word[first:end]]

    def to_lists(self) -> list[list[str]]:
        """A list of words per sentence."""
        return [self.words(s) for s in range(len(self))]

    def tokens_of(self, sentences: Any) -> Offsets:
        """The tokens of some sentences (a number, a slice, numbers, a mask), in their order."""
        return places_of_runs(self.offsets, np.atleast_1d(np.arange(len(self))[sentences]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def shape(self) -> tuple[int]:
        """(number of sentences,)."""
        return (len(self),)

    @property
    def ndim(self) -> int:
        """1: an array of sentences."""
        return 1

    def __getitem__(self, key: Any) -> "Sentences":
        """Some of the sentences; they keep their names."""
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # scikit-learn indexes arrays as array[rows, ...]
        chosen = np.atleast_1d(np.arange(len(self))[key])
        return Sentences(
            read_only(self.word[self.tokens_of(chosen)]),
            read_only(offsets_of_lengths(self.lengths[chosen])),
            read_only(self.names[chosen]),
        )

    def __repr__(self) -> str:
        return f"Sentences({len(self)} sentences, {self.n_tokens} tokens)"


def offsets_of_lengths(lengths: Sequence[int] | AnyArray) -> Offsets:
    """Where runs of these lengths begin, and where the last ends.

    >>> offsets_of_lengths([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def places_of_runs(offsets: AnyArray, order: AnyArray) -> Offsets:
    """The places within runs that begin at these offsets, the runs taken in this order.

    >>> places_of_runs(np.array([0, 2, 5]), np.array([1, 0])).tolist()
    [2, 3, 4, 0, 1]
    """
    size = np.diff(offsets)[order]
    before = np.repeat(offsets[:-1][order] - (np.cumsum(size) - size), size)
    return np.asarray(np.arange(len(before)) + before, dtype=np.int64)


def as_objects(values: Sequence[Any] | AnyArray) -> AnyArray:
    """One dimension of Python objects, whatever these are."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "Oi":
        return values
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made
