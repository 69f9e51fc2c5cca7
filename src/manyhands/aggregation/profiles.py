"""Portraits of annotators against any belief about the items."""

import numpy as np

from manyhands.aggregation.confusions import crowd_confusion, fit_confusions
from manyhands.aggregation.dawid_skene import DawidSkene
from manyhands.aggregation.evidence import gather_evidence
from manyhands.aggregation.passes import ConfusionPass
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.settings import require


def estimate_confusions(
    annotations: Annotations,
    posterior_ik: Floats,
    *,
    prior_strength: float = DawidSkene.prior_strength,
) -> Floats:
    """Every annotator's confusion (a, k, l) given class probabilities of the items.

    C[a,k,l] ~ sum_n q_ik [a_n = a, y_n = l] + prior_strength P[k,l], P the confusion of an average
    annotator: the M-step of Dawid-Skene with its pooled prior.
    """
    require(prior_strength > 0, "prior_strength", "> 0", prior_strength)
    expected = ConfusionPass(gather_evidence(annotations)).count(posterior_ik)
    crowd_lk = crowd_confusion(expected.counts_alk, max(prior_strength, 1.0))
    step = fit_confusions(expected.counts_alk, prior_strength * crowd_lk[None])
    return np.exp(step.log_confusion_alk).transpose(0, 2, 1)
