"""The topic model for numbers as a method of training."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from manyhands.annotations import Annotations, Kind
from manyhands.networks import LogisticRegression
from manyhands.networks.sizes import require_size
from manyhands.noise.numbers import LEAST_VARIANCE
from manyhands.training.inputs import Inputs
from manyhands.training.learner import Trainee
from manyhands.training.methods import About, Problem
from manyhands.training.numbers import NumberLearner, trained_on_numbers
from manyhands.training.settings import TrainingSettings
from manyhands.training.solved import Solution, Solved
from manyhands.training.topics.method import counts_of
from manyhands.training.topics.number_fitting import error_of_words, fit_number_topics
from manyhands.training.topics.regressor import TopicRegressor


@dataclass(frozen=True)
class NumberTopicModel(Solved):
    """Supervised topics, biases and precisions, from counts of words (`fit_number_topics`).

    Features must be counts, as for `TopicModel`. Items without labels teach words. `settings` go to
    `fit_number_topics`; the seed draws the first topics.
    """

    n_topics: int = 20
    settings: Mapping[str, Any] = field(default_factory=dict)
    about: About = field(kw_only=True, default=About())
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=lambda: {"epochs": 200})
    takes_counts = True

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

    def learner(self, network: nn.Module, problem: Problem, settings: TrainingSettings) -> Trainee:
        """See `Method.learner`."""
        ann = problem.annotations
        return trained_on_numbers(network, ann, np.zeros(ann.n_items))

    def portray(self, learner: Trainee, found: Solution) -> None:
        """See `Solved.portray`."""
        assert isinstance(learner, NumberLearner), "a learner of numbers"
        learner.noise.start_from(**found.annotators)

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
