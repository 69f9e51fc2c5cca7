"""Where the search for topics begins."""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from manyhands.aggregation import Gaussian
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.core.seeds import generator
from manyhands.methods.topics.corpus import Corpus

_SPREAD = 100.0  # a gamma distribution's shape; its mean is 1
_LEVELS = 5  # that numbers are parted into


def class_tilted(corpus: Corpus, counts_dk: Floats, n_topics: int, seed: int) -> Floats:
    """Random topics (w, t), each with more of the words that go with one class.

    ::

        zeta[w,t] = g[w,t] p(k | w) / p(k),    g ~ Gamma(100, 1/100),    k = k(t)

    by the shares of labels that documents with the word got, smoothed by one word of all classes.
    Classes take turns, the commonest first. From topics that know nothing of classes the search
    mostly ends in topics that tell little of them, and in a lower bound.
    """
    said_d = counts_dk.sum(axis=1)
    share_dk = counts_dk / np.maximum(said_d, 1.0)[:, None]
    class_k = np.maximum(share_dk.sum(axis=0) / max(np.count_nonzero(said_d), 1), 1e-12)
    cells = (corpus.count, corpus.word, corpus.offsets)
    words = csr_matrix(cells, shape=(corpus.n_documents, corpus.n_words))
    words_wk = np.asarray(words.T @ share_dk) + class_k
    lift_wk = words_wk / words_wk.sum(axis=1, keepdims=True) / class_k
    turn_t = np.argsort(-class_k, kind="stable")[np.arange(n_topics) % len(class_k)]
    draws_wt = generator(seed, "topics").gamma(_SPREAD, size=(corpus.n_words, n_topics))
    return np.ascontiguousarray(np.maximum(draws_wt / _SPREAD * lift_wk[:, turn_t], 1e-12))


def number_tilted(corpus: Corpus, annotations: Annotations, n_topics: int, seed: int) -> Floats:
    """Random topics (w, t), each with more of the words that go with low, middle or high numbers.

    Levels hold equally many documents, by the consensus of `Gaussian`, and stand for the classes
    of `class_tilted`; documents nobody labelled are of none.
    """
    labelled_d = annotations.labels_per_item > 0
    value_d = Gaussian().fit(annotations).labels
    n_levels = min(_LEVELS, n_topics)
    edges = np.quantile(value_d[labelled_d], np.arange(1, n_levels) / n_levels)
    level_d = np.searchsorted(edges, value_d, side="right")
    counts_dk = np.eye(n_levels)[level_d] * labelled_d[:, None]
    return class_tilted(corpus, counts_dk, n_topics, seed)


def given(start_tw: Any, n_words: int, n_topics: int) -> Floats:
    """A start somebody gave, checked, in the shape (w, t)."""
    start = np.asarray(start_tw, dtype=np.float64)
    if start.shape != (n_topics, n_words):
        raise DataError(f"start_tw must have the shape {(n_topics, n_words)}; got {start.shape}")
    if not (np.isfinite(start).all() and (start > 0).all()):
        raise DataError("start_tw must be above 0, and finite")
    return np.ascontiguousarray(start.T)
