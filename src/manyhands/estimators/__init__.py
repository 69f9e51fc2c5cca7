"""Estimators that fit and predict by scikit-learn's conventions."""

from manyhands.estimators.better_labels import consensus, find_shared_mistakes
from manyhands.estimators.classifier import CrowdClassifier
from manyhands.estimators.files import ESTIMATORS, estimator_for, load
from manyhands.estimators.labels import SingleAnnotatorWarning
from manyhands.estimators.many import fit_many, why_separate
from manyhands.estimators.multilabel import CrowdMultilabelClassifier
from manyhands.estimators.ranker import CrowdRanker
from manyhands.estimators.regressor import CrowdRegressor
from manyhands.estimators.tagger import CrowdTagger

__all__ = [
    "ESTIMATORS",
    "CrowdClassifier",
    "CrowdMultilabelClassifier",
    "CrowdRanker",
    "CrowdRegressor",
    "CrowdTagger",
    "SingleAnnotatorWarning",
    "consensus",
    "estimator_for",
    "find_shared_mistakes",
    "fit_many",
    "load",
    "why_separate",
]
