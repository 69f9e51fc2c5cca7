"""The table of noise models; every entry is made the same way."""

from collections.abc import Callable
from functools import partial

from manyhands.core.registry import Registry
from manyhands.noise.base import NoiseModel
from manyhands.noise.conal import CoNAL, CoNALGroups
from manyhands.noise.crowd_layer import CrowdLayer, CrowdLayerKind, OverCrowdLayer
from manyhands.noise.mixture import Mixture
from manyhands.noise.softmax_crowd_layer import SoftmaxCrowdLayer
from manyhands.noise.speelfc import SpeeLFC, TraceReg
from manyhands.noise.speelfc_d import SpeeLFCD

NoiseMaker = Callable[[int, int, int, bool], NoiseModel]


def _crowd_layer(
    kind: CrowdLayerKind, n_annotators: int, n_classes: int, n_features: int, sparse: bool
) -> NoiseModel:
    return CrowdLayer(n_annotators, n_classes, kind=kind, sparse=sparse)


def _plain(
    made: type[CrowdLayer] | type[SpeeLFC],
    n_annotators: int,
    n_classes: int,
    n_features: int,
    sparse: bool,
) -> NoiseModel:
    return made(n_annotators, n_classes, sparse=sparse)


def _featured(
    made: type[CoNAL] | type[SpeeLFCD],
    n_annotators: int,
    n_classes: int,
    n_features: int,
    sparse: bool,
) -> NoiseModel:
    return made(n_annotators, n_classes, n_features=n_features, sparse=sparse)


def _mixture(n_annotators: int, n_classes: int, n_features: int, sparse: bool) -> NoiseModel:
    return Mixture(n_annotators, n_classes)


NOISE: Registry[NoiseMaker] = Registry(
    "noise model",
    {
        "crowd-layer-vw": partial(_crowd_layer, "VW"),
        "crowd-layer-vb": partial(_crowd_layer, "VB"),
        "crowd-layer-vwb": partial(_crowd_layer, "VWB"),
        "crowd-layer-mw": partial(_crowd_layer, "MW"),
        "crowd-layer-over": partial(_plain, OverCrowdLayer),
        "softmax-crowd-layer": partial(_plain, SoftmaxCrowdLayer),
        "speelfc": partial(_plain, SpeeLFC),
        "speelfc-d": partial(_featured, SpeeLFCD),
        "trace-reg": partial(_plain, TraceReg),
        "conal": partial(_featured, CoNAL),
        "conal-groups": partial(_featured, CoNALGroups),
        "mixture-e2e": _mixture,
    },
)
