"""Scorecards: all scores of a consensus, on the items whose truth is known."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from manyhands.annotations import Vocabulary
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError
from manyhands.evaluation import scores


@dataclass(frozen=True)
class ClassificationScorecard:
    """Scores of classes, on the items whose truth is known."""

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
    """Scores of numbers, on the items whose truth is known."""

    n_items: int
    mae: float
    rmse: float

    def as_dict(self) -> dict[str, float]:
        """The scores by name."""
        return asdict(self)


def classification_scorecard(
    items: Vocabulary, classes: Vocabulary, probabilities_ik: Floats, labels: AnyArray,
    confidence: Floats, truth: Mapping[Any, Any],
) -> ClassificationScorecard:  # fmt: skip
    """Score class probabilities and labels; rows follow the order of `items`."""
    row, names = match_truth(items, truth)
    code = classes.codes(names)
    # A true class without any label has no column and counts as an error.
    wide_ik = np.concatenate([probabilities_ik[row], np.zeros((len(row), 1))], axis=1)
    code = np.where(code < 0, wide_ik.shape[1] - 1, code)
    correct = classes.codes(labels[row].tolist()) == code
    low, high = scores.accuracy_interval(int(correct.sum()), len(row))
    return ClassificationScorecard(
        len(row),
        scores.accuracy_score(np.ones(len(row)), correct),
        low,
        high,
        scores.log_loss(code, wide_ik),
        scores.brier_score(code, wide_ik),
        scores.calibration_curve(confidence[row], correct).calibration_error,
    )


def regression_scorecard(
    items: Vocabulary, values: Floats, truth: Mapping[Any, Any]
) -> RegressionScorecard:
    """Score numbers, which follow the order of `items`."""
    row, names = match_truth(items, truth)
    try:
        true_values = np.array([float(name) for name in names])
    except (TypeError, ValueError):
        raise DataError("the truth has words, but the labels are numbers; give numbers") from None
    if not np.isfinite(true_values).all():
        raise DataError("the truth has numbers that are not finite; leave those items out")
    error = true_values - values[row]
    mae, rmse = float(np.abs(error).mean()), float(np.sqrt((error**2).mean()))
    return RegressionScorecard(len(row), mae, rmse)


def match_truth(items: Vocabulary, truth: Mapping[Any, Any]) -> tuple[AnyArray, list[Any]]:
    """The rows of the items whose truth is known, and their truths."""
    codes = items.codes(truth)
    names = [value for value, code in zip(truth.values(), codes, strict=True) if code >= 0]
    if not names:
        raise DataError("no item of the truth table has labels; check that the item names match")
    return codes[codes >= 0], names
