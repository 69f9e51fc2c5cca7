"""What the two topic models share: their network, and their method."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.engine.inputs import Inputs, SparseInputs
from manyhands.methods.full_batch import FullBatchFit, FullBatchMethod, feature_matrix
from manyhands.methods.topics.variational import TopicFit, infer_topics
from manyhands.networks.mlp import flat
from manyhands.networks.sizes import require_size

_SIZES = ("n_words", "n_topics", "n_classes")  # there are no classes for regression


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
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=lambda: {"epochs": 200})
    needs_counts = True
    solve: ClassVar[Callable[..., TopicFit]]

    def __post_init__(self) -> None:
        require_size("n_topics", self.n_topics)

    def fit(
        self, inputs: Inputs, annotations: Annotations, *, max_iter: int, seed: int
    ) -> FullBatchFit:
        """See `FullBatchMethod.fit`."""
        counts = inputs.matrix if isinstance(inputs, SparseInputs) else feature_matrix(inputs)
        settings = {"n_topics": self.n_topics, "max_iter": max_iter, "seed": seed, **self.settings}
        fit = self.solve(counts, annotations, **settings)
        eta, annotators = self.estimates(fit, counts, annotations)
        sizes = zip(_SIZES, (fit.zeta_tw.shape[1], *eta.shape), strict=False)
        weights = {"zeta": fit.zeta_tw, "eta": eta, "alpha": fit.alpha}
        network = self.build_network(dict(sizes), weights)
        return FullBatchFit(network, annotators, fit.objective)

    @abstractmethod
    def estimates(self, fit: Any, counts: Any, annotations: Annotations) -> tuple[Floats, Any]:
        """The weights of the topics in a fit, and the annotators of `FullBatchFit`."""
