"""EM steps of common noise with a classifier in place of the class prior."""

from dataclasses import dataclass

import numpy as np

from manyhands.aggregation.common_noise import CommonNoise, CommonNoiseParameters
from manyhands.aggregation.evidence import gather_evidence
from manyhands.aggregation.kernels.confusion_loops import TINY
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass, fit_confusions
from manyhands.aggregation.kernels.label_sources import even_mistakes, mix_sources
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats


@dataclass(frozen=True)
class Sources:
    """The shared confusion, own confusions, and the share of labels from the shared one.

    `share` has one number per annotation, or one per annotator.
    """

    log_common_lk: Floats
    log_own_alk: Floats
    share: Floats


class AnnotatorShareSteps:
    """Steps of `CommonNoise`: the labels of an annotator share one omega.

    The objective is that of `CommonNoise` with f_k(x_i) in place of pi_k; it never falls.
    """

    def __init__(self, annotations: Annotations, model: CommonNoise) -> None:
        self._expect, self._model = ConfusionPass(gather_evidence(annotations)), model
        self._initial, self._crowd_lk = model.first_parameters(self._expect)
        self.first = _sources(self._initial)

    def step(self, log_class_ik: Floats, before: Sources) -> tuple[Floats, Sources]:
        """The posterior of the items (i, k) under these sources, and better sources."""
        parameters = CommonNoiseParameters(
            self._initial.log_prior_k,
            before.log_common_lk,
            before.log_own_alk,
            before.share,
            self._initial.log_even_lk,
        )
        expected = self._expect(log_class_ik, parameters.log_confusion_alk)
        better, _ = self._model.maximise(expected, parameters, self._crowd_lk)
        return expected.posterior_ik.copy(), _sources(better)

    def profile(self, sources: Sources) -> Floats:
        """The confusion of every annotator, (a, k, l)."""
        return _confusion(sources, sources.share)


class AnnotationShareSteps:
    """Steps in which every annotation n has its own omega, as in the paper.

    ::

        E:  P_n[k] = omega_n G[k, y_n] + (1 - omega_n) C[a_n, k, y_n]
            q_ik ~ f_k(x_i) prod_n P_n[k]
            r_nk = p(s_n = common | z = k) = omega_n G[k, y_n] / P_n[k]
        M:  omega_n = (sum_k q_ik r_nk + c) / (1 + 2 c)
            G[k, l] ~ sum_n q_ik r_nk [y_n = l]
            C[a, k, l] ~ sum_n q_ik (1 - r_nk) [a_n = a, y_n = l] + A[k, l]

    The objective never falls::

        sum_i log sum_k f_k(x_i) prod_n P_n[k] + sum_akl A[k, l] log C[a, k, l]
            + c sum_n [log omega_n + log(1 - omega_n)]

    With c = 0 and A = 0 these are the closed forms of the paper. A is `prior_strength`
    pseudo-labels of the crowd plus `own_strength` pseudo-labels with equally frequent mistakes. The
    confusion of an annotator uses the mean omega of their labels.

    Source: Chu, Ma and Wang 2021, appendix B.
    """

    def __init__(
        self, annotations: Annotations, model: CommonNoise, *, share_pseudo_count: float
    ) -> None:
        first, crowd_lk = model.first_parameters(ConfusionPass(gather_evidence(annotations)))
        self._ann, self._pseudo_count = annotations, share_pseudo_count
        self.pseudo_lk = model.prior_strength * crowd_lk
        self.pseudo_lk += model.own_strength * even_mistakes(crowd_lk)
        half_n = np.full(annotations.n_annotations, 0.5)
        self.first = Sources(first.log_common_lk, first.log_own_alk, half_n)

    def step(self, log_class_ik: Floats, before: Sources) -> tuple[Floats, Sources]:
        """The posterior of the items (i, k) under these sources, and better sources."""
        ann, (n_labels, n_classes) = self._ann, before.log_common_lk.shape
        common_nk = before.share[:, None] * np.exp(before.log_common_lk)[ann.label]
        own_nk = np.exp(before.log_own_alk[ann.annotator, ann.label])
        label_nk = common_nk + (1.0 - before.share[:, None]) * own_nk
        log_joint_ik = log_class_ik.copy()
        np.add.at(log_joint_ik, ann.item, np.log(np.maximum(label_nk, TINY)))
        log_joint_ik -= log_joint_ik.max(axis=1, keepdims=True)
        posterior_ik = np.exp(log_joint_ik)
        posterior_ik /= posterior_ik.sum(axis=1, keepdims=True)
        belief_nk = posterior_ik[ann.item]
        # Rounding must not take a share above 1.
        shared_nk = belief_nk * np.minimum(common_nk / np.maximum(label_nk, TINY), 1.0)
        shared_n = np.minimum(shared_nk.sum(axis=1), 1.0)
        counts_lk, counts_alk = np.zeros((n_labels, n_classes)), np.zeros_like(before.log_own_alk)
        np.add.at(counts_lk, ann.label, shared_nk)
        np.add.at(counts_alk, (ann.annotator, ann.label), belief_nk - shared_nk)
        common = fit_confusions(counts_lk[None], np.zeros((1, n_labels, n_classes)))
        own = fit_confusions(counts_alk, self.pseudo_lk[None])
        share_n = (shared_n + self._pseudo_count) / (1.0 + 2.0 * self._pseudo_count)
        return posterior_ik, Sources(common.log_confusion_alk[0], own.log_confusion_alk, share_n)

    def profile(self, sources: Sources) -> Floats:
        """The confusion of every annotator, (a, k, l)."""
        ann = self._ann
        total_a = np.bincount(ann.annotator, weights=sources.share, minlength=ann.n_annotators)
        # One half for an annotator without labels.
        share_a = (total_a + 0.5) / (ann.labels_per_annotator + 1.0)
        return _confusion(sources, share_a)


def _sources(parameters: CommonNoiseParameters) -> Sources:
    return Sources(parameters.log_common_lk, parameters.log_own_alk, parameters.share_a)


def _confusion(sources: Sources, share_a: Floats) -> Floats:
    log_confusion_alk = mix_sources(sources.log_common_lk, sources.log_own_alk, share_a)
    return np.asarray(np.exp(log_confusion_alk).transpose(0, 2, 1))
