"""Texts and sentences: from strings to codes of words, padded to the longest of a batch."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.annotations import Sentences, TokenizedTexts, TokenLabels
from manyhands.core.arrays import AnyArray, Offsets, digest, object_array
from manyhands.core.errors import DataError, SettingError
from manyhands.engine.features import EncoderOptions, FeatureEncoder, is_text
from manyhands.engine.inputs import Inputs, first_of_runs
from manyhands.io import WordVectors, read_word_vectors
from manyhands.networks.text import PADDING, WordEmbeddings

Vectors = WordVectors | str | Path
_DIMENSION = 100  # of word vectors where none are given


class TextInputs(Inputs):
    """Texts, each an item: text i has the codes `code[offsets[i]:offsets[i + 1]]`.

    `vectors` (w, d) initialise the embeddings of the network, which are not trained where they are
    `frozen`. A noise model gets the mean vector of a text. `shape` is the shape of the table of
    vectors, which a network is made for.
    """

    def __init__(
        self, code: Tensor, offsets: Offsets, vectors: Tensor, *, frozen: bool = False
    ) -> None:
        self.code, self.offsets, self.vectors, self.frozen = code, offsets, vectors, frozen
        self.shape, self.device = tuple(vectors.shape), code.device

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def tokens_per_item(self) -> float:
        """See `Inputs.tokens_per_item`."""
        return len(self.code) / max(len(self), 1)

    @property
    def noise_feature_shape(self) -> tuple[int, ...]:
        """See `Inputs.noise_feature_shape`."""
        return tuple(self.vectors.shape[1:])

    def to(self, device: torch.device) -> "TextInputs":
        """See `Inputs.to`."""
        vectors = self.vectors.to(device)
        return type(self)(self.code.to(device), self.offsets, vectors, frozen=self.frozen)

    @torch.no_grad()
    def init_embeddings(self, network: nn.Module) -> None:
        """See `Inputs.init_embeddings`: the vectors go into an embedding called `words`."""
        words = getattr(network, "words", None)
        if isinstance(words, nn.Embedding) and tuple(words.weight.shape) == self.shape:
            words.weight.copy_(self.vectors)
            words.weight.requires_grad_(not self.frozen)

    def arrays(self) -> list[AnyArray]:
        """See `Inputs.arrays`."""
        return [self.code.cpu().numpy(), self.offsets, self.vectors.cpu().numpy()]

    @property
    def words(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        """See `Inputs.words`."""
        return self.code.cpu().numpy(), self.offsets, self.vectors.cpu().numpy()

    def lengths(self, items: AnyArray) -> AnyArray:
        """See `Inputs.lengths`."""
        return np.asarray(np.diff(self.offsets)[items])

    def rows(self, index: Tensor) -> Tensor:
        """Codes of words, shape (b, t), padded with 0."""
        return self._padded(index.cpu().numpy())

    def noise_features(self, rows: Tensor) -> Tensor:
        """The mean vector of a text's words, shape (b, d)."""
        there_bt1 = (rows != PADDING).unsqueeze(2)
        total_bd = (self.vectors[rows] * there_bt1).sum(dim=1)
        return total_bd / there_bt1.sum(dim=1).clamp_min(1)

    def _padded(self, text_b: AnyArray) -> Tensor:
        if len(self.code) == 0:  # texts without a single word
            return torch.full((len(text_b), 1), PADDING, device=self.device)
        begin_b, length_b = self.offsets[text_b], np.diff(self.offsets)[text_b]
        place_t = np.arange(max(int(length_b.max(initial=0)), 1))
        there_bt = place_t < length_b[:, None]
        source_bt = np.where(there_bt, begin_b[:, None] + place_t, 0)
        code_bt = self.code[torch.from_numpy(source_bt).to(self.device)]
        return code_bt.masked_fill(torch.from_numpy(~there_bt).to(self.device), PADDING)


class TokenInputs(TextInputs):
    """Sentences whose tokens are the items; a batch holds whole sentences.

    A noise model gets the vector of a token's word.
    """

    @cached_property
    def sentence_of(self) -> AnyArray:
        """The sentence of every token."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @property
    def sentence_starts(self) -> AnyArray:
        """See `Inputs.sentence_starts`."""
        return first_of_runs(self.sentence_of)

    def __len__(self) -> int:
        return len(self.sentence_of)

    def boundaries(self, items: AnyArray) -> AnyArray:
        """See `Inputs.boundaries`: a batch ends between sentences."""
        changes = np.flatnonzero(np.diff(self.sentence_of[items])) + 1
        return np.concatenate([[0], changes, [len(items)]]) if len(items) else np.zeros(1, int)

    def lengths(self, items: AnyArray) -> AnyArray:
        """The lengths of the sentences of these tokens."""
        return np.asarray(np.diff(self.offsets)[self.sentence_of[items]])

    def rows(self, index: Tensor) -> Tensor:
        """Codes of the words of the tokens' sentences (b, t); negative for tokens not asked for.

        Tokens must come sentence by sentence, in order.
        """
        token = index.cpu().numpy()
        begins = self.boundaries(token)[:-1]
        sentence_b = self.sentence_of[token[begins]] if len(token) else token
        code_bt = self._padded(sentence_b)
        row = np.repeat(np.arange(len(begins)), np.diff([*begins, len(token)]))
        wanted_bt = torch.zeros_like(code_bt, dtype=torch.bool)
        column = token - self.offsets[self.sentence_of[token]]
        wanted_bt[torch.from_numpy(row), torch.from_numpy(column)] = True
        return torch.where(wanted_bt, code_bt, -code_bt)

    def noise_features(self, rows: Tensor) -> Tensor:
        """The vectors of the tokens asked for, shape (n, d)."""
        return self.vectors[rows[rows > 0]]


@dataclass(frozen=True, eq=False)
class TextEncoder(FeatureEncoder):
    """Encodes texts, each an item, or sentences, whose tokens are the items (`tokens`).

    Embeddings that are `frozen` are not trained. Of a text the first `max_tokens` words are read.
    `vectors_given` tells whether the embeddings were initialised with given word vectors.
    """

    kind = "text"
    table: WordEmbeddings
    tokens: bool
    frozen: bool = False
    max_tokens: int | None = None
    vectors_given: bool = False

    @classmethod
    def fit_transform(
        cls, features: Any, options: EncoderOptions, *, tokens: bool
    ) -> "tuple[TextEncoder, TextInputs]":
        """An encoder for texts, or sentences, like these, and their inputs."""
        sentences = as_sentences(features) if tokens else tokenise(features)
        vectors, frozen = options.word_vectors, options.freeze_embeddings
        table = word_table(sentences, vectors, frozen=frozen, seed=options.seed)
        max_tokens = None if tokens else options.max_tokens
        encoder = cls(table, tokens, frozen, max_tokens, vectors is not None)
        return encoder, encoder._inputs(sentences)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The shape of the table of vectors."""
        return tuple(self.table.vectors.shape)

    @property
    def n_noise_features(self) -> int:
        """See `FeatureEncoder.n_noise_features`."""
        return self.table.embedding_dim

    @property
    def default_network(self) -> str:
        """See `FeatureEncoder.default_network`."""
        return "tagger" if self.tokens else "text-cnn"

    @property
    def word_vectors(self) -> WordVectors | None:
        """The vectors that the embeddings were initialised with, where some were given."""
        if not self.vectors_given:
            return None
        return WordVectors(np.array(self.table.words, dtype=object), self.table.vectors[2:])

    def transform(self, features: Any) -> Inputs:
        """See `FeatureEncoder.transform`."""
        if self.tokens:
            return self._inputs(as_sentences(features))
        if len(features) and not is_text(features):
            raise DataError("the model reads texts, a string each; got something else")
        return self._inputs(tokenise(features))

    def header(self) -> dict[str, Any]:
        """See `FeatureEncoder.header`."""
        return {
            "words": list(self.table.words),
            "tokens": self.tokens,
            "frozen": self.frozen,
            "max_tokens": self.max_tokens,
            "vectors_given": self.vectors_given,
        }

    def fingerprint(self) -> dict[str, Any]:
        """See `FeatureEncoder.fingerprint`; inputs hold codes of words."""
        return {"set of words": digest(object_array(self.table.words))}

    def tensors(self) -> dict[str, Tensor]:
        """See `FeatureEncoder.tensors`."""
        return {"vectors": torch.from_numpy(self.table.vectors)}

    @classmethod
    def restore(cls, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> "TextEncoder":
        """See `FeatureEncoder.restore`."""
        table = WordEmbeddings(tuple(header["words"]), tensors["vectors"].numpy())
        flags = {name: bool(header[name]) for name in ("tokens", "frozen", "vectors_given")}
        longest = header["max_tokens"]
        return cls(table, max_tokens=None if longest is None else int(longest), **flags)

    def _inputs(self, sentences: Sentences) -> TextInputs:
        sentences = truncate(sentences, self.max_tokens)
        code = torch.from_numpy(self.table.encode(sentences.word))
        vectors = torch.from_numpy(self.table.vectors)
        make = TokenInputs if self.tokens else TextInputs
        return make(code, np.array(sentences.offsets), vectors, frozen=self.frozen)


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


def tokenise(texts: Any) -> Sentences:
    """Texts split into words (see `token_places`); what is no text is refused."""
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"row {row}: a text must be a string; got {text!r}")
    return TokenizedTexts.of([str(text) for text in texts]).sentences


def truncate(sentences: Sentences, max_tokens: int | None) -> Sentences:
    """The first `max_tokens` words of every text, with a warning where words are left out."""
    if max_tokens is None or int(sentences.lengths.max(initial=0)) <= max_tokens:
        return sentences
    n_long = int((sentences.lengths > max_tokens).sum())
    warnings.warn(
        f"{n_long} of {len(sentences)} texts have more than {max_tokens} words and are truncated; "
        "raise max_tokens to read more of them",
        UserWarning,
        stacklevel=3,
    )
    return Sentences.from_lists([sentences.words(s)[:max_tokens] for s in range(len(sentences))])


def word_table(
    sentences: Sentences, vectors: Vectors | None, *, frozen: bool, seed: int
) -> WordEmbeddings:
    """The table of the words that a network knows, initialised with the vectors given.

    A table that is trained holds the words of the sentences. One that is `frozen` holds all words
    that have a vector, so that new words are known too.
    """
    seen = [str(word) for word in dict.fromkeys(sentences.word.tolist())]
    if vectors is None:
        if frozen:
            raise SettingError("freeze_embeddings must be False without word_vectors; got True")
        return WordEmbeddings.build(seen, embedding_dim=_DIMENSION, seed=seed)
    if not isinstance(vectors, WordVectors):
        both = {*seen, *(word.lower() for word in seen)}
        vectors = read_word_vectors(vectors, words=None if frozen else both)
    known = [str(word) for word in vectors.words]
    if seen and not {*known} & {*seen, *(word.lower() for word in seen)}:
        warnings.warn(
            f"not one of the {len(seen)} different words has a vector; are they of this language, "
            "and their words in lower case?",
            UserWarning,
            stacklevel=4,
        )
    names = [*seen, *known] if frozen else seen
    return WordEmbeddings.build(names, known, vectors.vectors, seed=seed)
