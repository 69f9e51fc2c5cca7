"""The topics that variational EM starts from."""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.core.settings import generator
from manyhands.methods.topics.corpus import Corpus

_SHAPE = 100.0  # of a gamma distribution with mean 1


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
