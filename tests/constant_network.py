"""A network that says the same of every item, and a crowd for EM with networks."""

import numpy as np
import torch
from torch import nn

from manyhands.simulation import simulate_crowd
from manyhands.simulation.behaviours import honest


class Constant(nn.Module):
    """The same logits for every item: a class prior, learnt."""

    def __init__(self, n_classes):
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(n_classes))

    def forward(self, inputs):
        return self.logits.expand(len(inputs), -1)


def three_classes():
    """Features, labels and truth of 150 items of three classes."""
    rng = np.random.default_rng(0)
    truth = rng.choice(3, size=150, p=[0.5, 0.3, 0.2])
    people = honest(np.linspace(0.5, 0.9, 8), 3)
    ann = simulate_crowd(truth, people, labels_per_item=4, seed=1).annotations
    x = np.eye(3)[truth] + rng.normal(scale=0.7, size=(150, 3))
    return x.astype(np.float32), ann, truth
