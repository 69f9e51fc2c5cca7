"""The passes over labels for a device: compiled loops for the CPU, Triton for a GPU.

Those of a GPU are imported when they are asked for, because torch takes seconds to import.
"""

from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.coin_pass import CoinPass
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass
from manyhands.aggregation.kernels.glad_steps import GladPass


def confusion_pass(evidence: Evidence, device: str, n_subtypes: int = 1) -> ConfusionPass:
    """The pass of models with confusions."""
    if device == "cpu":
        return ConfusionPass(evidence, n_subtypes)
    from manyhands.aggregation.kernels.device_pass import DeviceConfusionPass

    return DeviceConfusionPass(evidence, n_subtypes)


def coin_pass(evidence: Evidence, device: str) -> CoinPass:
    """The pass of models in which annotators are right or wrong."""
    if device == "cpu":
        return CoinPass(evidence)
    from manyhands.aggregation.kernels.device_coins import DeviceCoinPass

    return DeviceCoinPass(evidence)


def glad_pass(evidence: Evidence, device: str) -> GladPass:
    """The same with items that differ in easiness."""
    if device == "cpu":
        return GladPass(evidence)
    from manyhands.aggregation.kernels.device_coins import DeviceGladPass

    return DeviceGladPass(evidence)
