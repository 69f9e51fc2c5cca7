"""Numbers from arrays: scores, calibration, scorecards. The only room that opens the truth."""

from manyhands.evaluation.calibration import Reliability, reliability
from manyhands.evaluation.confusions import (
    confusion_entropy,
    global_js,
    identity_similarity,
    individual_js,
    js_divergence,
    label_counts,
    shares_of_counts,
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
from manyhands.evaluation.paired import Difference, paired_difference
from manyhands.evaluation.regression import correlation, r2, regression_scores
from manyhands.evaluation.runs import RunSummary, summarise_runs
from manyhands.evaluation.scorecard import (
    ClassScorecard,
    RegressionScorecard,
    score_classes,
    score_regression,
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
    "CRITERIA",
    "CROWD_METRICS",
    "RANKS",
    "ClassScorecard",
    "Difference",
    "EntityCounts",
    "EntityScores",
    "LabelPredictions",
    "RegressionScorecard",
    "Reliability",
    "RunSummary",
    "accuracy",
    "accuracy_interval",
    "brier",
    "confusion_entropy",
    "correlation",
    "crowd_metrics",
    "f1",
    "fit_temperature",
    "global_js",
    "identity_similarity",
    "individual_js",
    "js_divergence",
    "label_counts",
    "log_loss",
    "mean_absolute_error",
    "paired_difference",
    "r2",
    "rank_average",
    "regression_scores",
    "reliability",
    "root_mean_squared_error",
    "score_classes",
    "score_entities",
    "score_entity_lists",
    "score_regression",
    "shares_of_counts",
    "soft_cross_entropy",
    "summarise_runs",
    "tempered",
]
