"""Evaluation: scores from arrays. Only this room uses the truth."""

from manyhands.evaluation.calibration import (
    CalibrationCurve,
    apply_temperature,
    calibration_curve,
    fit_temperature,
)
from manyhands.evaluation.confusions import (
    confusion_counts,
    confusion_entropy,
    global_js,
    identity_similarity,
    individual_js,
    js_divergence,
    normalize_counts,
)
from manyhands.evaluation.crowd_metrics import (
    CRITERIA,
    CROWD_METRICS,
    RANKS,
    LabelPredictions,
    crowd_metrics,
    rank_average,
)
from manyhands.evaluation.entities import (
    EntityCounts,
    EntityScores,
    score_entities,
    score_entity_lists,
)
from manyhands.evaluation.runs import Difference, RunSummary, paired_difference, summarize_runs
from manyhands.evaluation.scorecard import (
    ClassificationScorecard,
    RegressionScorecard,
    classification_scorecard,
    regression_scorecard,
)
from manyhands.evaluation.scores import (
    accuracy_interval,
    accuracy_score,
    brier_score,
    f1_score,
    log_loss,
    mean_absolute_error,
    pearson_correlation,
    r2_score,
    regression_scores,
    root_mean_squared_error,
    soft_cross_entropy,
)

__all__ = [
    "CRITERIA",
    "CROWD_METRICS",
    "RANKS",
    "CalibrationCurve",
    "ClassificationScorecard",
    "Difference",
    "EntityCounts",
    "EntityScores",
    "LabelPredictions",
    "RegressionScorecard",
    "RunSummary",
    "accuracy_interval",
    "accuracy_score",
    "apply_temperature",
    "brier_score",
    "calibration_curve",
    "classification_scorecard",
    "confusion_counts",
    "confusion_entropy",
    "crowd_metrics",
    "f1_score",
    "fit_temperature",
    "global_js",
    "identity_similarity",
    "individual_js",
    "js_divergence",
    "log_loss",
    "mean_absolute_error",
    "normalize_counts",
    "paired_difference",
    "pearson_correlation",
    "r2_score",
    "rank_average",
    "regression_scorecard",
    "regression_scores",
    "root_mean_squared_error",
    "score_entities",
    "score_entity_lists",
    "soft_cross_entropy",
    "summarize_runs",
]
