"""Models that fit and predict by scikit-learn's conventions."""

from manyhands.estimators.classifier import CrowdClassifier
from manyhands.estimators.files import load

__all__ = ["CrowdClassifier", "load"]
