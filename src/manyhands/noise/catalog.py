"""The table of noise models for classification; every entry is called in the same way."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from manyhands.core.errors import SettingError
from manyhands.core.settings import Registry, require
from manyhands.noise.base import NoiseModel
from manyhands.noise.conal import CoNAL, CoNALGroups
from manyhands.noise.crowd_layer import CrowdLayer, OverCrowdLayer, SoftmaxCrowdLayer
from manyhands.noise.madl import MaDL
from manyhands.noise.mixture import Mixture
from manyhands.noise.ordinal import CumulativeLink
from manyhands.noise.speelfc import GeoCrowdNet, SpeeLFC, SpeeLFCD, TraceReg

_ARGUMENTS = {"n_annotators", "n_classes", "n_features", "sparse", "device", "dtype"}


@dataclass(frozen=True)
class NoiseMaker:
    """An entry: a class of noise models, with the settings that are fixed for this entry.

    >>> from manyhands.noise import NOISE
    >>> NOISE["speelfc"](n_annotators=100, n_classes=3, accuracy=0.8, dtype=torch.float64).n_classes
    3
    """

    model: Callable[..., NoiseModel]
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> list[str]:
        """The names of the settings of the model."""
        return [name for name in self._parameters if name not in _ARGUMENTS | set(self.fixed)]

    @property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.model).parameters

    def __call__(
        self,
        n_annotators: int,
        n_classes: int,
        *,
        n_features: int | None = None,
        sparse: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **settings: Any,
    ) -> NoiseModel:
        """Make a noise model; only the models that depend on the items use `n_features`."""
        for name in settings:
            if name not in self.settings:
                known = ", ".join(self.settings)
                raise SettingError(f"the noise model has no setting {name!r}; known: {known}")
        parameters = self._parameters
        given = {**self.fixed, **settings, "device": device, "dtype": dtype}
        if "sparse" in parameters:
            given["sparse"] = sparse
        if "n_features" in parameters:
            optional = parameters["n_features"].default is not inspect.Parameter.empty
            rule = "given: the model depends on the features of the items"
            require(n_features is not None or optional, "n_features", rule, None)
            given["n_features"] = n_features
        return self.model(n_annotators, n_classes, **given)


NOISE: Registry[NoiseMaker] = Registry(
    "noise model",
    {
        "crowd-layer-vw": NoiseMaker(CrowdLayer, {"kind": "VW"}),
        "crowd-layer-vb": NoiseMaker(CrowdLayer, {"kind": "VB"}),
        "crowd-layer-vwb": NoiseMaker(CrowdLayer, {"kind": "VWB"}),
        "crowd-layer-mw": NoiseMaker(CrowdLayer, {"kind": "MW"}),
        "crowd-layer-over": NoiseMaker(OverCrowdLayer),
        "softmax-crowd-layer": NoiseMaker(SoftmaxCrowdLayer),
        "speelfc": NoiseMaker(SpeeLFC),
        "speelfc-d": NoiseMaker(SpeeLFCD),
        "cumulative-link": NoiseMaker(CumulativeLink),
        "trace-reg": NoiseMaker(TraceReg),
        "geocrowdnet": NoiseMaker(GeoCrowdNet),
        "conal": NoiseMaker(CoNAL),
        "conal-groups": NoiseMaker(CoNALGroups),
        "madl": NoiseMaker(MaDL),
        "mixture-e2e": NoiseMaker(Mixture),
    },
)
