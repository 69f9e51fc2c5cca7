"""Numbers from arrays: scores, calibration, scorecards. The only room that opens the truth."""

from manyhands.evaluation.calibration import Reliability, reliability
from manyhands.evaluation.scorecard import (
    ClassScorecard,
    NumberScorecard,
    score_classes,
    score_numbers,
)
from manyhands.evaluation.scores import (
    accuracy,
    accuracy_interval,
    brier,
    log_loss,
    mean_absolute_error,
    root_mean_squared_error,
)
from manyhands.evaluation.temperature import fit_temperature, tempered

__all__ = [
    "ClassScorecard",
    "NumberScorecard",
    "Reliability",
    "accuracy",
    "accuracy_interval",
    "brier",
    "fit_temperature",
    "log_loss",
    "mean_absolute_error",
    "reliability",
    "root_mean_squared_error",
    "score_classes",
    "score_numbers",
    "tempered",
]
