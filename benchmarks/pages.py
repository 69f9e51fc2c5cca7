"""The pages of the documentation that are made from the records of benchmarks."""

from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    accuracy,
    aggregation_page,
    calibration,
    cost_page,
    few_labels,
    gpu_page,
    sequence_page,
    training_page,
    zoo_page,
)
from benchmarks.benchmark import (
    ACCURACY,
    AGGREGATION,
    CALIBRATION,
    CHAINS,
    EPOCH_COSTS,
    FEW_LABELS,
    RAYKAR,
    TAGGING,
    TRAINING,
    ZOO,
)

PAGES: dict[str, Callable[[Path], str]] = {
    accuracy.PAGE: lambda docs: accuracy.make_page(ACCURACY.read(docs)),
    aggregation_page.PAGE: lambda docs: aggregation_page.make_page(AGGREGATION.read(docs)),
    calibration.PAGE: lambda docs: calibration.make_page(CALIBRATION.read(docs)),
    cost_page.PAGE: lambda docs: cost_page.make_page(EPOCH_COSTS.read(docs), RAYKAR.read(docs)),
    gpu_page.PAGE: gpu_page.gpu_page,
    few_labels.PAGE: lambda docs: few_labels.make_page(FEW_LABELS.read(docs)),
    sequence_page.PAGE: lambda docs: sequence_page.make_page(CHAINS.read(docs), TAGGING.read(docs)),
    training_page.PAGE: lambda docs: training_page.make_page(TRAINING.read(docs)),
    zoo_page.PAGE: lambda docs: zoo_page.make_page(ZOO.read(docs)),
}
