"""Evaluation: scores from arrays. Only this room uses the truth."""

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
from manyhands.evaluation.entities import score_entities, score_entity_lists
from manyhands.evaluation.runs import paired_difference, summarize_runs
from manyhands.evaluation.scorecard import (
    ClassificationScorecard,
    RegressionScorecard,
    classification_scorecard,
    regression_scorecard,
)
from manyhands.evaluation.scores import (
    accuracy_score,
    apply_temperature,
    calibration_curve,
    f1_score,
    fit_temperature,
    log_loss,
    regression_scores,
    soft_cross_entropy,
)

__all__ = [
    "CRITERIA",
    "CROWD_METRICS",
    "RANKS",
    "ClassificationScorecard",
    "LabelPredictions",
    "RegressionScorecard",
    "accuracy_score",
    "apply_temperature",
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
    "normalize_counts",
    "paired_difference",
    "rank_average",
    "regression_scorecard",
    "regression_scores",
    "score_entities",
    "score_entity_lists",
    "soft_cross_entropy",
    "summarize_runs",
]
