"""How a model looks at features: as in training, so ever after."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.core.arrays import AnyArray, Floats
from manyhands.engine.crowd_module import CrowdModule
from manyhands.engine.inputs import Inputs
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.threads import fitting_threads
from manyhands.estimators.crf_encoder import CrfEncoder
from manyhands.estimators.features import as_inputs, feature_names, require_like
from manyhands.estimators.scaling import Scaling
from manyhands.estimators.text_encoder import TextEncoder

Reader = TextEncoder | CrfEncoder
Predict = Callable[[Any], Floats]
Callback = Callable[[Predict], Mapping[str, float]]

_AT_ONCE = 1024  # items predicted at a time


@dataclass(frozen=True)
class FeatureEncoder:
    """Shape, names and scaling of the features that a network was, or is being, trained on.

    `words` reads texts, if that is what they are.
    """

    shape: tuple[int, ...]
    names: AnyArray | None
    scaling: Scaling | None
    keep_codes: bool
    words: Reader | None = None

    def inputs(self, features: Any) -> Inputs:
        """Features as the network sees them; refused where they are of another kind."""
        if self.words is not None:
            return self.words(features)
        inputs = as_inputs(features, keep_codes=self.keep_codes)
        require_like(inputs.shape, feature_names(features), self.shape, self.names)
        return inputs if self.scaling is None else self.scaling.apply(inputs)

    def outputs(
        self, features: Any, network: nn.Module, device: torch.device, settings: TrainingSettings
    ) -> Tensor:
        """What the network gives for every row, in double precision."""
        return self.seen(self.inputs(features), network, device, settings)

    def seen(
        self, inputs: Inputs, network: nn.Module, device: torch.device, settings: TrainingSettings
    ) -> Tensor:
        """What the network gives for inputs that are as it sees them, in double precision."""
        inputs = inputs.to(device)
        network.eval()
        order = inputs.by_length(np.arange(len(inputs)))
        with torch.no_grad(), self.threads(network, settings):
            parts = [
                network(inputs.rows(index.to(device))).cpu().double()
                for index in map(torch.from_numpy, inputs.parts(order, _AT_ONCE))
            ]
        return torch.cat(parts)[torch.from_numpy(np.argsort(order))]

    def threads(
        self, network: nn.Module, settings: TrainingSettings
    ) -> AbstractContextManager[None]:
        """Torch's threads while nothing is learnt."""
        return fitting_threads(network, self.shape, _AT_ONCE, settings)

    def epoch_callback(
        self, callback: Callback, settings: TrainingSettings, read: Callable[[Tensor], Floats]
    ) -> Callable[[CrowdModule], Mapping[str, float]]:
        """What the training loop calls after an epoch to let somebody look at the model."""

        def look(module: CrowdModule) -> Mapping[str, float]:
            device = next(module.noise.parameters()).device  # a network may have none

            def predict(features: Any) -> Floats:
                return read(self.outputs(features, module.network, device, settings))

            return callback(predict)

        return look


def probabilities(logits: Tensor) -> Floats:
    """Class probabilities of every row of logits."""
    return np.asarray(logits.softmax(dim=-1).numpy(), dtype=np.float64)
