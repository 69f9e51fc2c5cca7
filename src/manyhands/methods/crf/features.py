"""Sparse binary features of tokens: the word, its prefixes and suffixes, its shape, neighbours."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from manyhands.core.arrays import Offsets
from manyhands.core.settings import require
from manyhands.methods.crf.inference import as_offsets

_MAX_AFFIX = 4
_REPEATS = re.compile(r"(.)\1+")


@dataclass(frozen=True)
class TokenFeatures:
    """The features that are frequent enough, by name; others are ignored.

    >>> features = TokenFeatures.fit(["Anna", "in", "Rome"], [0, 3], min_count=1)
    >>> features.transform(["Rome"], [0, 1]).shape == (1, len(features.names))
    True
    >>> [name in features.names for name in ("after:word=in", "prefix=Ro", "suffix=me")]
    [True, True, True]
    """

    names: tuple[str, ...]

    @classmethod
    def fit(cls, words: Sequence[str], offsets: Any, *, min_count: int = 2) -> "TokenFeatures":
        """The features of at least `min_count` tokens, sorted by name."""
        require(min_count >= 1, "min_count", ">= 1", min_count)
        names, _, feature_u = _extract(words, as_offsets(offsets, len(words)))
        count_j = np.bincount(feature_u, minlength=len(names))
        return cls(tuple(sorted(names[j] for j in np.flatnonzero(count_j >= min_count))))

    @cached_property
    def _code(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}

    def transform(self, words: Sequence[str], offsets: Any) -> "csr_matrix[np.float64]":
        """The features of tokens as a matrix of ones and zeros, shape (t, j)."""
        names, token_u, feature_u = _extract(words, as_offsets(offsets, len(words)))
        code_j = np.array([self._code.get(name, -1) for name in names], dtype=np.int64)
        known = code_j[feature_u] >= 0
        cells = (np.ones(int(known.sum())), (token_u[known], code_j[feature_u][known]))
        return csr_matrix(cells, shape=(len(words), len(self.names)))


def _extract(words: Sequence[str], offsets: Offsets) -> tuple[list[str], Offsets, Offsets]:
    """Names, token_u and feature_u: token `token_u[u]` has feature `names[feature_u[u]]`.

    Strings are built once per different word.
    """
    code: dict[str, int] = {}
    word_t = np.array([code.setdefault(word, len(code)) for word in words], dtype=np.int64)
    first = offsets[:-1][np.diff(offsets) > 0]
    later = np.setdiff1d(np.arange(len(words)), first)  # tokens after another one
    names: dict[str, int] = {}

    def spread(
        features_of: Callable[[str], list[str]], source: Offsets, target: Offsets
    ) -> tuple[Offsets, Offsets]:
        """The features of the words at `source`, for the tokens at `target`."""
        coded = [[names.setdefault(n, len(names)) for n in features_of(word)] for word in code]
        flat = np.array([j for each in coded for j in each], dtype=np.int64)
        size_w = np.array([len(each) for each in coded], dtype=np.int64)
        end_w = np.cumsum(size_w)
        size, end = size_w[word_t[source]], end_w[word_t[source]]
        shift = np.repeat(end - np.cumsum(size), size)
        return np.repeat(target, size), flat[np.arange(len(shift)) + shift]

    parts = [
        spread(_own_features, np.arange(len(words)), np.arange(len(words))),
        spread(partial(_neighbour_features, "before"), later - 1, later),
        spread(partial(_neighbour_features, "after"), later, later - 1),
        (first, np.full(len(first), names.setdefault("first", len(names)))),
    ]
    token_u, feature_u = (np.concatenate(each) for each in zip(*parts, strict=True))
    return list(names), token_u, feature_u


def _own_features(word: str) -> list[str]:
    sizes = range(1, min(len(word), _MAX_AFFIX) + 1)
    features = ["always", f"word={word.lower()}", f"shape={word_shape(word)}"]
    features += [f"prefix={word[:size]}" for size in sizes]
    features += [f"suffix={word[-size:]}" for size in sizes]
    flags = {
        "capitalised": word[:1].isupper(),
        "all caps": word.isupper(),
        "digit": any(each.isdigit() for each in word),
        "hyphen": "-" in word,
    }
    return features + [name for name, is_set in flags.items() if is_set]


def _neighbour_features(place: str, word: str) -> list[str]:
    return [f"{place}:word={word.lower()}", f"{place}:shape={word_shape(word)}"]


def word_shape(word: str) -> str:
    """Capitals as X, other letters as x, digits as 0; repetitions are written once.

    >>> word_shape("McDonald-1996"), word_shape("U.S.")
    ('XxXx-0', 'X.X.')
    """
    kinds = (
        "X" if c.isupper() else "x" if c.isalpha() else "0" if c.isdigit() else c for c in word
    )
    return _REPEATS.sub(r"\1", "".join(kinds))
