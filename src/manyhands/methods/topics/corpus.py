"""Documents as sparse counts of words, by document and by word, and their first topics."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_matrix, issparse

from manyhands.annotations import Annotations, Kind
from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.errors import DataError
from manyhands.core.kernels import even_blocks, run_blocks
from manyhands.core.settings import generator

R = TypeVar("R")
_MAX_BLOCKS = 16
_SHAPE = 100.0  # of a gamma distribution with mean 1


@dataclass(frozen=True)
class Corpus:
    """Cells (document, word, count > 0) sorted by document; document d has offsets[d:d + 2]."""

    offsets: Offsets
    word: Codes
    count: Floats
    n_words: int

    @property
    def n_documents(self) -> int:
        """Number of documents, with empty ones."""
        return len(self.offsets) - 1

    @property
    def n_cells(self) -> int:
        """Number of pairs of a document and one of its words."""
        return len(self.word)

    @cached_property
    def size_d(self) -> Floats:
        """Number of words of every document, counting repetitions."""
        sums = np.concatenate(([0.0], np.cumsum(self.count)))  # exact: counts are whole numbers
        return np.asarray(np.diff(sums[self.offsets]))

    @cached_property
    def count_wj(self) -> "csr_matrix[np.float64]":
        """The counts in the rows of their words, one column per cell."""
        cells = (self.count, (self.word, np.arange(self.n_cells)))
        return csr_matrix(cells, shape=(self.n_words, self.n_cells))

    @cached_property
    def document_blocks(self) -> list[tuple[int, int]]:
        """Ranges of documents with about equally many cells."""
        return even_blocks(self.offsets, _MAX_BLOCKS)

    def run(self, block_kernel: Callable[..., R], *arguments: Any) -> list[R]:
        """Run a compiled loop over ranges of documents; what it returns, in their order."""

        def work(documents: tuple[int, int]) -> R:
            return block_kernel(*documents, *arguments)

        return run_blocks(work, self.document_blocks)


def as_corpus(counts: Any) -> Corpus:
    """A corpus from a sparse or dense matrix of counts, with one row per document.

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


def check_documents(
    counts: Any, annotations: Annotations, kind: Kind
) -> tuple[Corpus, Annotations]:
    """Counts and labels of the same documents; raise an error if they do not match."""
    corpus, ann = as_corpus(counts), annotations.as_kind(kind)
    if corpus.n_documents != ann.n_items:
        raise DataError(f"{corpus.n_documents} rows of counts for {ann.n_items} items")
    if ann.n_annotations == 0:
        raise DataError("there is not a single label; nothing can be learnt")
    if corpus.n_words == 0:
        raise DataError("counts have no columns; there is not a single word to learn from")
    return corpus, ann


def draw_topics(corpus: Corpus, counts_dk: Floats, n_topics: int, seed: int) -> Floats:
    """Draw random topics (w, t), each with more of the words that go with one class.

    ::

        zeta[w,t] = g[w,t] p(k | w) / p(k),    g ~ Gamma(100, 1/100),    k = k(t)

    where p(k | w) is the mean label distribution of the documents with the word, smoothed by one
    word of all classes. `counts_dk` are the labels of every document. The topics take the classes
    in turn, the most frequent class first. If topics start independently of the classes, EM mostly
    ends in topics that say little about them, and in a lower bound.
    """
    n_labels_d = counts_dk.sum(axis=1)
    share_dk = counts_dk / np.maximum(n_labels_d, 1.0)[:, None]
    class_k = np.maximum(share_dk.sum(axis=0) / max(np.count_nonzero(n_labels_d), 1), 1e-12)
    cells = (corpus.count, corpus.word, corpus.offsets)
    words = csr_matrix(cells, shape=(corpus.n_documents, corpus.n_words))
    words_wk = np.asarray(words.T @ share_dk) + class_k
    lift_wk = words_wk / words_wk.sum(axis=1, keepdims=True) / class_k
    class_t = np.argsort(-class_k, kind="stable")[np.arange(n_topics) % len(class_k)]
    draws_wt = generator(seed, "topics").gamma(_SHAPE, size=(corpus.n_words, n_topics))
    return np.ascontiguousarray(np.maximum(draws_wt / _SHAPE * lift_wk[:, class_t], 1e-12))


def check_topics(start_tw: Any, n_words: int, n_topics: int) -> Floats:
    """Topics that the caller gave, checked, in the shape (w, t)."""
    start = np.asarray(start_tw, dtype=np.float64)
    if start.shape != (n_topics, n_words):
        raise DataError(f"start_tw must have the shape {(n_topics, n_words)}; got {start.shape}")
    if not (np.isfinite(start).all() and (start > 0).all()):
        raise DataError("start_tw must be above 0, and finite")
    return np.ascontiguousarray(start.T)
