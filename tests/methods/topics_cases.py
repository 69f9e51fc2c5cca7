"""Predictions of topic models for new documents."""

import numpy as np
from scipy.special import softmax

from manyhands.methods.topics.variational import infer_topics


def predict_classes(fit, counts):
    """Class probabilities by words alone, softmax(eta . E zbar), shape (d, k)."""
    mean_topic_dt = infer_topics(fit.zeta_tw, fit.alpha, counts)
    return np.asarray(softmax(mean_topic_dt @ fit.eta_tk, axis=1))
