"""Texts cut into tokens that remember where in the text they stand."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.annotations.sentences import Sentences, as_objects, offsets_of_lengths
from manyhands.core.arrays import AnyArray, Offsets, read_only
from manyhands.core.errors import DataError

Tokeniser = Callable[[str], Sequence[tuple[int, int]]]
_TOKEN = re.compile(r"\w+|[^\w\s]")


def token_places(text: str) -> list[tuple[int, int]]:
    """Where the tokens of a text begin and end, in characters.

    A token is a run of letters, digits and underscores, with marks that combine with them, or one
    mark of another kind; white space parts tokens and belongs to none.

    >>> token_places("It's 3.5!")
    [(0, 2), (2, 3), (3, 4), (5, 6), (6, 7), (7, 8), (8, 9)]
    """
    places = [found.span() for found in _TOKEN.finditer(text)]
    return places if text.isascii() else _with_marks(places, text)


def _with_marks(places: list[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Marks that combine with a letter, as accents and vowel signs do, belong to its word."""
    joined: list[tuple[int, int]] = []
    after_mark = False
    for start, end in places:
        is_mark = end - start == 1 and unicodedata.category(text[start]).startswith("M")
        touches = bool(joined) and joined[-1][1] == start and _is_letter(text[joined[-1][0]])
        goes_on = touches and (is_mark or (after_mark and _is_letter(text[start])))
        if goes_on:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
        after_mark = goes_on and is_mark
    return joined


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_"


@dataclass(frozen=True, eq=False)
class TokenisedTexts:
    """Texts, their tokens as `Sentences`, and the characters `start` up to `end` of every token.

    >>> texts = TokenisedTexts.of(["Anna sang."])
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
        tokeniser: Tokeniser = token_places,
    ) -> "TokenisedTexts":
        """Texts cut by a tokeniser, which gives the (start, end) of every token in order."""
        places = [_checked(tokeniser(text), text) for text in texts]
        word = [
            text[start:end]
            for text, found in zip(texts, places, strict=True)
            for start, end in found
        ]
        flat = np.array([place for found in places for place in found], dtype=np.int64)
        start_t, end_t = flat.reshape(-1, 2).T
        offsets = offsets_of_lengths([len(found) for found in places])
        sentences = Sentences.from_tokens(word, offsets, names)
        return cls(read_only(as_objects(texts)), sentences, read_only(start_t), read_only(end_t))

    @classmethod
    def of_words(
        cls, words: Sequence[Sequence[str]], names: Sequence[Any] | None = None
    ) -> "TokenisedTexts":
        """Texts made of given words, parted by one space each."""
        lengths = [[len(word) for word in each] for each in words]
        starts = [offsets_of_lengths(np.array(one, dtype=np.int64) + 1)[:-1] for one in lengths]
        start_t = np.concatenate([np.zeros(0, dtype=np.int64), *starts])
        length_t = np.array([length for one in lengths for length in one], dtype=np.int64)
        texts = as_objects([" ".join(each) for each in words])
        made = Sentences.from_lists(words, names)
        return cls(read_only(texts), made, read_only(start_t), read_only(start_t + length_t))

    def __len__(self) -> int:
        return len(self.sentences)

    def excerpt(self, first: int, end: int) -> str:
        """The text of tokens `first` up to `end`, counted over all texts, spaces as they were."""
        text = str(self.texts[self.sentences.sentence_of_token[first]])
        return text[self.start[first] : self.end[end - 1]]


def _checked(places: Sequence[tuple[int, int]], text: str) -> Sequence[tuple[int, int]]:
    reached = 0
    for start, end in places:
        if not reached <= start < end <= len(text):
            raise DataError(
                f"the tokeniser gave the token {start}..{end} in a text of {len(text)} characters "
                f"after one that ends at {reached}; tokens must follow one another"
            )
        reached = end
    return places
