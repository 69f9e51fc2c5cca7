"""Dawid-Skene: every annotator has a confusion matrix of their own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from manyhands.aggregation.base import ClassAggregator, IterativeSettings
from manyhands.aggregation.confusions import (
    ConfusionParameters,
    first_look,
    fit_class_prior,
    fit_confusions,
)
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.em import run_em
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.majority import majority_posterior
from manyhands.aggregation.passes import ConfusionPass, Expectation
from manyhands.aggregation.spectral import spectral_posterior
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.errors import SettingError
from manyhands.core.settings import require, require_choice

STARTS = ("majority", "spectral")
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
        "pooled" draws every annotator towards the crowd: A[k,l] = prior_strength x the confusion
        of an average annotator as it shows after one step, held fixed from then on. An annotator
        with few labels is then taken for an average one instead of being fitted to noise. "flat"
        spreads the same number of pseudo-labels evenly. prior_strength is in labels per true
        class; 0 is plain Dawid-Skene (maximum likelihood).
    prior_confusions:
        what is known of some annotators: {name: (k, l) matrix}; takes the crowd's place for them.
    start:
        "majority", or "spectral" (Zhang et al. 2016), which does not need the majority to be right.

    Source: Dawid and Skene 1979.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> DawidSkene().fit(ann).labels.tolist()
    [0, 1, 0]
    """

    prior: Literal["pooled", "flat"] = "pooled"
    prior_strength: float = 10.0
    class_pseudo_count: float = 1.0
    prior_confusions: Mapping[Any, Any] | None = None
    start: Literal["majority", "spectral"] = "majority"
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("prior", self.prior, PRIORS)
        require_choice("start", self.start, STARTS)
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

    def confusion(self, consensus: Consensus) -> Floats:
        """Every annotator's confusion, shape (a, k, l)."""
        parameters: ConfusionParameters = consensus.parameters
        return parameters.confusion_akl()

    def _fit(self, evidence: Evidence, start: ConfusionParameters | None) -> Consensus:
        expect = ConfusionPass(evidence)
        expected, crowd_lk = self._begin(expect)
        pseudo_alk = self._pseudo_counts(crowd_lk, evidence.annotations)

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
        begin = maximise(expected)
        tol = self.tol * evidence.annotations.n_annotations
        run = run_em(begin, step, max_iter=self.max_iter, tol=tol)
        parameters, _ = run.state
        expected = expect(parameters.log_prior_k, parameters.log_confusion_alk)
        beliefs = {"probabilities": expected.posterior_ik}
        return self._consensus(evidence, parameters, beliefs, run.objective, run.converged)

    def _begin(self, expect: ConfusionPass) -> tuple[Expectation, Floats]:
        """The first expectation, and the crowd's confusion as it shows there."""
        evidence = expect.evidence
        posterior_ik = majority_posterior(evidence)
        if self.start == "spectral":
            posterior_ik = spectral_posterior(evidence, posterior_ik, self.seed)
        return first_look(
            expect,
            posterior_ik,
            lambda crowd_lk: self._pseudo_counts(crowd_lk, evidence.annotations),
            self.prior_strength,
            self.class_pseudo_count,
        )

    def _beliefs(self, evidence: Evidence, parameters: ConfusionParameters) -> dict[str, Any]:
        expected = ConfusionPass(evidence)(parameters.log_prior_k, parameters.log_confusion_alk)
        return {"probabilities": expected.posterior_ik}

    def _with_unseen_annotators(
        self, parameters: ConfusionParameters, n_new: int
    ) -> ConfusionParameters:
        return parameters.with_strangers(n_new)

    def _pseudo_counts(self, crowd_lk: Floats, annotations: Annotations) -> Floats:
        """Pseudo-counts (1, l, k), or (a, l, k) when something is known of some annotators."""
        n_classes = len(crowd_lk)
        target_lk = crowd_lk if self.prior == "pooled" else np.full_like(crowd_lk, 1 / n_classes)
        pseudo_alk = self.prior_strength * target_lk[None]
        if not self.prior_confusions:
            return pseudo_alk
        pseudo_alk = np.repeat(pseudo_alk, annotations.n_annotators, axis=0)
        for name, matrix in self.prior_confusions.items():
            a = annotations.annotator_vocabulary.code(name)
            pseudo_alk[a] = self.prior_strength * _checked(matrix, n_classes, name).T
        return pseudo_alk


def _checked(matrix: Any, n_classes: int, name: object) -> Floats:
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
