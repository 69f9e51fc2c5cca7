"""The weights of a linear-chain CRF: of the features of tokens, and of neighbouring tags."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from manyhands.core.arrays import AnyArray, Floats, Offsets
from manyhands.core.errors import DataError
from manyhands.methods.crf.kernels import Transitions


@dataclass(frozen=True)
class CrfWeights:
    """A linear-chain CRF, by the scores of tag sequences y of the tokens x.

    ::

        score(y) = start[y_1] + sum_t x_t . feature[:, y_t] + sum_t transition[y_t, y_t+1]
                   + end[y_T]
        log p(y | x) = score(y) - log sum_y' exp score(y')
    """

    feature_jk: Floats
    transitions: Transitions

    @classmethod
    def zeros(cls, n_features: int, n_tags: int) -> "CrfWeights":
        """Weights under which all sequences are equally probable."""
        return cls(np.zeros((n_features, n_tags)), Transitions.zeros(n_tags))

    def token_scores(self, features: Any) -> Floats:
        """The scores of every tag by the features of every token, shape (t, k)."""
        features_tj = as_token_features(features)
        if features_tj.shape[1] != len(self.feature_jk):
            raise DataError(
                f"{features_tj.shape[1]} features per token where the weights are of "
                f"{len(self.feature_jk)}"
            )
        return np.ascontiguousarray(features_tj @ self.feature_jk)

    def flat(self) -> Floats:
        """All weights in one vector."""
        return np.concatenate([each.ravel() for each in (self.feature_jk, *self.transitions)])

    def like(self, vector: Floats) -> "CrfWeights":
        """Weights of this shape from one vector."""
        n_tags = self.transitions.n_tags
        ends = np.cumsum([self.feature_jk.size, n_tags * n_tags, n_tags])
        feature, transition, start, end = np.split(vector, ends)
        transitions = Transitions(transition.reshape(n_tags, n_tags), start, end)
        return CrfWeights(feature.reshape(self.feature_jk.shape), transitions)


def as_token_features(features: Any) -> "csr_matrix[np.float64]":
    """Features as a sparse matrix of finite numbers, one row per token."""
    try:
        features_tj = csr_matrix(features, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("features must be numbers, a row of equal length per token") from None
    if not np.isfinite(features_tj.data).all():
        raise DataError("features must be finite numbers; fill or drop those that are not")
    return features_tj


def as_offsets(offsets: Any, n_tokens: int) -> Offsets:
    """Where every sentence begins, and the end of the last one, checked to cover all tokens.

    >>> as_offsets([0, 2, 3], 3).tolist()
    [0, 2, 3]
    """
    got: AnyArray = np.asarray(offsets)
    is_vector = got.ndim == 1 and len(got) > 0 and np.issubdtype(got.dtype, np.integer)
    if not is_vector or got[0] != 0 or got[-1] != n_tokens or (np.diff(got) < 0).any():
        shown = f"{got.ravel()[:3].tolist()} ... {got.ravel()[-1:].tolist()}, shape {got.shape}"
        raise DataError(
            f"offsets must be whole numbers that rise from 0 to the {n_tokens} tokens, one more "
            f"than there are sentences; got {shown}"
        )
    return np.ascontiguousarray(got, dtype=np.int64)
