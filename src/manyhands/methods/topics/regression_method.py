"""The topic model for numbers as a method of training."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from manyhands.annotations import Annotations, Kind
from manyhands.engine.crowd_module import CrowdModule
from manyhands.engine.inputs import Inputs
from manyhands.engine.regression_module import RegressionModule, train_on_values
from manyhands.engine.settings import TrainingSettings
from manyhands.methods.base import About, Problem
from manyhands.methods.full_batch import FullBatchMethod, Solution
from manyhands.methods.topics.method import counts_of
from manyhands.methods.topics.regression_fitting import error_of_words, fit_number_topics
from manyhands.methods.topics.regressor import TopicRegressor
from manyhands.networks import LogisticRegression
from manyhands.networks.sizes import require_size
from manyhands.noise.regression import LEAST_VARIANCE


@dataclass(frozen=True)
class RegressionTopicModel(FullBatchMethod):
    """Supervised topics, biases and precisions, from counts of words (`fit_number_topics`).

    Features must be counts, as for `TopicModel`. Items without labels teach words. `settings` go to
    `fit_number_topics`; the seed draws the first topics.
    """

    n_topics: int = 20
    settings: Mapping[str, Any] = field(default_factory=dict)
    about: About = field(kw_only=True, default=About())
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=lambda: {"epochs": 200})
    needs_counts = True

    def __post_init__(self) -> None:
        require_size("n_topics", self.n_topics)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """See `Method.kinds`."""
        return ("numbers",)

    def network(self, network: nn.Module, n_annotators: int, n_classes: int) -> nn.Module:
        """See `Method.network`."""
        assert isinstance(network, LogisticRegression), "the only network of these methods"
        return TopicRegressor(network, n_annotators, n_topics=self.n_topics)

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `Method.learner`."""
        ann = problem.annotations
        return train_on_values(network, ann, np.zeros(ann.n_items))

    def profile_annotators(self, module: CrowdModule, found: Solution) -> None:
        """See `Solved.portray`."""
        assert isinstance(module, RegressionModule), "a learner of numbers"
        module.noise.init_from_profile(**found.annotators)

    def solve(self, inputs: Inputs, annotations: Annotations, *, steps: int, seed: int) -> Solution:
        """See `Solved.solve`."""
        counts = counts_of(inputs)
        how = {"n_topics": self.n_topics, "max_iter": steps, "seed": seed, **self.settings}
        found = fit_number_topics(counts, annotations, **how)
        weights = {
            "zeta": torch.from_numpy(found.zeta_tw),
            "eta": torch.from_numpy(found.eta_t),
            "alpha": torch.tensor(found.alpha).double(),
        }
        error = max(error_of_words(found, counts, annotations), LEAST_VARIANCE)
        annotators = {
            "bias_a": found.bias_a,
            "precision_a": np.minimum(found.precision_a, 1.0 / LEAST_VARIANCE),
            "error_variance": error,
        }
        return Solution(weights, annotators, found.objective)
