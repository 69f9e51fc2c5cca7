"""The table of noise models for classification; every entry is called in the same way."""

from manyhands.core.settings import Registry
from manyhands.noise.base import NoiseMaker
from manyhands.noise.conal import CoNAL, CoNALGroups
from manyhands.noise.crowd_layer import CrowdLayer, OverCrowdLayer, SoftmaxCrowdLayer
from manyhands.noise.mixture import Mixture
from manyhands.noise.speelfc import GeoCrowdNet, SpeeLFC, SpeeLFCD, TraceReg

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
