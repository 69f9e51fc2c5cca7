"""Topic models whose topics explain both the words of documents and their crowd labels.

Axis letters in addition to the usual ones: document `d` (an item), word `w`, topic `t`, and cell
`j`, a word of a document with its count.
"""

from manyhands.methods.base import Method
from manyhands.methods.topics import classification, regression
from manyhands.methods.topics.classification import (
    TopicClassifier,
    TopicClassifierFit,
    TopicModel,
    fit_topic_classifier,
    predict_classes,
)
from manyhands.methods.topics.regression import (
    RegressionTopicModel,
    TopicRegressor,
    TopicRegressorFit,
    fit_topic_regressor,
    predict_values,
)

ROWS: dict[str, Method] = {**classification.ROWS, **regression.ROWS}

__all__ = [
    "ROWS",
    "RegressionTopicModel",
    "TopicClassifier",
    "TopicClassifierFit",
    "TopicModel",
    "TopicRegressor",
    "TopicRegressorFit",
    "fit_topic_classifier",
    "fit_topic_regressor",
    "predict_classes",
    "predict_values",
]
