"""The table of noise models; every entry is made the same way."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from manyhands.core.registry import Registry
from manyhands.core.settings import require
from manyhands.noise.base import NoiseModel
from manyhands.noise.conal import CoNAL, CoNALGroups
from manyhands.noise.crowd_layer import CrowdLayer, CrowdLayerKind, OverCrowdLayer
from manyhands.noise.mixture import Mixture
from manyhands.noise.softmax_crowd_layer import SoftmaxCrowdLayer
from manyhands.noise.speelfc import SpeeLFC, TraceReg
from manyhands.noise.speelfc_d import SpeeLFCD


class NoiseMaker(Protocol):
    """How every entry is called; only models that look at items use `n_features`."""

    def __call__(
        self,
        n_annotators: int,
        n_classes: int,
        *,
        n_features: int | None = None,
        sparse: bool = False,
    ) -> NoiseModel:
        """A noise model with its default settings."""


def _crowd_layer(kind: CrowdLayerKind) -> NoiseMaker:
    return _plain(partial(CrowdLayer, kind=kind))


def _plain(made: Callable[..., NoiseModel]) -> NoiseMaker:
    def make(
        n_annotators: int, n_classes: int, *, n_features: int | None = None, sparse: bool = False
    ) -> NoiseModel:
        return made(n_annotators, n_classes, sparse=sparse)

    return make


def _featured(made: Callable[..., NoiseModel]) -> NoiseMaker:
    def make(
        n_annotators: int, n_classes: int, *, n_features: int | None = None, sparse: bool = False
    ) -> NoiseModel:
        require(n_features is not None, "n_features", "given: the model looks at items", None)
        return made(n_annotators, n_classes, n_features=n_features, sparse=sparse)

    return make


def _mixture(
    n_annotators: int, n_classes: int, *, n_features: int | None = None, sparse: bool = False
) -> NoiseModel:
    return Mixture(n_annotators, n_classes)  # shares and confusions of groups: nothing is sparse


NOISE: Registry[NoiseMaker] = Registry(
    "noise model",
    {
        "crowd-layer-vw": _crowd_layer("VW"),
        "crowd-layer-vb": _crowd_layer("VB"),
        "crowd-layer-vwb": _crowd_layer("VWB"),
        "crowd-layer-mw": _crowd_layer("MW"),
        "crowd-layer-over": _plain(OverCrowdLayer),
        "softmax-crowd-layer": _plain(SoftmaxCrowdLayer),
        "speelfc": _plain(SpeeLFC),
        "speelfc-d": _featured(SpeeLFCD),
        "trace-reg": _plain(TraceReg),
        "conal": _featured(CoNAL),
        "conal-groups": _featured(CoNALGroups),
        "mixture-e2e": _mixture,
    },
)
