"""The pages of the documentation that are made from the records of benchmarks."""

from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    accuracy,
    aggregation_page,
    agreement,
    calibration,
    capacity_page,
    cost_page,
    few_labels,
    flags,
    gpu_page,
    joint_consensus,
    judge_panels,
    next_labels,
    report,
    sequence_page,
    shortfalls,
    training_page,
    zoo_page,
)
from benchmarks.benchmark import (
    ACCURACY,
    AGGREGATION,
    AGREEMENT,
    CALIBRATION,
    CAPACITY,
    CHAINS,
    EPOCH_COSTS,
    FEW_LABELS,
    FIT_TIMES,
    FLAGS,
    JOINT_CONSENSUS,
    JUDGE_PANELS,
    NEXT_LABELS,
    RAYKAR,
    REPORT,
    SHORTFALLS,
    TAGGING,
    TRAINING,
    ZOO,
)

PAGES: dict[str, Callable[[Path], str]] = {
    accuracy.PAGE: lambda docs: accuracy.make_page(ACCURACY.read(docs)),
    aggregation_page.PAGE: lambda docs: aggregation_page.make_page(AGGREGATION.read(docs)),
    agreement.PAGE: lambda docs: agreement.make_page(AGREEMENT.read(docs)),
    calibration.PAGE: lambda docs: calibration.make_page(CALIBRATION.read(docs)),
    capacity_page.PAGE: lambda docs: capacity_page.make_page(CAPACITY.read(docs)),
    cost_page.PAGE: lambda docs: cost_page.make_page(
        EPOCH_COSTS.read(docs), RAYKAR.read(docs), FIT_TIMES.read(docs)
    ),
    gpu_page.PAGE: gpu_page.gpu_page,
    few_labels.PAGE: lambda docs: few_labels.make_page(FEW_LABELS.read(docs)),
    flags.PAGE: lambda docs: flags.make_page(FLAGS.read(docs)),
    joint_consensus.PAGE: lambda docs: joint_consensus.make_page(JOINT_CONSENSUS.read(docs)),
    judge_panels.PAGE: lambda docs: judge_panels.make_page(JUDGE_PANELS.read(docs)),
    next_labels.PAGE: lambda docs: next_labels.make_page(NEXT_LABELS.read(docs)),
    report.PAGE: lambda docs: report.make_page(REPORT.read(docs)),
    sequence_page.PAGE: lambda docs: sequence_page.make_page(CHAINS.read(docs), TAGGING.read(docs)),
    shortfalls.PAGE: lambda docs: shortfalls.make_page(SHORTFALLS.read(docs)),
    training_page.PAGE: lambda docs: training_page.make_page(TRAINING.read(docs)),
    zoo_page.PAGE: lambda docs: zoo_page.make_page(ZOO.read(docs)),
}
