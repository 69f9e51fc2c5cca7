"""Comparing and choosing methods and settings, with truth or without."""

from manyhands.selection.compare import (
    compare_training,
    n_runs,
    require_methods,
    scores_of,
    train_seeds_on,
    trained_on,
)
from manyhands.selection.select import Selection, all_candidates, select, select_on_trial
from manyhands.selection.trial import Trial, trial_of_corpus, trial_of_files, trial_of_tokens

__all__ = [
    "Selection",
    "Trial",
    "all_candidates",
    "compare_training",
    "n_runs",
    "require_methods",
    "scores_of",
    "select",
    "select_on_trial",
    "train_seeds_on",
    "trained_on",
    "trial_of_corpus",
    "trial_of_files",
    "trial_of_tokens",
]
