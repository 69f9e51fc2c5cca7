"""Models that fit and predict by scikit-learn's conventions."""

from manyhands.estimators.classifier import CrowdClassifier
from manyhands.estimators.comparison import (
    Trial,
    compare_training,
    fit_to_trial,
    n_runs,
    require_methods,
    scores_of,
    trained_on,
)
from manyhands.estimators.files import load
from manyhands.estimators.regressor import CrowdRegressor
from manyhands.estimators.selection import Selection, all_candidates, select, select_on_trial
from manyhands.estimators.tagger import CrowdTagger
from manyhands.estimators.trials import trial_of_corpus, trial_of_files, trial_of_tokens

__all__ = [
    "CrowdClassifier",
    "CrowdRegressor",
    "CrowdTagger",
    "Selection",
    "Trial",
    "all_candidates",
    "compare_training",
    "fit_to_trial",
    "load",
    "n_runs",
    "require_methods",
    "scores_of",
    "select",
    "select_on_trial",
    "trained_on",
    "trial_of_corpus",
    "trial_of_files",
    "trial_of_tokens",
]
