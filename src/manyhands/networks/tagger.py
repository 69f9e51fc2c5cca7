"""Convolution and a recurrent layer over the words of a sentence: a class for every word."""

import torch
from torch import Tensor, nn

from manyhands.networks.sizes import require_dropout, require_size
from manyhands.networks.word_table import PADDING


class Tagger(nn.Module):
    """Vectors of words, a convolution over their neighbours, a GRU along the sentence.

    Inputs are codes of words (b, t), 0 behind the end of a sentence. A negative code is a word to
    be read but not to be tagged. Logits come for the words with positive codes only, sentence by
    sentence: shape (number of such words, k). How long others of a batch are changes nothing.

    Rodrigues and Pereira 2018 find named entities with it: 512 features of five words, a GRU of
    50. With `both_ways` a second GRU reads from the end, 50 more.

    >>> Tagger(1000, 100, 9)(torch.tensor([[5, -7, 0], [3, 4, 8]])).shape
    torch.Size([4, 9])
    """

    def __init__(
        self,
        n_words: int,
        dimension: int,
        n_classes: int,
        *,
        n_features: int = 512,
        hidden: int = 50,
        dropout: float = 0.5,
        both_ways: bool = False,
    ) -> None:
        super().__init__()
        for name, size in (("n_words", n_words), ("dimension", dimension), ("hidden", hidden)):
            require_size(name, size)
        require_dropout(dropout)
        self.words = nn.Embedding(n_words, dimension, padding_idx=PADDING)
        self.neighbours = nn.Conv1d(dimension, n_features, 5, padding="same")
        self.dropout = nn.Dropout(dropout)
        self.along = nn.GRU(n_features, hidden, batch_first=True, bidirectional=both_ways)
        self.output = nn.Linear(hidden * (2 if both_ways else 1), n_classes)

    def forward(self, code_bt: Tensor) -> Tensor:
        """Logits of the words to be tagged, shape (n, k)."""
        vectors_bdt = self.words(code_bt.abs()).transpose(1, 2)
        near_btf = self.dropout(torch.relu(self.neighbours(vectors_bdt)).transpose(1, 2))
        logits_nk: Tensor = self.output(self._read(near_btf, code_bt != PADDING)[code_bt > 0])
        return logits_nk

    def _read(self, near_btf: Tensor, there_bt: Tensor) -> Tensor:
        """What the GRU remembers at every word, shape (b, t, h)."""
        if not self.along.bidirectional:  # what is behind the end is read last
            return self.along(near_btf)[0]  # type: ignore[no-any-return]
        lengths = there_bt.sum(dim=1).clamp_min(1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(
            near_btf, lengths, batch_first=True, enforce_sorted=False
        )
        read, _ = self.along(packed)
        padded: Tensor = nn.utils.rnn.pad_packed_sequence(
            read, batch_first=True, total_length=near_btf.shape[1]
        )[0]
        return padded
