"""Convolution and pooling over the words of a text."""

import torch
from torch import Tensor, nn

from manyhands.networks.sizes import require_dropout, require_size
from manyhands.networks.word_embeddings import PADDING

_POOL_SIZE = 5  # words, or outputs of the first pool, that are pooled into one


class TextCNN(nn.Module):
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
        super().__init__()
        for name, size in (
            ("n_words", n_words),
            ("embedding_dim", embedding_dim),
            ("hidden", hidden),
        ):
            require_size(name, size)
        require_dropout(dropout)
        self.words = nn.Embedding(n_words, embedding_dim, padding_idx=PADDING)
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
