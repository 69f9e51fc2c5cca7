"""Topic models whose topics explain the labels of many people as well as the words of documents.

Axis letters beside the usual ones: document `d` (an item), word `w`, topic `t`, and cell `j`, a
word of a document with its count.
"""

from manyhands.methods.topics.fitting import TopicFit, fit_topics, predict_topics
from manyhands.methods.topics.regression_fitting import (
    NumberTopicFit,
    fit_number_topics,
    predict_number_topics,
)

__all__ = [
    "NumberTopicFit",
    "TopicFit",
    "fit_number_topics",
    "fit_topics",
    "predict_number_topics",
    "predict_topics",
]
