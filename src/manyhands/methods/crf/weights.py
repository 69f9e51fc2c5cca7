"""What a linear chain weighs: the features of tokens, and which tag follows which."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from manyhands.core.arrays import AnyArray, Bools, Floats, Offsets
from manyhands.core.errors import DataError


@dataclass(frozen=True)
class Links:
    """Scores of neighbouring tags (row: the earlier one), of first tags and of last tags."""

    transition_kk: Floats
    start_k: Floats
    end_k: Floats

    @classmethod
    def zeros(cls, n_tags: int) -> "Links":
        """Links that say nothing.

        >>> Links.zeros(2).n_tags
        2
        """
        return cls(np.zeros((n_tags, n_tags)), np.zeros(n_tags), np.zeros(n_tags))

    @property
    def n_tags(self) -> int:
        """How many tags there are."""
        return len(self.start_k)

    def restricted(self, transition_kk: Bools, start_k: Bools) -> "Links":
        """The same links where what is not allowed scores minus infinity."""
        return Links(
            np.where(transition_kk, self.transition_kk, -np.inf),
            np.where(start_k, self.start_k, -np.inf),
            self.end_k,
        )


@dataclass(frozen=True)
class ChainWeights:
    """A linear-chain CRF: how sequences of tags y of the tokens x score.

    ::

        score(y) = start[y_1] + sum_t x_t . feature[:, y_t] + sum_t transition[y_t, y_t+1]
                   + end[y_T]
        log p(y | x) = score(y) - log sum_y' exp score(y')
    """

    feature_jk: Floats
    links: Links

    @classmethod
    def zeros(cls, n_features: int, n_tags: int) -> "ChainWeights":
        """Weights under which all sequences are alike."""
        return cls(np.zeros((n_features, n_tags)), Links.zeros(n_tags))

    def token_scores(self, features: Any) -> Floats:
        """What the features of every token say for every tag, shape (t, k)."""
        features_tj = as_token_features(features)
        if features_tj.shape[1] != len(self.feature_jk):
            raise DataError(
                f"{features_tj.shape[1]} features per token where the weights are of "
                f"{len(self.feature_jk)}"
            )
        return np.ascontiguousarray(features_tj @ self.feature_jk)

    def flat(self) -> Floats:
        """All weights in one vector."""
        links = self.links
        parts = [self.feature_jk.ravel(), links.transition_kk.ravel(), links.start_k, links.end_k]
        return np.concatenate(parts)

    def like(self, vector: Floats) -> "ChainWeights":
        """Weights of this shape from one vector."""
        n_tags = self.links.n_tags
        ends = np.cumsum([self.feature_jk.size, n_tags * n_tags, n_tags])
        feature, transition, start, end = np.split(vector, ends)
        links = Links(transition.reshape(n_tags, n_tags), start, end)
        return ChainWeights(feature.reshape(self.feature_jk.shape), links)


def as_token_features(features: Any) -> "csr_matrix[np.float64]":
    """Features as a sparse matrix of finite numbers, a row per token."""
    try:
        features_tj = csr_matrix(features, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("features must be numbers, a row of equal length per token") from None
    if not np.isfinite(features_tj.data).all():
        raise DataError("features must be finite numbers; fill or drop those that are not")
    return features_tj


def as_offsets(offsets: Any, n_tokens: int) -> Offsets:
    """Where every sentence begins, and the end of the last; refused unless they cover all tokens.

    >>> as_offsets([0, 2, 3], 3).tolist()
    [0, 2, 3]
    """
    got: AnyArray = np.asarray(offsets)
    whole = got.ndim == 1 and len(got) > 0 and np.issubdtype(got.dtype, np.integer)
    if not whole or got[0] != 0 or got[-1] != n_tokens or (np.diff(got) < 0).any():
        raise DataError(
            f"offsets must be whole numbers that rise from 0 to the {n_tokens} tokens, one more "
            f"than there are sentences; got {_shown(got)}"
        )
    return np.ascontiguousarray(got, dtype=np.int64)


def _shown(got: AnyArray) -> str:
    return f"{got.ravel()[:3].tolist()} ... {got.ravel()[-1:].tolist()}, shape {got.shape}"
