"""Numbers from arrays: scores, calibration, scorecards. The only room that opens the truth."""

from manyhands.evaluation.calibration import Reliability, reliability
from manyhands.evaluation.confusions import (
    confusion_entropy,
    global_js,
    identity_similarity,
    individual_js,
    js_divergence,
)
from manyhands.evaluation.runs import RunSummary, summarise_runs
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
    f1,
    log_loss,
    mean_absolute_error,
    root_mean_squared_error,
    soft_cross_entropy,
)
from manyhands.evaluation.temperature import fit_temperature, tempered

__all__ = [
    "ClassScorecard",
    "NumberScorecard",
    "Reliability",
    "RunSummary",
    "accuracy",
    "accuracy_interval",
    "brier",
    "confusion_entropy",
    "f1",
    "fit_temperature",
    "global_js",
    "identity_similarity",
    "individual_js",
    "js_divergence",
    "log_loss",
    "mean_absolute_error",
    "reliability",
    "root_mean_squared_error",
    "score_classes",
    "score_numbers",
    "soft_cross_entropy",
    "summarise_runs",
    "tempered",
]
