"""Texts and sentences as the sub-words of a tokenizer, padded to the longest of a batch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from manyhands.annotations import Sentences
from manyhands.annotations.grouping import offsets_from_lengths
from manyhands.core.arrays import AnyArray, Offsets
from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.engine.inputs import Inputs, first_of_runs
from manyhands.networks.transformer import ABSENT, ASKED, READ

_AT_ONCE = 1024  # texts that are tokenised together
_MAX_TOKENS = 1 << 16  # of a batch, with padding: an encoder holds thousands of numbers for each
_STAND_IN = "a"  # for a word of which a tokenizer leaves nothing, such as a zero-width space


@dataclass(frozen=True)
class Subwords:
    """Rows of sub-words: row r has `code[offsets[r]:offsets[r + 1]]`, and their segments.

    `first` are the places of the first sub-words of the words, in order, for sentences. `n_cut`
    texts were not read to their end, or sentences not in one row.
    """

    code: AnyArray
    segment: AnyArray
    offsets: Offsets
    first: AnyArray
    n_cut: int = 0

    @classmethod
    def of_texts(cls, tokenizer: Any, texts: Sequence[Any], longest: int) -> "Subwords":
        """Sub-words of texts, or of pairs of texts, of which at most `longest` are read."""
        least = tokenizer.num_special_tokens_to_add(True) + 2
        require(longest >= least, "max_tokens", f">= {least} for this tokenizer", longest)
        tokenizer.enable_truncation(longest, strategy="longest_first")
        codes, segments, n_cut = [], [], 0
        for found in _encoded(tokenizer, texts):
            codes.append(np.array(found.ids, dtype=np.int32))
            segments.append(np.array(found.type_ids, dtype=np.int32))
            n_cut += bool(found.overflowing)
        tokenizer.no_truncation()
        return cls._joined(codes, segments, [], n_cut)

    @classmethod
    def of_sentences(cls, tokenizer: Any, sentences: Sentences, longest: int) -> "Subwords":
        """Sub-words of sentences; one that is too long becomes several rows, cut between words."""
        words = [str(word) for word in sentences.word.tolist()]
        edges = sentences.offsets.tolist()
        listed = [words[begin:end] for begin, end in pairwise(edges)]
        room = longest - tokenizer.num_special_tokens_to_add(False)
        require(room >= 1, "max_tokens", "above the number of special tokens", longest)
        rows: list[list[str]] = []
        n_cut = 0
        for own, n_subwords in zip(listed, _word_lengths(tokenizer, listed), strict=True):
            rows += _windows(own, n_subwords, room)
            n_cut += int(n_subwords.sum()) > room
        tokenizer.enable_truncation(longest)
        codes, segments, first = [], [], []
        begin = 0
        for row, found in zip(rows, _encoded(tokenizer, rows), strict=True):
            codes.append(np.array(found.ids, dtype=np.int32))
            segments.append(np.array(found.type_ids, dtype=np.int32))
            first += [begin + place for place in _first_places(found.word_ids, len(row))]
            begin += len(found.ids)
        tokenizer.no_truncation()
        return cls._joined(codes, segments, first, n_cut)

    @classmethod
    def _joined(
        cls, codes: list[AnyArray], segments: list[AnyArray], first: list[int], n_cut: int
    ) -> "Subwords":
        offsets = offsets_from_lengths(np.array([len(each) for each in codes], dtype=np.int64))
        none = np.zeros(0, dtype=np.int32)
        code, segment = (np.concatenate([none, *each]) for each in (codes, segments))
        return cls(code, segment, offsets, np.array(first, dtype=np.int64), n_cut)


def _encoded(tokenizer: Any, rows: Sequence[Any]) -> Iterator[Any]:
    """The rows as the tokenizer encodes them; a list is one of words."""
    words = bool(len(rows)) and isinstance(rows[0], list)
    for begin in range(0, len(rows), _AT_ONCE):
        some = [_clean(row) for row in rows[begin : begin + _AT_ONCE]]
        yield from tokenizer.encode_batch(some, is_pretokenized=words)


def _clean(text: Any) -> Any:
    """A text, a pair or words without halves of characters, which no tokenizer takes."""
    if isinstance(text, str):
        return text.encode("utf-8", "replace").decode("utf-8")
    return type(text)(map(_clean, text))


def _word_lengths(tokenizer: Any, sentences: list[list[str]]) -> Iterator[AnyArray]:
    """The number of sub-words of every word; words of which nothing is left are replaced."""
    for own, found in zip(sentences, _encoded(tokenizer, sentences), strict=True):
        places = [place for place in found.word_ids if place is not None]
        count = np.bincount(np.array(places, dtype=np.int64), minlength=len(own))
        for place in np.flatnonzero(count == 0):
            own[place] = _STAND_IN
        yield np.maximum(count, 1)


def _windows(words: list[str], n_subwords: AnyArray, room: int) -> Iterator[list[str]]:
    """The words in as few runs as fit; a single word that does not fit is cut by the tokenizer."""
    begin, total = 0, 0
    for place, size in enumerate(n_subwords.tolist()):
        if place > begin and total + size > room:
            yield words[begin:place]
            begin, total = place, 0
        total += size
    if begin < len(words):
        yield words[begin:]


def _first_places(word_of: list[int | None], n_words: int) -> list[int]:
    """Where the first sub-word of every word is."""
    place_of: dict[int, int] = {}
    for place, word in enumerate(word_of):
        if word is not None:
            place_of.setdefault(word, place)
    if len(place_of) != n_words:
        raise DataError("the tokenizer leaves nothing of some words; it cannot be used for tagging")
    return [place_of[word] for word in range(n_words)]


class SubwordInputs(Inputs):
    """Texts, each an item, as sub-words (b, t, 3): code, segment and role (`TransformerBody`).

    A noise model gets the mean of the `vectors` (w, d) of the sub-words. `shape` is the shape of
    the table of vectors, and `padding` the code of padding.
    """

    most_tokens = _MAX_TOKENS

    def __init__(self, subwords: Subwords, vectors: Tensor, padding: int) -> None:
        self.subwords, self.vectors, self.padding = subwords, vectors, padding
        self.shape, self.device = tuple(vectors.shape), vectors.device
        both = np.stack([subwords.code, subwords.segment], axis=1)
        self.table = torch.from_numpy(both).to(self.device)

    def __len__(self) -> int:
        return len(self.subwords.offsets) - 1

    @property
    def tokens_per_item(self) -> float:
        """See `Inputs.tokens_per_item`."""
        return len(self.subwords.code) / max(len(self), 1)

    @property
    def noise_feature_shape(self) -> tuple[int, ...]:
        """See `Inputs.noise_feature_shape`."""
        return tuple(self.vectors.shape[1:])

    def to(self, device: torch.device) -> "SubwordInputs":
        """See `Inputs.to`."""
        return type(self)(self.subwords, self.vectors.to(device), self.padding)

    def arrays(self) -> list[AnyArray]:
        """See `Inputs.arrays`."""
        own = self.subwords
        return [own.code, own.segment, own.offsets, own.first]

    @property
    def words(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        """See `Inputs.words`: the sub-words of the texts."""
        own = self.subwords
        return own.code, own.offsets, self.vectors.cpu().numpy()

    def lengths(self, items: AnyArray) -> AnyArray:
        """See `Inputs.lengths`."""
        return np.asarray(np.diff(self.subwords.offsets)[items])

    def rows(self, index: Tensor) -> Tensor:
        """See `Inputs.rows`."""
        return self._padded(index.cpu().numpy())

    def noise_features(self, rows: Tensor) -> Tensor:
        """The mean vector of a text's sub-words, shape (b, d)."""
        there_bt1 = (rows[..., 2] != ABSENT).unsqueeze(2)
        total_bd = (self.vectors[rows[..., 0]] * there_bt1).sum(dim=1)
        return total_bd / there_bt1.sum(dim=1).clamp_min(1)

    def _padded(self, row_b: AnyArray) -> Tensor:
        """The sub-words of some rows; one without any gets a padding that is read."""
        begin_b = self.subwords.offsets[row_b]
        length_b = np.diff(self.subwords.offsets)[row_b]
        place_t = np.arange(max(int(length_b.max(initial=0)), 1))
        there_bt = torch.from_numpy(place_t < length_b[:, None]).to(self.device)
        padded_bts = torch.zeros(*there_bt.shape, 3, dtype=torch.int64, device=self.device)
        padded_bts[..., 0] = self.padding
        source_bt = torch.from_numpy(begin_b[:, None] + place_t).to(self.device)
        padded_bts[..., :2][there_bt] = self.table[source_bt[there_bt]].long()
        padded_bts[..., 2] = torch.where(there_bt, READ, ABSENT)
        empty_b = torch.from_numpy(length_b == 0).to(self.device)
        padded_bts[empty_b, 0, 2] = READ
        return padded_bts


class SubwordTokenInputs(SubwordInputs):
    """Sentences whose words are the items; a batch holds whole rows of sub-words.

    The output of a word is that of its first sub-word. A noise model gets its vector.
    """

    @cached_property
    def row_of(self) -> AnyArray:
        """The row of every word."""
        found = np.searchsorted(self.subwords.offsets, self.subwords.first, side="right") - 1
        return np.asarray(found)

    @property
    def sentence_starts(self) -> AnyArray:
        """See `Inputs.sentence_starts`; a part of a sentence that is too long counts as one."""
        return first_of_runs(self.row_of)

    @property
    def words(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        """See `Inputs.words`: the first sub-word of every word."""
        begins = np.flatnonzero(self.sentence_starts)
        offsets = np.append(begins, len(self)).astype(np.int64)
        return self.subwords.code[self.subwords.first], offsets, self.vectors.cpu().numpy()

    def __len__(self) -> int:
        return len(self.subwords.first)

    def boundaries(self, items: AnyArray) -> AnyArray:
        """See `Inputs.boundaries`: a batch ends between rows."""
        changes = np.flatnonzero(np.diff(self.row_of[items])) + 1
        return np.concatenate([[0], changes, [len(items)]]) if len(items) else np.zeros(1, int)

    def lengths(self, items: AnyArray) -> AnyArray:
        """The lengths of the rows of these words."""
        return np.asarray(np.diff(self.subwords.offsets)[self.row_of[items]])

    def rows(self, index: Tensor) -> Tensor:
        """See `Inputs.rows`; words come row by row, in order, and others are context only."""
        word = index.cpu().numpy()
        begins = self.boundaries(word)[:-1]
        row_b = self.row_of[word[begins]] if len(word) else word
        padded_bts = self._padded(row_b)
        place = np.repeat(np.arange(len(begins)), np.diff([*begins, len(word)]))
        column = self.subwords.first[word] - self.subwords.offsets[self.row_of[word]]
        padded_bts[torch.from_numpy(place), torch.from_numpy(column), 2] = ASKED
        return padded_bts

    def noise_features(self, rows: Tensor) -> Tensor:
        """The vectors of the first sub-words of the words asked for, shape (n, d)."""
        return self.vectors[rows[..., 0][rows[..., 2] == ASKED]]
