"""A topic model as a network: from counts of words to the number."""

from typing import Any

import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from manyhands.methods.topics.regression_fitting import numbers_by_words
from manyhands.networks import LogisticRegression
from manyhands.networks.flat import flat


class TopicRegressor(nn.Module):
    """eta . E zbar of documents, whose topics are found by their words alone.

    As `TopicClassifier`: nothing in it is learnt by gradient, and it takes the number of words
    from the regression it is made of.
    """

    zeta: Tensor
    eta: Tensor
    alpha: Tensor

    def __init__(
        self, network: LogisticRegression, n_annotators: int, n_classes: int = 0, *, n_topics: int
    ) -> None:
        super().__init__()
        self.network_class, self.n_words = type(network).__name__, network.n_features
        self.register_buffer("zeta", torch.ones(n_topics, self.n_words).double())
        self.register_buffer("eta", torch.zeros(n_topics).double())
        self.register_buffer("alpha", torch.ones(()).double())

    @property
    def settings(self) -> dict[str, Any]:
        """What makes the same of the network asked for, but for the weights."""
        return {"n_topics": len(self.zeta)}

    def forward(self, counts_b: Tensor) -> Tensor:
        """The number of every document, shape (b, 1)."""
        counts_bw = csr_matrix(flat(counts_b, self.n_words).cpu().double().numpy())
        value_b = numbers_by_words(
            self.zeta.cpu().numpy(), self.eta.cpu().numpy(), float(self.alpha), counts_bw
        )
        return torch.from_numpy(value_b).float().unsqueeze(1).to(counts_b.device)
