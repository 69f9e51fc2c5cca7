"""Sparse binary features of the words of a sentence: the word, its parts, its shape, neighbours."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from manyhands.core.arrays import Offsets
from manyhands.core.settings import require
from manyhands.methods.crf.weights import as_offsets

_LONGEST_PART = 4
_RUNS = re.compile(r"(.)\1+")

Features = Callable[[str], list[str]]


@dataclass(frozen=True)
class WordFeatures:
    """The features that were seen often enough, by name; others are ignored.

    >>> seen = WordFeatures.learn(["Anna", "in", "Rome"], [0, 3], min_count=1)
    >>> seen.matrix(["Rome"], [0, 1]).shape == (1, len(seen.names))
    True
    >>> "after:word=in" in seen.names, "prefix=Ro" in seen.names, "suffix=me" in seen.names
    (True, True, True)
    """

    names: tuple[str, ...]

    @classmethod
    def learn(cls, words: Sequence[str], offsets: Any, *, min_count: int = 2) -> "WordFeatures":
        """The features that at least `min_count` tokens have, in the order of their names."""
        require(min_count >= 1, "min_count", ">= 1", min_count)
        found = _find(words, as_offsets(offsets, len(words)))
        count_j = np.bincount(found.feature_u, minlength=len(found.names))
        kept = np.flatnonzero(count_j >= min_count)
        return cls(tuple(sorted(found.names[j] for j in kept)))

    @cached_property
    def _code(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}

    def matrix(self, words: Sequence[str], offsets: Any) -> "csr_matrix[np.float64]":
        """A row per token with ones where it has the feature, shape (t, j)."""
        found = _find(words, as_offsets(offsets, len(words)))
        own_j = np.array([self._code.get(name, -1) for name in found.names], dtype=np.int64)
        feature_u = own_j[found.feature_u]
        known = feature_u >= 0
        cells = (np.ones(int(known.sum())), (found.token_u[known], feature_u[known]))
        return csr_matrix(cells, shape=(len(words), len(self.names)))


@dataclass(frozen=True)
class _Found:
    """Feature `names[feature_u[u]]` holds for token `token_u[u]`."""

    names: list[str]
    token_u: Offsets
    feature_u: Offsets


def _find(words: Sequence[str], offsets: Offsets) -> _Found:
    """All features of all tokens; strings are made once per different word."""
    code: dict[str, int] = {}
    kind_t = np.array([code.setdefault(word, len(code)) for word in words], dtype=np.int64)
    first = offsets[:-1][np.diff(offsets) > 0]
    later = np.setdiff1d(np.arange(len(words)), first)  # tokens that have one before them
    names: dict[str, int] = {}

    def spread(features_of: Features, source: Offsets, target: Offsets) -> tuple[Offsets, Offsets]:
        """Features of the words at `source`, given to the tokens at `target`."""
        coded = [[names.setdefault(n, len(names)) for n in features_of(word)] for word in code]
        flat = np.array([j for each in coded for j in each], dtype=np.int64)
        size_w = np.array([len(each) for each in coded], dtype=np.int64)
        end_w = np.cumsum(size_w)
        size, end = size_w[kind_t[source]], end_w[kind_t[source]]
        shift = np.repeat(end - np.cumsum(size), size)
        return np.repeat(target, size), flat[np.arange(len(shift)) + shift]

    parts = [
        spread(_own_features, np.arange(len(words)), np.arange(len(words))),
        spread(_before_features, later - 1, later),
        spread(_after_features, later, later - 1),
        (first, np.full(len(first), names.setdefault("first", len(names)))),
    ]
    token_u, feature_u = (np.concatenate(each) for each in zip(*parts, strict=True))
    return _Found(list(names), token_u, feature_u)


def _own_features(word: str) -> list[str]:
    sizes = range(1, min(len(word), _LONGEST_PART) + 1)
    shape = word_shape(word)
    found = ["always", f"word={word.lower()}", f"shape={shape}"]
    found += [f"prefix={word[:size]}" for size in sizes]
    found += [f"suffix={word[-size:]}" for size in sizes]
    marks = {
        "capitalised": word[:1].isupper(),
        "all caps": word.isupper(),
        "digit": any(each.isdigit() for each in word),
        "hyphen": "-" in word,
    }
    return found + [name for name, holds in marks.items() if holds]


def _before_features(word: str) -> list[str]:
    return [f"before:word={word.lower()}", f"before:shape={word_shape(word)}"]


def _after_features(word: str) -> list[str]:
    return [f"after:word={word.lower()}", f"after:shape={word_shape(word)}"]


def word_shape(word: str) -> str:
    """Capitals as X, other letters as x, digits as 0; a run of one kind is written once.

    >>> word_shape("McDonald-1996"), word_shape("U.S.")
    ('XxXx-0', 'X.X.')
    """
    kinds = (
        "X" if c.isupper() else "x" if c.isalpha() else "0" if c.isdigit() else c for c in word
    )
    return _RUNS.sub(r"\1", "".join(kinds))
