"""Comparing and choosing methods and settings, with truth or without; what to label next."""

import importlib
from typing import TYPE_CHECKING, Any

from manyhands.aggregation.crowdlab import Crowdlab, crowdlab
from manyhands.selection.active_lab import active_lab
from manyhands.selection.budget_curve import BudgetCurve, Verdict, budget_curve
from manyhands.selection.judges.certify import Certificate, accuracy_bound, labels_to_certify
from manyhands.selection.judges.dependence import Estimate
from manyhands.selection.judges.panel import JudgeGroup, JudgePanel, judge_panel
from manyhands.selection.next_labels import NEXT_METHODS, NextLabels, next_labels
from manyhands.selection.next_pairs import PAIR_METHODS, NextComparisons, next_comparisons
from manyhands.selection.pair_curve import comparison_curve

if TYPE_CHECKING:
    from manyhands.selection.choose_method import Selection, all_candidates, select, select_on_trial
    from manyhands.selection.compare import (
        compare_training,
        n_runs,
        require_methods,
        scores_of,
        train_seeds_on,
        trained_on,
    )
    from manyhands.selection.cross_validation import out_of_sample
    from manyhands.selection.trial import Trial, trial_of_corpus, trial_of_files, trial_of_tokens

__all__ = [
    "NEXT_METHODS",
    "PAIR_METHODS",
    "BudgetCurve",
    "Certificate",
    "Crowdlab",
    "Estimate",
    "JudgeGroup",
    "JudgePanel",
    "NextComparisons",
    "NextLabels",
    "Selection",
    "Trial",
    "Verdict",
    "accuracy_bound",
    "active_lab",
    "all_candidates",
    "budget_curve",
    "compare_training",
    "comparison_curve",
    "crowdlab",
    "judge_panel",
    "labels_to_certify",
    "n_runs",
    "next_comparisons",
    "next_labels",
    "out_of_sample",
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

# What trains networks needs torch and is loaded on first use: labels alone do not.
_TRAINING = {
    "compare": (
        "compare_training", "n_runs", "require_methods", "scores_of", "train_seeds_on",
        "trained_on",
    ),
    "choose_method": ("Selection", "all_candidates", "select", "select_on_trial"),
    "cross_validation": ("out_of_sample",),
    "trial": ("Trial", "trial_of_corpus", "trial_of_files", "trial_of_tokens"),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    for module, names in _TRAINING.items():
        if name in names:
            return getattr(importlib.import_module(f"manyhands.selection.{module}"), name)
    raise AttributeError(f"module 'manyhands.selection' has no attribute {name!r}")
