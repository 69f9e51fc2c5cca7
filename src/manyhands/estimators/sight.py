"""How a model looks at features: as in training, so ever after."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from manyhands.core.arrays import AnyArray, Floats
from manyhands.estimators.features import as_inputs, feature_names, require_like
from manyhands.estimators.scaling import Scaling
from manyhands.training import Inputs, Learner, TrainingSettings, fitting_threads

Predict = Callable[[Any], Floats]
Watch = Callable[[Predict], Mapping[str, float]]

_AT_ONCE = 1024  # items predicted at a time


@dataclass(frozen=True)
class Sight:
    """Shape, names and scaling of the features that a network was, or is being, trained on."""

    shape: tuple[int, ...]
    names: AnyArray | None
    scaling: Scaling | None
    keep_codes: bool

    def inputs(self, features: Any) -> Inputs:
        """Features as the network sees them; refused where they are of another kind."""
        inputs = as_inputs(features, keep_codes=self.keep_codes)
        require_like(inputs.shape, feature_names(features), self.shape, self.names)
        return inputs if self.scaling is None else self.scaling.apply(inputs)

    def probabilities(
        self, features: Any, network: nn.Module, device: torch.device, settings: TrainingSettings
    ) -> Floats:
        """Class probabilities of every row."""
        inputs = self.inputs(features).to(device)
        network.eval()
        with torch.no_grad(), self.threads(network, settings):
            parts = [
                network(inputs.rows(index)).double().softmax(dim=-1).cpu()
                for index in torch.split(torch.arange(len(inputs), device=device), _AT_ONCE)
            ]
        return np.asarray(torch.cat(parts).numpy(), dtype=np.float64)

    def threads(
        self, network: nn.Module, settings: TrainingSettings
    ) -> AbstractContextManager[None]:
        """Torch's threads while nothing is learnt."""
        return fitting_threads(network, self.shape, _AT_ONCE, settings)

    def watching(
        self, watch: Watch, settings: TrainingSettings
    ) -> Callable[[Learner], Mapping[str, float]]:
        """What the training loop calls after an epoch to let somebody look at the model."""

        def look(learner: Learner) -> Mapping[str, float]:
            device = next(learner.noise.parameters()).device  # a network may have none

            def predict_proba(features: Any) -> Floats:
                return self.probabilities(features, learner.network, device, settings)

            return watch(predict_proba)

        return look
