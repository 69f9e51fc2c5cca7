"""A topic model as a network: from counts of words to the logits of the class."""

from typing import Any

import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from manyhands.methods.topics.fitting import classes_by_words
from manyhands.networks import LogisticRegression
from manyhands.networks.flat import flat


class TopicClassifier(nn.Module):
    """log softmax(eta . E zbar) of documents, whose topics are found by their words alone.

    Nothing in it is learnt by gradient: the topics' words (`zeta`), the classes' topics (`eta`)
    and `alpha` are put in once. It is made of the logistic regression for the same counts, which
    is where it takes the number of words from.
    """

    zeta: Tensor
    eta: Tensor
    alpha: Tensor

    def __init__(
        self, network: LogisticRegression, n_annotators: int, n_classes: int, *, n_topics: int
    ) -> None:
        super().__init__()
        self.network_class, self.n_words = type(network).__name__, network.n_features
        self.register_buffer("zeta", torch.ones(n_topics, self.n_words).double())
        self.register_buffer("eta", torch.zeros(n_topics, n_classes).double())
        self.register_buffer("alpha", torch.ones(()).double())

    @property
    def settings(self) -> dict[str, Any]:
        """What makes the same of the network asked for, but for the weights."""
        return {"n_topics": len(self.zeta)}

    def forward(self, counts_b: Tensor) -> Tensor:
        """Log-probabilities of the classes, shape (b, k)."""
        counts_bw = csr_matrix(flat(counts_b, self.n_words).cpu().double().numpy())
        class_bk = classes_by_words(
            self.zeta.cpu().numpy(), self.eta.cpu().numpy(), float(self.alpha), counts_bw
        )
        return torch.from_numpy(class_bk).log().float().to(counts_b.device)
