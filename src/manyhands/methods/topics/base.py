"""What the two topic models share: their network, and their method."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from manyhands.core.arrays import Floats
from manyhands.engine.inputs import Inputs, SparseInputs
from manyhands.methods.base import About
from manyhands.methods.full_batch import FullBatchMethod, feature_matrix
from manyhands.methods.topics.variational import infer_topics
from manyhands.networks.mlp import flat, require_size


class TopicNetwork(nn.Module, ABC):
    """A topic model as a network: it infers the topics of documents by their words alone.

    Nothing in it is learnt by gradient: the words of the topics (`zeta`), the weights of the
    topics (`eta`) and `alpha` are set once.
    """

    zeta: Tensor
    eta: Tensor
    alpha: Tensor

    def __init__(self, n_words: int, eta: Tensor) -> None:
        super().__init__()
        self.n_words = n_words
        self.register_buffer("zeta", torch.ones(len(eta), n_words).double())
        self.register_buffer("eta", eta.double())
        self.register_buffer("alpha", torch.ones(()).double())

    def forward(self, counts_b: Tensor) -> Tensor:
        """The predictions for documents, one row each."""
        counts_bw = csr_matrix(flat(counts_b, self.n_words).cpu().double().numpy())
        topic_bt = infer_topics(self.zeta.cpu().numpy(), float(self.alpha), counts_bw)
        return self.predict(topic_bt, self.eta.cpu().numpy()).float().to(counts_b.device)

    @abstractmethod
    def predict(self, mean_topic_bt: Floats, eta: Floats) -> Tensor:
        """The predictions from the mean topics of the documents and the weights of the topics."""


@dataclass(frozen=True)
class TopicMethod(FullBatchMethod):
    """Supervised topics and annotators, from counts of words.

    Features must be counts: whole numbers, 0 or more, one column per word. They are not scaled.
    Items without labels are used to learn the topics. `settings` are passed to the solver. The
    seed draws the first topics.
    """

    n_topics: int = 20
    settings: Mapping[str, Any] = field(default_factory=dict)
    about: About = field(kw_only=True, default=About())
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=lambda: {"epochs": 200})
    needs_counts = True

    def __post_init__(self) -> None:
        require_size("n_topics", self.n_topics)

    def solver_settings(self, max_iter: int, seed: int) -> dict[str, Any]:
        """The keyword arguments of the solver."""
        return {"n_topics": self.n_topics, "max_iter": max_iter, "seed": seed, **self.settings}


def word_counts(inputs: Inputs) -> Any:
    """The features of all items as a matrix, which is sparse if they are."""
    return inputs.matrix if isinstance(inputs, SparseInputs) else feature_matrix(inputs)
