"""Sentences as inputs of a linear-chain CRF, and the CRF as a network that predicts their tags."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from manyhands.annotations import Sentences
from manyhands.core.arrays import AnyArray, Offsets
from manyhands.engine.features import FeatureEncoder
from manyhands.engine.inputs import Inputs
from manyhands.engine.text import TokenInputs, as_sentences
from manyhands.methods.crf.features import TokenFeatures
from manyhands.methods.crf.inference import Transitions, expect

_PADDING, _CONTEXT, _TAGGED = 0, 1, 2  # marks of tokens: after the end, only read, to be tagged


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
