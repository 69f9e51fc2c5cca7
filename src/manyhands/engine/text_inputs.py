"""Texts and sentences as codes of words, padded to the longest of a batch."""

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.core.arrays import AnyArray, Offsets
from manyhands.engine.inputs import Inputs
from manyhands.networks.word_embeddings import PADDING


class TextInputs(Inputs):
    """Texts, each an item: text i has the codes `code[offsets[i]:offsets[i + 1]]`.

    `vectors` (w, d) are those the words start from, and keep where they are `fixed`; noise models
    may look at them: of a text they see the mean. `shape` is that of the table, which is what a
    network is made for.
    """

    default_network = "text-cnn"

    def __init__(
        self, code: Tensor, offsets: Offsets, vectors: Tensor, *, fixed: bool = False
    ) -> None:
        self.code, self.offsets, self.vectors, self.fixed = code, offsets, vectors, fixed
        self.shape, self.device = tuple(vectors.shape), code.device

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def words_per_item(self) -> float:
        """See `Inputs.words_per_item`."""
        return len(self.code) / max(len(self), 1)

    @property
    def seen_shape(self) -> tuple[int, ...]:
        """See `Inputs.seen_shape`."""
        return tuple(self.vectors.shape[1:])

    def to(self, device: torch.device) -> "TextInputs":
        """See `Inputs.to`."""
        vectors = self.vectors.to(device)
        return type(self)(self.code.to(device), self.offsets, vectors, fixed=self.fixed)

    @torch.no_grad()
    def prepare(self, network: nn.Module) -> None:
        """See `Inputs.prepare`: the vectors go into an embedding that is called `words`."""
        words = getattr(network, "words", None)
        if isinstance(words, nn.Embedding) and tuple(words.weight.shape) == self.shape:
            words.weight.copy_(self.vectors)
            words.weight.requires_grad_(not self.fixed)

    def lengths(self, items: AnyArray) -> AnyArray:
        """See `Inputs.lengths`."""
        return np.asarray(np.diff(self.offsets)[items])

    def rows(self, index: Tensor) -> Tensor:
        """Codes of words, shape (b, t); behind the end of a text they are 0."""
        return self._padded(index.cpu().numpy())

    def seen(self, rows: Tensor) -> Tensor:
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

    Of a token, noise models see the vector of its word.
    """

    default_network = "tagger"

    def __init__(
        self, code: Tensor, offsets: Offsets, vectors: Tensor, *, fixed: bool = False
    ) -> None:
        super().__init__(code, offsets, vectors, fixed=fixed)
        self.sentence_of = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))

    def __len__(self) -> int:
        return len(self.sentence_of)

    def ends(self, items: AnyArray) -> AnyArray:
        """See `Inputs.ends`: between sentences."""
        changes = np.flatnonzero(np.diff(self.sentence_of[items])) + 1
        return np.concatenate([[0], changes, [len(items)]]) if len(items) else np.zeros(1, int)

    def lengths(self, items: AnyArray) -> AnyArray:
        """How long the sentences are in which these tokens stand."""
        return np.asarray(np.diff(self.offsets)[self.sentence_of[items]])

    def rows(self, index: Tensor) -> Tensor:
        """Codes of the words of the tokens' sentences (b, t); negative for words not asked for.

        Tokens must come sentence by sentence, in order.
        """
        token = index.cpu().numpy()
        begins = self.ends(token)[:-1]
        sentence_b = self.sentence_of[token[begins]] if len(token) else token
        code_bt = self._padded(sentence_b)
        row = np.repeat(np.arange(len(begins)), np.diff([*begins, len(token)]))
        wanted_bt = torch.zeros_like(code_bt, dtype=torch.bool)
        column = token - self.offsets[self.sentence_of[token]]
        wanted_bt[torch.from_numpy(row), torch.from_numpy(column)] = True
        return torch.where(wanted_bt, code_bt, -code_bt)

    def seen(self, rows: Tensor) -> Tensor:
        """The vectors of the words asked for, shape (n, d)."""
        return self.vectors[rows[rows > 0]]
