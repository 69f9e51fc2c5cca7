"""The table of noise models; every entry is made the same way."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from manyhands.core.errors import SettingError
from manyhands.core.registry import Registry
from manyhands.core.settings import require
from manyhands.noise.base import NoiseModel
from manyhands.noise.conal import CoNAL, CoNALGroups
from manyhands.noise.crowd_layer import CrowdLayer, OverCrowdLayer
from manyhands.noise.geocrowdnet import GeoCrowdNet
from manyhands.noise.mixture import Mixture
from manyhands.noise.softmax_crowd_layer import SoftmaxCrowdLayer
from manyhands.noise.speelfc import SpeeLFC, TraceReg
from manyhands.noise.speelfc_d import SpeeLFCD

_GIVEN = {"n_annotators", "n_classes", "n_features", "sparse"}


@dataclass(frozen=True)
class NoiseMaker:
    """An entry: a class of noise models, and what sets it apart from others of that class."""

    made: Callable[..., NoiseModel]
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> list[str]:
        """The names of the settings it takes."""
        return [name for name in self._takes if name not in _GIVEN | set(self.fixed)]

    @property
    def _takes(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.made).parameters

    def __call__(
        self,
        n_annotators: int,
        n_classes: int,
        *,
        n_features: int | None = None,
        sparse: bool = False,
        **settings: Any,
    ) -> NoiseModel:
        """A noise model; only those that look at items use `n_features`."""
        for name in settings:
            if name not in self.settings:
                known = ", ".join(self.settings)
                raise SettingError(f"the noise model has no setting {name!r}; known: {known}")
        takes = self._takes
        given: dict[str, Any] = {**self.fixed, **settings}
        if "sparse" in takes:
            given["sparse"] = sparse
        if "n_features" in takes:
            needed = takes["n_features"].default is inspect.Parameter.empty
            known_features = n_features is not None or not needed
            require(known_features, "n_features", "given: the model looks at items", None)
            given["n_features"] = n_features
        return self.made(n_annotators, n_classes, **given)


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
        "trace-reg": NoiseMaker(TraceReg),
        "geocrowdnet": NoiseMaker(GeoCrowdNet),
        "conal": NoiseMaker(CoNAL),
        "conal-groups": NoiseMaker(CoNALGroups),
        "mixture-e2e": NoiseMaker(Mixture),
    },
)
