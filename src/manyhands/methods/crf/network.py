"""A linear chain as a network: from the features of a sentence's words to their tags."""

from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from manyhands.core.arrays import AnyArray, Offsets
from manyhands.engine.inputs import Inputs
from manyhands.engine.text_inputs import TokenInputs
from manyhands.methods.crf.forward_backward import expect
from manyhands.methods.crf.weights import Links
from manyhands.networks import LogisticRegression

_ABSENT, _READ, _TAGGED = 0, 1, 2  # marks of places: behind the end, to be read, to be tagged


class CrfInputs(Inputs):
    """Sentences whose tokens are the items, each with sparse binary features, a row (t, j) each.

    Of a token the network gets a mark, then the places of its features, counted from 1.
    """

    def __init__(self, matrix: "csr_matrix[np.float64]", offsets: Offsets) -> None:
        self.matrix, self.offsets = matrix, offsets
        self.shape, self.device = (matrix.shape[1],), torch.device("cpu")
        width = int(np.diff(matrix.indptr).max(initial=0))
        place = np.arange(width) < np.diff(matrix.indptr)[:, None]
        self._features = np.zeros((matrix.shape[0], width), dtype=np.int64)
        self._features[place] = matrix.indices + 1
        self._tokens = TokenInputs(torch.arange(1, matrix.shape[0] + 1), offsets, torch.zeros(1, 1))

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def boundaries(self, items: AnyArray) -> AnyArray:
        """See `Inputs.ends`: between sentences."""
        return self._tokens.boundaries(items)

    def rows(self, index: Tensor) -> Tensor:
        """Marks and features of the tokens' sentences, shape (b, t, 1 + features of a token)."""
        token_bt = self._tokens.rows(index.cpu()).numpy()  # from 1 on; negative if not asked for
        mark_bt = np.where(token_bt > 0, _TAGGED, np.where(token_bt < 0, _READ, _ABSENT))
        features_btj = self._features[np.maximum(np.abs(token_bt) - 1, 0)]
        features_btj[mark_bt == _ABSENT] = 0
        return torch.from_numpy(np.concatenate([mark_bt[..., None], features_btj], axis=2))


class CrfNetwork(nn.Module):
    """Log-probabilities of the tags of tokens under a linear chain, by forward and backward sums.

    Nothing in it is learnt by gradient: the weights are put in once. It is made of the logistic
    regression for the same features, which is where it takes their number from.
    """

    feature: Tensor
    transition: Tensor
    start: Tensor
    end: Tensor

    def __init__(self, network: LogisticRegression, n_annotators: int, n_classes: int) -> None:
        super().__init__()
        self.network_class = type(network).__name__
        self.register_buffer("feature", torch.zeros(network.n_features, n_classes).double())
        self.register_buffer("transition", torch.zeros(n_classes, n_classes).double())
        self.register_buffer("start", torch.zeros(n_classes).double())
        self.register_buffer("end", torch.zeros(n_classes).double())

    @property
    def settings(self) -> dict[str, Any]:
        """What makes the same of the network asked for, but for the weights."""
        return {}

    def forward(self, rows_btj: Tensor) -> Tensor:
        """Log-probabilities of the tokens to be tagged, shape (n, k)."""
        mark_bt, features_btj = rows_btj[..., 0], rows_btj[..., 1:]
        there_bt = mark_bt != _ABSENT
        none_1k = self.feature.new_zeros(1, self.feature.shape[1])
        score_tk = torch.cat([none_1k, self.feature])[features_btj[there_bt]].sum(dim=1)
        lengths = there_bt.sum(dim=1).cpu().numpy()
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        links = Links(*(each.cpu().numpy() for each in (self.transition, self.start, self.end)))
        found = expect(score_tk.cpu().numpy(), offsets, links).marginal_tk
        log_tk = torch.from_numpy(np.log(np.maximum(found, np.finfo(np.float32).tiny))).float()
        return log_tk.to(rows_btj.device)[(mark_bt == _TAGGED)[there_bt]]
