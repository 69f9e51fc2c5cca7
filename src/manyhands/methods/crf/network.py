"""The CRF as a network that predicts the tags of sentences, and its inputs.

Tokens have sparse binary features: the word, its prefixes and suffixes, its shape, neighbours.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from manyhands.aggregation.kernels.linear_chain import Transitions, as_offsets, expect
from manyhands.annotations import Sentences
from manyhands.core.arrays import AnyArray, Offsets
from manyhands.core.settings import require
from manyhands.engine.features import FeatureEncoder
from manyhands.engine.inputs import Inputs
from manyhands.engine.text import TokenInputs, as_sentences

_MAX_AFFIX = 4
_REPEATS = re.compile(r"(.)\1+")
_PADDING, _CONTEXT, _TAGGED = 0, 1, 2  # marks of tokens: after the end, only read, to be tagged


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


class CrfInputs(Inputs):
    """Sentences whose tokens are the items, with a matrix (t, j) of sparse binary features.

    The network gets, for every token, a mark and then the numbers of its features, from 1 on.
    """

    def __init__(self, matrix: "csr_matrix[np.float64]", offsets: Offsets) -> None:
        self.matrix, self.offsets = matrix, offsets
        self.shape, self.device = (matrix.shape[1],), torch.device("cpu")
        width = int(np.diff(matrix.indptr).max(initial=0))
        is_used = np.arange(width) < np.diff(matrix.indptr)[:, None]
        self._features = np.zeros((matrix.shape[0], width), dtype=np.int64)
        self._features[is_used] = matrix.indices + 1
        self._tokens = TokenInputs(torch.arange(1, matrix.shape[0] + 1), offsets, torch.zeros(1, 1))

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def boundaries(self, items: AnyArray) -> AnyArray:
        """See `Inputs.boundaries`: between sentences."""
        return self._tokens.boundaries(items)

    def rows(self, index: Tensor) -> Tensor:
        """Marks and features of the tokens' sentences, shape (b, t, 1 + features of a token)."""
        token_bt = self._tokens.rows(index.cpu()).numpy()  # from 1 on; negative if not to be tagged
        mark_bt = np.where(token_bt > 0, _TAGGED, np.where(token_bt < 0, _CONTEXT, _PADDING))
        features_btj = self._features[np.maximum(np.abs(token_bt) - 1, 0)]
        features_btj[mark_bt == _PADDING] = 0
        return torch.from_numpy(np.concatenate([mark_bt[..., None], features_btj], axis=2))


@dataclass(frozen=True, eq=False)
class CrfEncoder(FeatureEncoder):
    """Encodes sentences by the features of tokens that were seen in training."""

    kind = "crf"
    features: TokenFeatures

    @classmethod
    def fit_transform(cls, features: Any) -> "tuple[CrfEncoder, Inputs]":
        """An encoder for sentences like these, and their inputs."""
        sentences = as_sentences(features)
        encoder = cls(TokenFeatures.fit(sentences.word.tolist(), sentences.offsets))
        return encoder, encoder._inputs(sentences)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The number of features."""
        return (len(self.features.names),)

    @property
    def default_network(self) -> str:
        """See `FeatureEncoder.default_network`; the only method for these inputs makes its own."""
        return "logistic"

    def transform(self, features: Any) -> Inputs:
        """See `FeatureEncoder.transform`."""
        return self._inputs(as_sentences(features))

    def header(self) -> dict[str, Any]:
        """See `FeatureEncoder.header`."""
        return {"features": list(self.features.names)}

    @classmethod
    def restore(cls, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> "CrfEncoder":
        """See `FeatureEncoder.restore`."""
        return cls(TokenFeatures(tuple(header["features"])))

    def _inputs(self, sentences: Sentences) -> CrfInputs:
        matrix = self.features.transform(sentences.word.tolist(), sentences.offsets)
        return CrfInputs(matrix, np.array(sentences.offsets))


class CrfNetwork(nn.Module):
    """Log-probabilities of the tags of tokens under a linear-chain CRF, by forward-backward.

    Nothing in it is learnt by gradient: the weights are set once.
    """

    feature: Tensor
    transition: Tensor
    start: Tensor
    end: Tensor

    def __init__(self, n_features: int, n_classes: int) -> None:
        super().__init__()
        self.settings = {"n_features": n_features, "n_classes": n_classes}
        self.register_buffer("feature", torch.zeros(n_features, n_classes).double())
        self.register_buffer("transition", torch.zeros(n_classes, n_classes).double())
        self.register_buffer("start", torch.zeros(n_classes).double())
        self.register_buffer("end", torch.zeros(n_classes).double())

    def forward(self, rows_btj: Tensor) -> Tensor:
        """Log-probabilities of the tokens to be tagged, shape (n, k)."""
        mark_bt, features_btj = rows_btj[..., 0], rows_btj[..., 1:]
        is_token_bt = mark_bt != _PADDING
        zero_1k = self.feature.new_zeros(1, self.feature.shape[1])
        score_tk = torch.cat([zero_1k, self.feature])[features_btj[is_token_bt]].sum(dim=1)
        lengths = is_token_bt.sum(dim=1).cpu().numpy()
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        transitions = Transitions(
            *(each.cpu().numpy() for each in (self.transition, self.start, self.end))
        )
        tag_tk = expect(score_tk.cpu().numpy(), offsets, transitions).marginal_tk
        log_tk = torch.from_numpy(np.log(np.maximum(tag_tk, np.finfo(np.float32).tiny))).float()
        return log_tk.to(rows_btj.device)[(mark_bt == _TAGGED)[is_token_bt]]
