"""Networks that read words: their embeddings, a convolution over a text, a tagger of sentences."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.core.settings import generator
from manyhands.networks.sizes import require_dropout, require_flag, require_size

PADDING, UNKNOWN = 0, 1  # the code of padding, and that of every word without an embedding
_FIRST_WORD = 2
_SCALE = 0.1  # standard deviation of the embeddings drawn for words without a vector
_POOL_SIZE = 5  # words, or outputs of the first pool, that are pooled into one


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


class WordNetwork(nn.Module):
    """A network whose inputs are codes of words, which it looks up in the embedding `words`."""

    def __init__(self, n_words: int, embedding_dim: int, hidden: int, dropout: float) -> None:
        super().__init__()
        sizes = {"n_words": n_words, "embedding_dim": embedding_dim, "hidden": hidden}
        for name, size in sizes.items():
            require_size(name, size)
        require_dropout("dropout", dropout)
        self.words = nn.Embedding(n_words, embedding_dim, padding_idx=PADDING)

    @classmethod
    def from_shape(cls, shape: tuple[int, ...], n_classes: int, **settings: Any) -> "WordNetwork":
        """The network for embeddings of this shape."""
        if len(shape) != 2:
            raise DataError(
                "this network reads words and needs the shape (words, embedding size) of their "
                f"embeddings; got {tuple(shape)}: give texts, or use mlp"
            )
        make: Any = cls  # the classes that derive from this one take the number of classes
        network: WordNetwork = make(*shape, n_classes, **settings)
        return network


class TextCNN(WordNetwork):
    """Word embeddings, two convolutions with max pooling, the mean over the text, two layers.

    ::

        h = pool5(relu(conv3(vectors)));  h = pool5(relu(conv5(h)));  logits = W relu(V mean_t h)

    Inputs are word codes (b, t), padded with 0 at the end of a text. The padding does not change
    the outputs. The source concatenates the outputs of the second pool, which requires texts of
    one length; here their mean is taken, under which validation labels were far more probable than
    under their maximum. Dropout is applied before the last two layers.

    Settings
    --------
    n_words, embedding_dim:
        size of the table of embeddings.
    n_outputs:
        number of classes, or 1 for numbers.
    n_features:
        channels of both convolutions.
    hidden:
        units of the hidden layer.
    dropout:
        share of the units that a training step leaves out.

    Source: Rodrigues and Pereira 2018, for ratings of film reviews.

    >>> TextCNN(1000, 100, 1)(torch.tensor([[5, 7, 0], [3, 0, 0]])).shape
    torch.Size([2, 1])
    """

    def __init__(
        self,
        n_words: int,
        embedding_dim: int,
        n_outputs: int,
        *,
        n_features: int = 128,
        hidden: int = 32,
        dropout: float = 0.2,
    ) -> None:
        super().__init__(n_words, embedding_dim, hidden, dropout)
        require_size("n_features", n_features)
        self.first = nn.Conv1d(embedding_dim, n_features, 3, padding="same")
        self.second = nn.Conv1d(n_features, n_features, 5, padding="same")
        self.pool = nn.MaxPool1d(_POOL_SIZE, ceil_mode=True)
        self.dropout = nn.Dropout(dropout)
        self.hidden = nn.Linear(n_features, hidden)
        self.output = nn.Linear(hidden, n_outputs)

    def forward(self, code_bt: Tensor) -> Tensor:
        """Logits of the classes, or one number, shape (b, k)."""
        is_word_b1t = (code_bt != PADDING).unsqueeze(1)
        vectors_bdt = self.words(code_bt).transpose(1, 2)
        # Features of padding are set to zero, as a convolution sees them beyond the edge.
        first_bft = self.pool(torch.relu(self.first(vectors_bdt)) * is_word_b1t)
        is_word_b1t = self.pool(is_word_b1t.float())
        second_bft = self.pool(torch.relu(self.second(first_bft)) * is_word_b1t)
        n_parts_b1 = self.pool(is_word_b1t).sum(dim=2).clamp_min(1)
        mean_bf = self.dropout(second_bft.sum(dim=2) / n_parts_b1)
        hidden_bh = self.dropout(torch.relu(self.hidden(mean_bf)))
        logits_bk: Tensor = self.output(hidden_bh)
        return logits_bk


class Tagger(WordNetwork):
    """Word embeddings, a convolution over five words, a GRU along the sentence, a linear layer.

    Inputs are word codes (b, t), padded with 0 at the end of a sentence. A negative code is a word
    that is context only and gets no tag. The logits (n, k) are those of the n words with positive
    codes, sentence by sentence. The padding does not change them.

    Settings
    --------
    n_words, embedding_dim:
        size of the table of embeddings.
    n_classes:
        number of tags.
    n_features:
        channels of the convolution.
    hidden:
        units of the GRU.
    dropout:
        share of the features that a training step leaves out.
    bidirectional:
        whether a second GRU of the same size reads the sentence from its end.

    Source: Rodrigues and Pereira 2018, for named entities.

    >>> Tagger(1000, 100, 9)(torch.tensor([[5, -7, 0], [3, 4, 8]])).shape
    torch.Size([4, 9])
    """

    def __init__(
        self,
        n_words: int,
        embedding_dim: int,
        n_classes: int,
        *,
        n_features: int = 512,
        hidden: int = 50,
        dropout: float = 0.5,
        bidirectional: bool = False,
    ) -> None:
        super().__init__(n_words, embedding_dim, hidden, dropout)
        require_size("n_features", n_features)
        require_flag("bidirectional", bidirectional)
        self.convolution = nn.Conv1d(embedding_dim, n_features, 5, padding="same")
        self.dropout = nn.Dropout(dropout)
        self.gru = nn.GRU(n_features, hidden, batch_first=True, bidirectional=bidirectional)
        self.output = nn.Linear(hidden * (2 if bidirectional else 1), n_classes)

    def forward(self, code_bt: Tensor) -> Tensor:
        """Logits of the words with positive codes, shape (n, k)."""
        vectors_bdt = self.words(code_bt.abs()).transpose(1, 2)
        features_btf = self.dropout(torch.relu(self.convolution(vectors_bdt)).transpose(1, 2))
        states_bth = self._states(features_btf, code_bt != PADDING)
        logits_nk: Tensor = self.output(states_bth[code_bt > 0])
        return logits_nk

    def _states(self, features_btf: Tensor, is_word_bt: Tensor) -> Tensor:
        """The states of the GRU at every word, shape (b, t, h)."""
        if not self.gru.bidirectional:  # padding comes last and changes no word before it
            return self.gru(features_btf)[0]  # type: ignore[no-any-return]
        lengths = is_word_bt.sum(dim=1).clamp_min(1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(
            features_btf, lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = self.gru(packed)
        padded: Tensor = nn.utils.rnn.pad_packed_sequence(
            states, batch_first=True, total_length=features_btf.shape[1]
        )[0]
        return padded
