"""Dawid-Skene: every annotator has their own confusion matrix."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from manyhands.aggregation.base import ClassAggregator, IterativeSettings
from manyhands.aggregation.confusions import (
    ConfusionParameters,
    crowd_confusion,
    first_expectation,
    fit_class_prior,
)
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.em import run_em
from manyhands.aggregation.evidence import Evidence, gather_evidence
from manyhands.aggregation.kernels.confusion_pass import (
    ConfusionPass,
    Expectation,
    fit_confusions,
)
from manyhands.aggregation.majority import majority_posterior
from manyhands.aggregation.parameters import Parameters
from manyhands.aggregation.spectral import spectral_posterior
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.errors import SettingError
from manyhands.core.settings import require, require_choice

INITS = ("majority", "spectral")
PRIORS = ("pooled", "flat")

_State = tuple[ConfusionParameters, float]  # parameters and their log-prior


@dataclass(frozen=True, kw_only=True)
class DawidSkene(IterativeSettings, ClassAggregator[ConfusionParameters]):
    """EM for class prior pi and confusions C, with Dirichlet pseudo-counts A (MAP).

    ::

        E:  q_ik ~ pi_k prod_n C[a_n, k, y_n]
        M:  C[a,k,l] ~ sum_n q_ik [a_n = a, y_n = l] + A[k,l]
            pi_k ~ sum_i q_ik + class_pseudo_count

    The objective never falls::

        sum_i log sum_k pi_k prod_n C[a_n,k,y_n]
            + sum_akl A[k,l] log C[a,k,l] + class_pseudo_count sum_k log pi_k

    Settings
    --------
    prior, prior_strength:
        "pooled" shrinks every annotator towards the crowd: A[k,l] = prior_strength x the confusion
        of an average annotator, estimated after one step and then kept fixed. An annotator with few
        labels is then close to an average one instead of being fitted to noise. "flat" spreads the
        same number of pseudo-labels evenly. prior_strength is in labels per true class; 0 is plain
        Dawid-Skene (maximum likelihood).
    prior_confusions:
        {annotator: (k, l) matrix} for annotators about whom something is known. It replaces the
        crowd's confusion in their prior.
    init:
        "majority", or "spectral" (Zhang et al. 2016), which does not need the majority to be right.
    seed:
        Random numbers of the spectral start are drawn from it.

    Source: Dawid and Skene 1979.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> DawidSkene().fit(ann).labels.tolist()
    [0, 1, 0]
    """

    name: ClassVar[str] = "dawid-skene"
    parameters_type: ClassVar[type[Parameters]] = ConfusionParameters

    prior: Literal["pooled", "flat"] = "pooled"
    prior_strength: float = 10.0
    class_pseudo_count: float = 1.0
    prior_confusions: Mapping[Any, Any] | None = None
    init: Literal["majority", "spectral"] = "majority"
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("prior", self.prior, PRIORS)
        require_choice("init", self.init, INITS)
        require(
            0 <= self.prior_strength < np.inf, "prior_strength", "0 or more", self.prior_strength
        )
        require(
            not self.prior_confusions or self.prior_strength > 0,
            "prior_strength",
            "above 0 for prior_confusions to count",
            self.prior_strength,
        )
        require(self.class_pseudo_count >= 0, "class_pseudo_count", ">= 0", self.class_pseudo_count)

    def _fit(self, evidence: Evidence, start: ConfusionParameters | None) -> Consensus:
        expect = ConfusionPass(evidence)
        expected, crowd_lk = self.first_expectation(expect)
        pseudo_alk = self.pseudo_counts(crowd_lk, evidence.annotations)

        def maximise(expected: Expectation) -> _State:
            log_prior_k, log_p_prior = fit_class_prior(expected.mass_k, self.class_pseudo_count)
            step = fit_confusions(expected.counts_alk, pseudo_alk)
            parameters = ConfusionParameters(log_prior_k, step.log_confusion_alk, np.log(crowd_lk))
            return parameters, log_p_prior + step.log_prior

        def step(state: _State) -> tuple[_State, float]:
            parameters, log_p_parameters = state
            expected = expect(parameters.log_prior_k, parameters.log_confusion_alk)
            return maximise(expected), expected.log_likelihood + log_p_parameters

        if start is not None:
            expected = expect(start.log_prior_k, start.log_confusion_alk)
        tol = self.tol * evidence.annotations.n_annotations
        run = run_em(maximise(expected), step, max_iter=self.max_iter, tol=tol)
        parameters, _ = run.state
        expected = expect(parameters.log_prior_k, parameters.log_confusion_alk)
        estimates = {"probabilities": expected.posterior_ik}
        return self._consensus(evidence, parameters, estimates, run.objective, run.converged)

    def first_expectation(self, expect: ConfusionPass) -> tuple[Expectation, Floats]:
        """The first expectation, and the crowd's confusion (l, k) in it."""
        evidence = expect.evidence
        posterior_ik = majority_posterior(evidence)
        if self.init == "spectral":
            posterior_ik = spectral_posterior(evidence, posterior_ik, self.seed)
        return first_expectation(
            expect,
            posterior_ik,
            lambda crowd_lk: self.pseudo_counts(crowd_lk, evidence.annotations),
            self.prior_strength,
            self.class_pseudo_count,
        )

    def _estimate_items(
        self, evidence: Evidence, parameters: ConfusionParameters
    ) -> dict[str, Any]:
        expected = ConfusionPass(evidence)(parameters.log_prior_k, parameters.log_confusion_alk)
        return {"probabilities": expected.posterior_ik}

    def pseudo_counts(self, crowd_lk: Floats, annotations: Annotations) -> Floats:
        """Pseudo-counts (1, l, k), or (a, l, k) with `prior_confusions` of some annotators."""
        n_classes = len(crowd_lk)
        target_lk = crowd_lk if self.prior == "pooled" else np.full_like(crowd_lk, 1 / n_classes)
        pseudo_alk = self.prior_strength * target_lk[None]
        if not self.prior_confusions:
            return pseudo_alk
        pseudo_alk = np.repeat(pseudo_alk, annotations.n_annotators, axis=0)
        for name, matrix in self.prior_confusions.items():
            a = annotations.annotator_vocabulary.code(name)
            pseudo_alk[a] = self.prior_strength * _prior_confusion(matrix, n_classes, name).T
        return pseudo_alk


class ConfusionSteps:
    """E- and M-steps of Dawid-Skene with its priors, one at a time, for a classifier f.

    ::

        E:  q_ik ~ f_k(x_i) prod_n C[a_n, k, y_n]
        M:  C[a, k, l] ~ sum_n q_ik [a_n = a, y_n = l] + A[k, l]

    The classifier takes the place of the class prior. The pseudo-counts A are those of `model`,
    computed once at the start. Confusions have shape (a, k, l).
    """

    def __init__(self, annotations: Annotations, model: DawidSkene) -> None:
        self._expect = ConfusionPass(gather_evidence(annotations))
        expected, crowd_lk = model.first_expectation(self._expect)
        self._pseudo_alk = model.pseudo_counts(crowd_lk, annotations)
        self.first = self._confusions(expected.counts_alk)

    def posterior(self, log_class_ik: Floats, confusion_akl: Floats) -> Floats:
        """The E-step: class probabilities given classifier and labels, (i, k)."""
        log_confusion_alk = np.log(np.maximum(confusion_akl, np.finfo(np.float64).tiny))
        aligned_alk = np.ascontiguousarray(log_confusion_alk.transpose(0, 2, 1))
        return self._expect(log_class_ik, aligned_alk).posterior_ik.copy()

    def confusions(self, posterior_ik: Floats) -> Floats:
        """The M-step: the most probable confusions (a, k, l) under a posterior."""
        return self._confusions(self._expect.count(posterior_ik).counts_alk)

    def _confusions(self, counts_alk: Floats) -> Floats:
        log_confusion_alk = fit_confusions(counts_alk, self._pseudo_alk).log_confusion_alk
        return np.asarray(np.exp(log_confusion_alk).transpose(0, 2, 1))


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


def _prior_confusion(matrix: Any, n_classes: int, name: object) -> Floats:
    confusion_kl = np.asarray(matrix, dtype=np.float64)
    if confusion_kl.shape != (n_classes, n_classes):
        raise SettingError(
            f"prior_confusions[{name!r}] must have shape {(n_classes, n_classes)}; "
            f"got {confusion_kl.shape}"
        )
    if (confusion_kl < 0).any() or not np.allclose(confusion_kl.sum(axis=1), 1.0):
        raise SettingError(
            f"prior_confusions[{name!r}] must hold probabilities, each row summing to 1"
        )
    return confusion_kl
