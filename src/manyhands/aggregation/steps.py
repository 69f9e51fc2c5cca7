"""The steps of EM for confusions, with a classifier in the place of the class prior."""

import numpy as np

from manyhands.aggregation.confusions import fit_confusions
from manyhands.aggregation.dawid_skene import DawidSkene
from manyhands.aggregation.evidence import gather_evidence
from manyhands.aggregation.passes import ConfusionPass
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats


class ConfusionSteps:
    """E- and M-steps of Dawid-Skene with its priors, one at a time.

    ::

        E:  q_ik ~ f_k(x_i) prod_n C[a_n, k, y_n]
        M:  C[a, k, l] ~ sum_n q_ik [a_n = a, y_n = l] + A[k, l]

    The pseudo-counts A are those of `model`, seen at the start and fixed ever after. Confusions
    are (a, k, l) here as everywhere.
    """

    def __init__(self, annotations: Annotations, model: DawidSkene) -> None:
        self._expect = ConfusionPass(gather_evidence(annotations))
        expected, crowd_lk = model._begin(self._expect)
        self._pseudo_alk = model._pseudo_counts(crowd_lk, annotations)
        self.first = self._confusions(expected.counts_alk)

    def posterior(self, log_class_ik: Floats, confusion_akl: Floats) -> Floats:
        """The E-step: what classifier and labels believe together, (i, k)."""
        log_confusion_alk = np.log(np.maximum(confusion_akl, np.finfo(np.float64).tiny))
        aligned_alk = np.ascontiguousarray(log_confusion_alk.transpose(0, 2, 1))
        return self._expect(log_class_ik, aligned_alk).posterior_ik.copy()

    def confusions(self, posterior_ik: Floats) -> Floats:
        """The M-step: the most probable confusions (a, k, l) under a posterior."""
        return self._confusions(self._expect.count(posterior_ik).counts_alk)

    def _confusions(self, counts_alk: Floats) -> Floats:
        log_confusion_alk = fit_confusions(counts_alk, self._pseudo_alk).log_confusion_alk
        return np.asarray(np.exp(log_confusion_alk).transpose(0, 2, 1))
