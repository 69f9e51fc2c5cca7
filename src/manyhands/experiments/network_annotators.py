"""Simulated annotators of images: copies of a trained network with noise on their weights."""

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import nn

from manyhands.annotations import Annotations, Items
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import generator
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.task import predict_outputs
from manyhands.estimators import CrowdClassifier
from manyhands.experiments.data import ScenarioSource, read_items
from manyhands.simulation.crowds import SimulatedCrowd
from manyhands.simulation.perturbed_networks import median_confusions, perturbed_networks


@dataclass(frozen=True)
class NetworkAnnotators(ScenarioSource):
    """The scenario `perturbed-networks-images` with a network of `NETWORKS` in place of its own.

    The small network of the scenario cannot learn images: its experts would be wrong every other
    time. `training` holds settings of `CrowdClassifier`. The network is trained on the truth, on a
    GPU where there is one. It does not depend on the number of annotators, so that all crowds of a
    seed share its confusions.
    """

    training: Mapping[str, Any] = field(default_factory=dict)

    def simulate(self, settings: Any, items: Items | None, data: str | None) -> SimulatedCrowd:
        """See `ScenarioSource.simulate`."""
        training, noises = json.dumps(dict(self.training), sort_keys=True), tuple(settings.noises)
        place = str(self.items), str(data)
        group_mkl = _confusions(*place, settings.n_classes, noises, training, settings.seed)
        return perturbed_networks(settings, items, group_mkl=group_mkl)


@lru_cache(maxsize=16)
def _confusions(
    name: str, data: str, n_classes: int, noises: tuple[float, ...], training: str, seed: int
) -> Floats:
    items = read_items(name, data)
    return group_confusions(items, n_classes, noises, json.loads(training), seed)


def group_confusions(
    items: Items, n_classes: int, noises: Sequence[float], training: Mapping[str, Any], seed: int
) -> Floats:
    """The confusion of each group on the items, shape (m, k, l); see `median_confusions`."""
    features, truth = items.features, items.truth
    one = Annotations.from_arrays(
        range(len(truth)), np.zeros(len(truth), dtype=np.int64), truth, classes=range(n_classes)
    )  # one annotator, who is always right
    model = CrowdClassifier(method="two-stage-majority", seed=seed, progress=False, **training).fit(
        features, one
    )
    inputs, rng = model.encoder_.transform(features), generator(seed, "abilities")
    device = next(model.network_.parameters()).device
    inputs = inputs.to(device)

    def labels_at(level: float) -> AnyArray:
        network = perturbed(model.network_, level, rng)
        outputs = predict_outputs(network, inputs, device, TrainingSettings())
        return np.asarray(outputs.argmax(dim=1).numpy())

    return median_confusions(labels_at, noises, truth, n_classes)


@torch.no_grad()
def perturbed(network: nn.Module, level: float, rng: np.random.Generator) -> nn.Module:
    """A copy with normal noise of `level` times the root mean square of a layer's weights.

    Biases and batch normalisation stay as they are.
    """
    noisy = copy.deepcopy(network)
    for weight in noisy.parameters():
        if weight.dim() > 1:
            noise = torch.from_numpy(rng.standard_normal(tuple(weight.shape))).to(weight)
            weight.add_(noise * (level * weight.square().mean().sqrt()))
    return noisy
