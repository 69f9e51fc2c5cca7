"""Sentences: their words in one array with the offsets of sentences; texts split into tokens."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from manyhands.annotations.grouping import ItemArray, offsets_from_lengths, run_indices
from manyhands.core.arrays import AnyArray, Offsets, object_array, read_only
from manyhands.core.errors import DataError

Tokenizer = Callable[[str], Sequence[tuple[int, int]]]
# Scripts without spaces between words: kana and Chinese characters.
_NO_SPACES = "\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_ASCII_TOKEN = re.compile(r"\w+|[^\w\s]")


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


def token_offsets(text: str) -> list[tuple[int, int]]:
    """The (start, end) of every token of a text, in characters.

    A token is a run of letters, digits and underscores with their combining marks, or one other
    character. White space separates tokens. Chinese and Japanese have none between words: every
    character of theirs is a token.

    >>> token_offsets("It's 3.5!")
    [(0, 2), (2, 3), (3, 4), (5, 6), (6, 7), (7, 8), (8, 9)]
    """
    pattern = _ASCII_TOKEN if text.isascii() else _token_with_marks()
    return [match.span() for match in pattern.finditer(text)]


@cache
def _token_with_marks() -> re.Pattern[str]:
    """A token of any script: combining marks, such as accents and vowel signs, join its word."""
    codes = *range(0x300, 0x1F000), *range(0xE0100, 0xE01F0)  # no mark is elsewhere
    marks = "".join(chr(each) for each in codes if unicodedata.category(chr(each))[0] == "M")
    letter = rf"(?![{_NO_SPACES}])\w"
    return re.compile(rf"{letter}(?:{letter}|[{marks}])*|[{_NO_SPACES}][{marks}]*|[^\w\s]")


@dataclass(frozen=True, eq=False)
class TokenizedTexts:
    """Texts, their tokens as `Sentences`, and the characters `start:end` of every token.

    >>> texts = TokenizedTexts.of(["Anna sang."])
    >>> texts.sentences.words(0), texts.excerpt(0, 2)
    (['Anna', 'sang', '.'], 'Anna sang')
    """

    texts: AnyArray
    sentences: Sentences
    start: Offsets
    end: Offsets

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        names: Sequence[Any] | None = None,
        tokenizer: Tokenizer = token_offsets,
    ) -> "TokenizedTexts":
        """Texts split by a tokenizer, which returns the (start, end) of every token in order."""
        offsets_s = [_checked(tokenizer(text), text) for text in texts]
        word = [
            text[start:end]
            for text, offsets in zip(texts, offsets_s, strict=True)
            for start, end in offsets
        ]
        flat = np.array([pair for offsets in offsets_s for pair in offsets], dtype=np.int64)
        start_t, end_t = flat.reshape(-1, 2).T
        lengths = [len(offsets) for offsets in offsets_s]
        sentences = Sentences.from_tokens(word, offsets_from_lengths(lengths), names)
        return cls(read_only(object_array(texts)), sentences, read_only(start_t), read_only(end_t))

    @classmethod
    def of_words(
        cls, words: Sequence[Sequence[str]], names: Sequence[Any] | None = None
    ) -> "TokenizedTexts":
        """Texts of the given words, joined by single spaces."""
        lengths = [[len(word) for word in each] for each in words]
        starts = [offsets_from_lengths(np.array(one, dtype=np.int64) + 1)[:-1] for one in lengths]
        start_t = np.concatenate([np.zeros(0, dtype=np.int64), *starts])
        length_t = np.array([length for one in lengths for length in one], dtype=np.int64)
        texts = object_array([" ".join(each) for each in words])
        sentences = Sentences.from_lists(words, names)
        return cls(read_only(texts), sentences, read_only(start_t), read_only(start_t + length_t))

    def __len__(self) -> int:
        return len(self.sentences)

    def excerpt(self, first: int, end: int) -> str:
        """The text of the tokens `first:end`, counted over all texts, with its white space."""
        text = str(self.texts[self.sentences.sentence_of_token[first]])
        return text[self.start[first] : self.end[end - 1]]


def _checked(offsets: Sequence[tuple[int, int]], text: str) -> Sequence[tuple[int, int]]:
    reached = 0
    for start, end in offsets:
        if not reached <= start < end <= len(text):
            raise DataError(
                f"the tokenizer returned the token {start}..{end} of a text of {len(text)} "
                f"characters after a token that ends at {reached}; tokens must be in order, must "
                "not overlap and must lie in the text"
            )
        reached = end
    return offsets
