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
    SoftScorecard,
    classification_scorecard,
    regression_scorecard,
    soft_scorecard,
)
from manyhands.evaluation.scores import (
    accuracy_score,
    apply_temperature,
    calibration_curve,
    f1_score,
    fit_temperature,
    log_loss,
    regression_scores,
)
from manyhands.evaluation.soft import (
    AnnotatorScores,
    annotator_scores,
    jensen_shannon_distance,
    jensen_shannon_divergence,
    manhattan_distance,
    soft_cross_entropy,
    wasserstein_distance,
)

__all__ = [
    "CRITERIA",
    "CROWD_METRICS",
    "RANKS",
    "AnnotatorScores",
    "ClassificationScorecard",
    "LabelPredictions",
    "RegressionScorecard",
    "SoftScorecard",
    "accuracy_score",
    "annotator_scores",
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
    "jensen_shannon_distance",
    "jensen_shannon_divergence",
    "js_divergence",
    "log_loss",
    "manhattan_distance",
    "normalize_counts",
    "paired_difference",
    "rank_average",
    "regression_scorecard",
    "regression_scores",
    "score_entities",
    "score_entity_lists",
    "soft_cross_entropy",
    "soft_scorecard",
    "summarize_runs",
    "wasserstein_distance",
]
