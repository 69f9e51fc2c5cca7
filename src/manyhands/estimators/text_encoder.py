"""Texts and sentences as what a network over words reads."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from manyhands.annotations import Sentences, TokenisedTexts, TokenLabels
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingError
from manyhands.core.settings import require
from manyhands.engine.text_inputs import TextInputs, TokenInputs
from manyhands.io import WordVectors, read_word_vectors
from manyhands.networks import WordTable

Vectors = WordVectors | str | Path
_DRAWN = 100  # numbers of a vector where none are given
_LOOKED_AT = 100  # rows, for one that is a text


def are_texts(features: Any) -> bool:
    """Whether features are texts: strings, in a list, an array or a column of a frame.

    >>> are_texts(["a film", "a good film"]), are_texts([[0.5, 1.0]])
    (True, False)
    """
    is_row = isinstance(features, Sequence) and not isinstance(features, str)
    if not is_row and getattr(features, "ndim", 0) != 1:  # an array, or a column of a frame
        return False
    return any(isinstance(text, str) for text in islice(features, _LOOKED_AT))


def as_sentences(features: Any) -> Sentences:
    """Sentences, or lists of words, as `Sentences`."""
    if isinstance(features, TokenLabels):
        return features.sentences
    if isinstance(features, Sentences):
        return features
    if isinstance(features, Sequence) and not isinstance(features, str):
        words = [list(sentence) for sentence in features if not isinstance(sentence, str)]
        if len(words) == len(features) and all(isinstance(w, str) for each in words for w in each):
            return Sentences.from_lists(words)
    raise DataError(
        f"sentences must be Sentences, or a list of words for each; got {type(features).__name__}"
    )


def words_of_texts(texts: Any, max_tokens: int | None) -> Sentences:
    """Texts cut into words (see `token_places`), the first `max_tokens` of each.

    It warns of texts that are cut short, and refuses what is no text.
    """
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"row {row}: a text must be a string; got {text!r}")
    made = TokenisedTexts.of([str(text) for text in texts]).sentences
    if max_tokens is None or int(made.lengths.max(initial=0)) <= max_tokens:
        return made
    n_long = int((made.lengths > max_tokens).sum())
    warnings.warn(
        f"{n_long} of {len(made)} texts have more than {max_tokens} words and are cut short; "
        "raise max_tokens to read more of them",
        UserWarning,
        stacklevel=3,
    )
    return Sentences.from_lists([made.words(s)[:max_tokens] for s in range(len(made))])


@dataclass(frozen=True, eq=False)
class TextEncoder:
    """How a model reads texts, each an item, or sentences, whose `tokens` are the items.

    Vectors of words that are `fixed` are not learnt. Of a text the first `max_tokens` are read.
    """

    table: WordTable
    tokens: bool
    fixed: bool = False
    max_tokens: int | None = None

    @classmethod
    def learn(
        cls,
        features: Any,
        vectors: Vectors | None,
        *,
        tokens: bool,
        fixed: bool,
        max_tokens: int | None = None,
        seed: int = 0,
    ) -> "TextEncoder":
        """A reader of texts, or sentences, like these."""
        require(max_tokens is None or max_tokens >= 1, "max_tokens", ">= 1 or None", max_tokens)
        sentences = as_sentences(features) if tokens else words_of_texts(features, None)
        table = word_table(sentences, vectors, fixed=fixed, seed=seed)
        return cls(table, tokens, fixed, max_tokens)

    def __call__(self, features: Any) -> TextInputs:
        """Texts, or sentences, as the network reads them."""
        if self.tokens:
            return TokenInputs(*self._parts(as_sentences(features)), fixed=self.fixed)
        if len(features) and not are_texts(features):
            raise DataError("the model reads texts, a string each; got something else")
        sentences = words_of_texts(features, self.max_tokens)
        return TextInputs(*self._parts(sentences), fixed=self.fixed)

    def _parts(self, sentences: Sentences) -> tuple[torch.Tensor, AnyArray, torch.Tensor]:
        code = torch.from_numpy(self.table.codes(sentences.word))
        return code, np.array(sentences.offsets), torch.from_numpy(self.table.vectors)


def default_of(words: Any) -> str | None:
    """The name of the network for what is read; None where no words are."""
    if not isinstance(words, TextEncoder):
        return None
    return (TokenInputs if words.tokens else TextInputs).default_network


def word_table(
    sentences: Sentences, vectors: Vectors | None, *, fixed: bool, seed: int
) -> WordTable:
    """The table of the words a network is to know, which start from the vectors given.

    Vectors that are learnt are of the words in the sentences; those that stay `fixed` are of all
    words that have one, so that new words are known too.
    """
    seen = [str(word) for word in dict.fromkeys(sentences.word.tolist())]
    if vectors is None:
        if fixed:
            raise SettingError("freeze_embeddings must be False without word_vectors; got True")
        return WordTable.of(seen, dimension=_DRAWN, seed=seed)
    if not isinstance(vectors, WordVectors):
        both = {*seen, *(word.lower() for word in seen)}
        vectors = read_word_vectors(vectors, words=None if fixed else both)
    known = [str(word) for word in vectors.words]
    if seen and not {*known} & {*seen, *(word.lower() for word in seen)}:
        warnings.warn(
            f"not one of the {len(seen)} different words has a vector; are they of this language, "
            "and their words in lower case?",
            UserWarning,
            stacklevel=4,
        )
    names = [*seen, *known] if fixed else seen
    return WordTable.of(names, known, vectors.vectors, seed=seed)
