"""The passes over labels: compiled loops for the CPU, Triton for a GPU, sums over parts.

Those of a GPU are imported when they are asked for, because torch takes seconds to import.
"""

from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.coin_pass import CoinPass
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass
from manyhands.aggregation.kernels.glad_steps import GladPass
from manyhands.aggregation.kernels.part_passes import (
    PartCoinPass,
    PartConfusionPass,
    PartGladPass,
)
from manyhands.aggregation.kernels.row_pass import RowPass, rows_worth_it


def confusion_pass(
    evidence: Evidence,
    device: str,
    n_subtypes: int = 1,
    *,
    counts: bool = True,
    rows: bool = False,
) -> ConfusionPass:
    """The pass of models with confusions; without `counts` it may compute the posterior only.

    With `rows` its tables may have only the rows that labels use.
    """
    if evidence.parts is not None:
        divided = evidence.parts.row_pass(evidence) if rows else None
        return PartConfusionPass(evidence, n_subtypes) if divided is None else divided
    if device == "cpu":
        used = rows_worth_it(evidence.annotations) if rows else None
        if used is not None:
            return RowPass(evidence, used)
        return ConfusionPass(evidence, n_subtypes, posterior=not counts, counts=counts)
    from manyhands.aggregation.kernels.device_pass import DeviceConfusionPass

    return DeviceConfusionPass(evidence, n_subtypes)


def coin_pass(evidence: Evidence, device: str) -> CoinPass:
    """The pass of models in which annotators are right or wrong."""
    if evidence.parts is not None:
        return PartCoinPass(evidence)
    if device == "cpu":
        return CoinPass(evidence)
    from manyhands.aggregation.kernels.device_coins import DeviceCoinPass

    return DeviceCoinPass(evidence)


def glad_pass(evidence: Evidence, device: str) -> GladPass:
    """The same with items that differ in easiness."""
    if evidence.parts is not None:
        return PartGladPass(evidence)
    if device == "cpu":
        return GladPass(evidence)
    from manyhands.aggregation.kernels.device_coins import DeviceGladPass

    return DeviceGladPass(evidence)


def labels_on_device(evidence: Evidence, device: str) -> object:
    """The labels of all passes on a GPU: they stay there while something holds this object."""
    if device == "cpu":
        return None
    from manyhands.aggregation.kernels.device_labels import device_labels

    return device_labels(evidence.annotations)
