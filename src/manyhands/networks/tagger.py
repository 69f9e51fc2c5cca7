"""A convolution and a recurrent layer over the words of a sentence: a class for every word."""

import torch
from torch import Tensor, nn

from manyhands.networks.sizes import require_dropout, require_size
from manyhands.networks.word_embeddings import PADDING


class Tagger(nn.Module):
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
        super().__init__()
        for name, size in (
            ("n_words", n_words),
            ("embedding_dim", embedding_dim),
            ("hidden", hidden),
        ):
            require_size(name, size)
        require_dropout(dropout)
        self.words = nn.Embedding(n_words, embedding_dim, padding_idx=PADDING)
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
