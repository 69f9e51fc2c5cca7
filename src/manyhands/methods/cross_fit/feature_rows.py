"""Rows of numbers for the regressions of cross-fitting, from features of any kind."""

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

from manyhands.core.arrays import AnyArray, Floats, Offsets
from manyhands.core.settings import generator
from manyhands.engine.inputs import Inputs
from manyhands.methods.full_batch import feature_matrix

_DIRECTIONS = 300  # of the words of texts
_MAX_SEED = 2**31


def feature_rows(inputs: Inputs, seed: int) -> Floats:
    """A row of numbers for every item, shape (i, j).

    Numbers are taken as they are. The words of a text, weighted by TF-IDF, are reduced to their 300
    main directions by a truncated singular value decomposition. The items of sentences are tokens:
    a row stands for the word of a token and those before and after it, and has the word vectors of
    these three as well. The words of a transformer are its sub-words, and their vectors, of which
    300 directions remain, those that it begins with.
    """
    words = inputs.words
    if words is None:
        return feature_matrix(inputs)
    code_t, offsets, vectors_wd = words
    if inputs.sentence_starts is None:
        return _directions(TfidfTransformer().fit_transform(count_words(code_t, offsets)), seed)
    near_tw = neighbours(code_t, offsets)
    if vectors_wd.shape[1] > _DIRECTIONS:
        vectors_wd = _directions(vectors_wd, seed)
    vectors_tj = vectors_wd[near_tw].reshape(len(near_tw), -1).astype(np.float64)
    window_tj = _directions(_one_hot(near_tw), seed)
    return np.hstack([_unit_size(window_tj), _unit_size(vectors_tj)])


def count_words(code_t: AnyArray, offsets: Offsets) -> sparse.csr_matrix:
    """How often every text has every word.

    >>> count_words(np.array([2, 2, 1]), np.array([0, 3, 3])).toarray().tolist()
    [[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]
    """
    n_texts, n_words = len(offsets) - 1, int(code_t.max(initial=0)) + 1
    text_t = np.repeat(np.arange(n_texts), np.diff(offsets))
    ones = np.ones(len(code_t))
    return sparse.coo_matrix((ones, (text_t, code_t)), shape=(n_texts, n_words)).tocsr()


def neighbours(code_t: AnyArray, offsets: Offsets) -> AnyArray:
    """The words before, at and after every token of its sentence (t, 3); 0 where there is none.

    >>> neighbours(np.array([5, 6, 7]), np.array([0, 2, 3])).tolist()
    [[0, 5, 6], [5, 6, 0], [0, 7, 0]]
    """
    begins, ends = offsets[:-1][np.diff(offsets) > 0], offsets[1:][np.diff(offsets) > 0] - 1
    before, after = np.roll(code_t, 1), np.roll(code_t, -1)
    before[begins], after[ends] = 0, 0
    return np.stack([before, code_t, after], axis=1)


def _one_hot(near_tw: AnyArray) -> sparse.csr_matrix:
    """An indicator for every word at each of the places of a window."""
    n_tokens, n_places = near_tw.shape
    n_words = int(near_tw.max(initial=0)) + 1
    column = (near_tw + n_words * np.arange(n_places)).ravel()
    row = np.repeat(np.arange(n_tokens), n_places)
    shape = n_tokens, n_places * n_words
    return sparse.coo_matrix((np.ones(len(row)), (row, column)), shape=shape).tocsr()


def _directions(value_ij: sparse.csr_matrix | Floats, seed: int) -> Floats:
    """The coordinates of rows along their main directions."""
    n = min(_DIRECTIONS, min(value_ij.shape) - 1)
    if n < 1:
        return np.asarray(sparse.csr_matrix(value_ij).toarray(), dtype=np.float64)
    random_state = int(generator(seed, "directions").integers(_MAX_SEED))
    found = TruncatedSVD(n, random_state=random_state).fit_transform(value_ij)
    return np.asarray(found, dtype=np.float64)


def _unit_size(value_ij: Floats) -> Floats:
    """Rows whose mean squared length is 1."""
    size = float(np.sqrt(np.square(value_ij).sum(axis=1).mean())) if value_ij.size else 0.0
    return value_ij / size if size > 0 else value_ij
