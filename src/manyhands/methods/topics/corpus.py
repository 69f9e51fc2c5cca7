"""Documents as sparse counts of words, in the two orders that topic models walk them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.errors import DataError
from manyhands.core.kernels import even_blocks

_BLOCKS = 16


@dataclass(frozen=True)
class Corpus:
    """Cells (document, word, count > 0) sorted by document; document d has offsets[d:d + 2]."""

    offsets: Offsets
    word: Codes
    count: Floats
    n_words: int

    @property
    def n_documents(self) -> int:
        """How many documents there are, empty ones included."""
        return len(self.offsets) - 1

    @property
    def n_cells(self) -> int:
        """How many pairs of a document and one of its words."""
        return len(self.word)

    @cached_property
    def size_d(self) -> Floats:
        """How many words every document has, repetitions counted."""
        sums = np.concatenate(([0.0], np.cumsum(self.count)))  # whole numbers: exact
        return np.asarray(np.diff(sums[self.offsets]))

    @cached_property
    def word_order(self) -> Offsets:
        """The cells in the order of words, and of documents within a word."""
        return np.argsort(self.word, kind="stable")

    @cached_property
    def word_offsets(self) -> Offsets:
        """Where every word's cells begin in `word_order`."""
        per_word = np.bincount(self.word, minlength=self.n_words)
        return np.concatenate(([0], np.cumsum(per_word))).astype(np.int64)

    @cached_property
    def document_blocks(self) -> list[tuple[int, int]]:
        """Runs of documents of about equally many cells."""
        return even_blocks(self.offsets, _BLOCKS)

    @cached_property
    def word_blocks(self) -> list[tuple[int, int]]:
        """Runs of words of about equally many cells."""
        return even_blocks(self.word_offsets, _BLOCKS)


def as_corpus(counts: Any) -> Corpus:
    """A corpus from a matrix of counts, a row per document; sparse of any kind, or dense.

    >>> as_corpus([[0, 2], [0, 0], [1, 1]]).word.tolist()
    [1, 0, 1]
    """
    if not issparse(counts) and np.ndim(counts) != 2:
        raise DataError(f"counts must have the shape (documents, words); got {np.shape(counts)}")
    try:
        matrix = csr_matrix(counts, dtype=np.float64, copy=True)
    except (TypeError, ValueError):
        raise DataError("counts must be numbers, a row of equal length per document") from None
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    count = matrix.data
    wrong = ~((count > 0) & (count == np.floor(count)) & np.isfinite(count))
    if wrong.any():
        j = int(np.flatnonzero(wrong)[0])
        row = int(np.searchsorted(matrix.indptr, j, side="right")) - 1
        raise DataError(
            f"counts: row {row}, column {matrix.indices[j]} is {count[j]}; "
            "topic models take whole numbers, 0 or more"
        )
    return Corpus(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), count, matrix.shape[1]
    )
