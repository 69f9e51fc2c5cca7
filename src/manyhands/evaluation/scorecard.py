"""A consensus against the truth of some or all of its items."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from manyhands.annotations import Vocabulary
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError
from manyhands.evaluation.calibration import reliability
from manyhands.evaluation.scores import (
    accuracy,
    accuracy_interval,
    brier,
    log_loss,
    mean_absolute_error,
    root_mean_squared_error,
)


@dataclass(frozen=True)
class ClassScorecard:
    """How well classes were found, on the items whose truth is known."""

    n_items: int
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    log_loss: float
    brier: float
    calibration_error: float

    def as_dict(self) -> dict[str, float]:
        """The scores by name."""
        return asdict(self)


@dataclass(frozen=True)
class RegressionScorecard:
    """How well numbers were found, on the items whose truth is known."""

    n_items: int
    mae: float
    rmse: float

    def as_dict(self) -> dict[str, float]:
        """The scores by name."""
        return asdict(self)


def score_classes(
    items: Vocabulary, classes: Vocabulary, probabilities_ik: Floats, labels: AnyArray,
    confidence: Floats, truth: Mapping[Any, Any],
) -> ClassScorecard:  # fmt: skip
    """Score class probabilities and labels, rows in the order of `items`."""
    row, names = matched(items, truth)
    code = classes.codes(names)
    # A true class nobody ever said has no column: it is an error of the consensus.
    wide_ik = np.concatenate([probabilities_ik[row], np.zeros((len(row), 1))], axis=1)
    code = np.where(code < 0, wide_ik.shape[1] - 1, code)
    right = classes.codes(labels[row].tolist()) == code
    low, high = accuracy_interval(int(right.sum()), len(row))
    return ClassScorecard(
        len(row),
        accuracy(np.ones(len(row)), right),
        low,
        high,
        log_loss(code, wide_ik),
        brier(code, wide_ik),
        reliability(confidence[row], right).calibration_error,
    )


def score_regression(
    items: Vocabulary, values: Floats, truth: Mapping[Any, Any]
) -> RegressionScorecard:
    """Score numbers, in the order of `items`."""
    row, names = matched(items, truth)
    try:
        wanted = np.array([float(name) for name in names])
    except (TypeError, ValueError):
        raise DataError("the truth holds words, but the labels are numbers") from None
    if not np.isfinite(wanted).all():
        raise DataError("the truth holds numbers that are not finite")
    return RegressionScorecard(
        len(row),
        mean_absolute_error(wanted, values[row]),
        root_mean_squared_error(wanted, values[row]),
    )


def matched(items: Vocabulary, truth: Mapping[Any, Any]) -> tuple[AnyArray, list[Any]]:
    """Rows of the items whose truth is given, and those truths."""
    codes = items.codes(truth)
    names = [value for value, code in zip(truth.values(), codes, strict=True) if code >= 0]
    if not names:
        raise DataError("not one item of the truth table was labelled; do the ids match?")
    return codes[codes >= 0], names
