"""Convolution and pooling over the words of a text."""

import torch
from torch import Tensor, nn

from manyhands.networks.sizes import require_dropout, require_size
from manyhands.networks.word_table import PADDING

_POOLED = 5  # words, or parts of a text, that become one


class TextCNN(nn.Module):
    """Vectors of words, two convolutions with pooling, the mean of every feature, a layer.

    ::

        h = pool5(relu(conv3(vectors)));  h = pool5(relu(conv5(h)));  logits = W relu(V mean_t h)

    Inputs are codes of words (b, t), 0 behind the end of a text: how long others of a batch are
    changes nothing. Rodrigues and Pereira 2018 rate reviews of films with it; there the second
    pooling is followed by all its parts in a row, which takes texts of one length, here by their
    mean. Labels kept aside were far more probable under the mean than under the greatest of the
    parts. Dropout stands before the last two layers.

    >>> TextCNN(1000, 100, 1)(torch.tensor([[5, 7, 0], [3, 0, 0]])).shape
    torch.Size([2, 1])
    """

    def __init__(
        self,
        n_words: int,
        dimension: int,
        n_outputs: int,
        *,
        n_features: int = 128,
        hidden: int = 32,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        for name, size in (("n_words", n_words), ("dimension", dimension), ("hidden", hidden)):
            require_size(name, size)
        require_dropout(dropout)
        self.words = nn.Embedding(n_words, dimension, padding_idx=PADDING)
        self.first = nn.Conv1d(dimension, n_features, 3, padding="same")
        self.second = nn.Conv1d(n_features, n_features, 5, padding="same")
        self.pool = nn.MaxPool1d(_POOLED, ceil_mode=True)
        self.dropout = nn.Dropout(dropout)
        self.hidden = nn.Linear(n_features, hidden)
        self.output = nn.Linear(hidden, n_outputs)

    def forward(self, code_bt: Tensor) -> Tensor:
        """Logits of the classes, or one number, shape (b, k)."""
        there_b1t = (code_bt != PADDING).unsqueeze(1)
        vectors_bdt = self.words(code_bt).transpose(1, 2)
        # Behind the end all is zero, so that a convolution sees there what it sees at an edge.
        first_bft = self.pool(torch.relu(self.first(vectors_bdt)) * there_b1t)
        there_b1t = self.pool(there_b1t.float())
        second_bft = self.pool(torch.relu(self.second(first_bft)) * there_b1t)
        n_parts_b1 = self.pool(there_b1t).sum(dim=2).clamp_min(1)
        mean_bf = self.dropout(second_bft.sum(dim=2) / n_parts_b1)
        hidden_bh = self.dropout(torch.relu(self.hidden(mean_bf)))
        logits_bk: Tensor = self.output(hidden_bh)
        return logits_bk
