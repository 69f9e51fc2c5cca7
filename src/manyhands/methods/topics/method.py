"""The topic model as a method of training."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from manyhands.annotations import Annotations
from manyhands.engine.inputs import Inputs, SparseInputs
from manyhands.methods.base import About
from manyhands.methods.full_batch import FullBatchMethod, Solution
from manyhands.methods.topics.classifier import TopicClassifier
from manyhands.methods.topics.fitting import fit_topics
from manyhands.networks import LogisticRegression
from manyhands.networks.sizes import require_size


@dataclass(frozen=True)
class TopicModel(FullBatchMethod):
    """Supervised topics and annotators' confusions, from counts of words (`fit_topics`).

    Features must be counts, as they are: whole numbers, 0 or more, a column per word. Items
    without labels teach words. `settings` go to `fit_topics`; the seed draws the first topics.
    """

    n_topics: int = 20
    settings: Mapping[str, Any] = field(default_factory=dict)
    about: About = field(kw_only=True, default=About())
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=lambda: {"epochs": 200})
    needs_counts = True

    def __post_init__(self) -> None:
        require_size("n_topics", self.n_topics)

    def network(self, network: nn.Module, n_annotators: int, n_classes: int) -> nn.Module:
        """See `Method.network`."""
        assert isinstance(network, LogisticRegression), "the only network of these methods"
        return TopicClassifier(network, n_annotators, n_classes, n_topics=self.n_topics)

    def solve(self, inputs: Inputs, annotations: Annotations, *, steps: int, seed: int) -> Solution:
        """See `Solved.solve`."""
        how = {"n_topics": self.n_topics, "max_iter": steps, "seed": seed, **self.settings}
        found = fit_topics(counts_of(inputs), annotations, **how)
        weights = {
            "zeta": torch.from_numpy(found.zeta_tw),
            "eta": torch.from_numpy(found.eta_tk),
            "alpha": torch.tensor(found.alpha).double(),
        }
        return Solution(weights, found.confusion_akl, found.objective)


def counts_of(inputs: Inputs) -> Any:
    """The features of all items as a matrix, sparse where they are."""
    if isinstance(inputs, SparseInputs):
        return inputs.matrix
    return inputs.rows(torch.arange(len(inputs))).flatten(1).double().numpy()
