"""Dawid-Skene: every annotator has their own confusion matrix."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np

from manyhands.aggregation.base import (
    CLASS_PSEUDO_COUNT,
    MAY_BE_INFINITE,
    ClassAggregator,
    IterativeAggregator,
    Parameters,
)
from manyhands.aggregation.cost import Cost, confusion_cost
from manyhands.aggregation.em import EMRun
from manyhands.aggregation.evidence import Evidence, gather_evidence
from manyhands.aggregation.kernels.confusion_loops import TINY
from manyhands.aggregation.kernels.confusion_pass import (
    ConfusionPass,
    Expectation,
    crowd_confusion,
    fit_confusions,
)
from manyhands.aggregation.kernels.passes import confusion_pass
from manyhands.aggregation.parts import PartState
from manyhands.aggregation.spectral import spectral_posterior
from manyhands.annotations import Annotations, Labels, as_annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import SettingError
from manyhands.core.settings import COUNT, NOT_NEGATIVE, require, setting


class PassParameters(Parameters, ABC):
    """Parameters whose E-step is a `ConfusionPass`."""

    @abstractmethod
    def expected(self, expect: ConfusionPass) -> Expectation:
        """The E-step under these parameters."""

    def own_pass(self, evidence: Evidence) -> ConfusionPass | None:
        """The pass over labels of one part that these parameters need, if they are of that part."""
        return None


Q = TypeVar("Q", bound=PassParameters)


class ConfusionAggregator(IterativeAggregator[Q], ClassAggregator[Q]):
    """An aggregator of classes whose E-step is a `ConfusionPass`."""

    has_device_pass: ClassVar[bool] = True

    def confusion_pass(self, evidence: Evidence, *, counts: bool = True) -> ConfusionPass:
        """The E-step over these labels, on the device of the settings."""
        return confusion_pass(evidence, self.device, counts=counts)

    def estimate_items(self, evidence: Evidence, parameters: Q) -> dict[str, Any]:
        """The fields of a `Consensus` that describe items, under these parameters."""
        expect = parameters.own_pass(evidence) or self.confusion_pass(evidence, counts=False)
        return {"probabilities": parameters.expected(expect).posterior_ik}


@dataclass(frozen=True)
class ConfusionParameters(PassParameters):
    """Class prior and confusions in log space; `log_crowd_lk` is for unseen annotators."""

    log_prior_k: Floats
    log_confusion_alk: Floats
    log_crowd_lk: Floats

    def confusion(self) -> Floats:
        """Every annotator's confusion, shape (a, k, l)."""
        return np.exp(self.log_confusion_alk).transpose(0, 2, 1)

    def right(self) -> Floats | None:
        """How often every annotator is right about every class (a, k)."""
        here: Floats | None = getattr(self.log_confusion_alk, "right_ak", None)
        return super().right() if here is None else here

    def expected(self, expect: ConfusionPass) -> Expectation:
        """The E-step under these parameters."""
        return expect(self.log_prior_k, self.log_confusion_alk)

    def on_host(self) -> Self:
        """The same as they are after a fit: during one, confusions may be on a GPU or in blocks."""
        table: Any = self.log_confusion_alk
        found = table.on_host() if hasattr(table, "on_host") else np.asarray(table)
        return replace(self, log_confusion_alk=found)

    def of_part(self, load: Callable[[PartState], AnyArray]) -> Self:
        """The same with the confusions that a part uses, if they lie in the parts."""
        table: Any = self.log_confusion_alk
        if not hasattr(table, "of_part"):
            return self
        return replace(self, log_confusion_alk=table.of_part(load))

    def own_pass(self, evidence: Evidence) -> ConfusionPass | None:
        """The pass with rows that the part uses, if these confusions are of them."""
        of_part = getattr(self.log_confusion_alk, "own_pass", None)
        return None if of_part is None else of_part(evidence)

    def with_unseen_annotators(self, n_new: int) -> Self:
        """The same with average annotators appended."""
        if n_new == 0:
            return self
        new_alk = np.repeat(self.log_crowd_lk[None], n_new, axis=0)
        return replace(self, log_confusion_alk=np.concatenate([self.log_confusion_alk, new_alk]))


@dataclass(frozen=True, kw_only=True)
class DawidSkene(ConfusionAggregator[ConfusionParameters]):
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
    start:
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
    cheaper: ClassVar[str] = "max_iter"

    prior: Literal["pooled", "flat"] = setting("pooled", "What annotators are shrunk towards.")
    prior_strength: float = setting(
        10.0, "Weight of that prior, in labels per class.", rule=NOT_NEGATIVE
    )
    class_pseudo_count: float = setting(1.0, CLASS_PSEUDO_COUNT, rule=MAY_BE_INFINITE)
    prior_confusions: Mapping[Any, Any] | None = None
    start: Literal["majority", "spectral"] = setting("majority", "The first posterior.")
    seed: int = setting(0, "Random numbers of the spectral start are drawn from it.", rule=COUNT)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            not self.prior_confusions or self.prior_strength > 0,
            "prior_strength",
            "above 0 for prior_confusions to count",
            self.prior_strength,
        )

    @property
    def needs_few_rows(self) -> bool:
        """Whether a fit needs the pairs of annotator and label alone that occur."""
        return self.start == "majority" and self.prior_strength > 0 and not self.prior_confusions

    def cost(self, annotations: Annotations) -> Cost:
        """The memory and time of a fit to these labels."""
        return confusion_cost(annotations, tables=4.2, more=6, steps=self.max_iter, nanoseconds=15)

    def fit_parameters(
        self, evidence: Evidence, start: ConfusionParameters | None = None
    ) -> EMRun[ConfusionParameters]:
        """Fit the model, from its own initial parameters or from the given ones."""
        expect = confusion_pass(evidence, self.device, rows=self.needs_few_rows)
        expected, crowd_lk = self.first_expectation(expect)
        pseudo_alk = self.pseudo_counts(crowd_lk, evidence.annotations)

        def maximise(
            expected: Expectation, before: ConfusionParameters | None
        ) -> tuple[ConfusionParameters, float]:
            step = expect.fit_confusions(expected, pseudo_alk)
            log_prior_k, log_p_prior = fit_class_prior(expected.mass_k, self.class_pseudo_count)
            parameters = ConfusionParameters(log_prior_k, step.log_confusion_alk, np.log(crowd_lk))
            return parameters, log_p_prior + step.log_prior

        if start is not None:
            expected = start.expected(expect)
        first = maximise(expected, start)
        del expected  # it holds a table of confusions
        return self._alternate(evidence, first, lambda each: each.expected(expect), maximise)

    def first_expectation(self, expect: ConfusionPass) -> tuple[Expectation, Floats]:
        """The first expectation, and the crowd's confusion (l, k) in it."""
        evidence = expect.evidence
        posterior_ik = expect.majority()
        if self.start == "spectral":
            if evidence.parts is not None:
                raise SettingError("start='spectral' needs all labels in memory; leave it out")
            posterior_ik = spectral_posterior(evidence, np.asarray(posterior_ik), self.seed)
        return first_expectation(
            expect,
            posterior_ik,
            lambda crowd_lk: self.pseudo_counts(crowd_lk, evidence.annotations),
            self.prior_strength,
            self.class_pseudo_count,
        )

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
        self._n_labels = max(annotations.n_annotations, 1)
        expected, crowd_lk = model.first_expectation(self._expect)
        self._pseudo_alk = model.pseudo_counts(crowd_lk, annotations)
        self.first = self._confusions(expected.counts_alk)

    def posterior(self, log_class_ik: Floats, confusion_akl: Floats) -> Floats:
        """The E-step: class probabilities given classifier and labels, (i, k)."""
        return self.e_step(log_class_ik, confusion_akl)[0]

    def e_step(self, log_class_ik: Floats, confusion_akl: Floats) -> tuple[Floats, float]:
        """`posterior`, and the objective per label.

        It is sum_i log sum_k f_k(x_i) prod_n C[a_n, k, y_n] + sum_akl A[k, l] log C[a, k, l].
        """
        log_confusion_alk = np.log(np.maximum(confusion_akl, np.finfo(np.float64).tiny))
        aligned_alk = np.ascontiguousarray(log_confusion_alk.transpose(0, 2, 1))
        expected = self._expect(log_class_ik, aligned_alk)
        log_prior = float((self._pseudo_alk * aligned_alk).sum())
        objective = (expected.log_likelihood + log_prior) / self._n_labels
        return expected.posterior_ik.copy(), objective

    def confusions(self, posterior_ik: Floats) -> Floats:
        """The M-step: the most probable confusions (a, k, l) under a posterior."""
        return self._confusions(self._expect.count(posterior_ik).counts_alk)

    def _confusions(self, counts_alk: Floats) -> Floats:
        log_confusion_alk = fit_confusions(counts_alk, self._pseudo_alk).log_confusion_alk
        return np.asarray(np.exp(log_confusion_alk).transpose(0, 2, 1))


def estimate_confusions(
    annotations: Labels,
    posterior_ik: Floats,
    *,
    prior_strength: float = DawidSkene.prior_strength,
) -> Floats:
    """Every annotator's confusion (a, k, l) given class probabilities of the items.

    C[a,k,l] ~ sum_n q_ik [a_n = a, y_n = l] + prior_strength P[k,l], P the confusion of an average
    annotator: the M-step of Dawid-Skene with its pooled prior.
    """
    require(prior_strength > 0, "prior_strength", "> 0", prior_strength)
    expected = ConfusionPass(gather_evidence(as_annotations(annotations))).count(posterior_ik)
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


def first_expectation(
    expect: ConfusionPass,
    posterior_ik: Floats,
    pseudo_counts: Callable[[Floats], Floats],
    strength: float,
    class_pseudo_count: float,
) -> tuple[Expectation, Floats]:
    """The expectation one EM step after `posterior_ik`, and the crowd's confusion (l, k) there.

    Label distributions blur every confusion, so the crowd's confusion is estimated after one step.
    `pseudo_counts` returns the pseudo-counts of that step for the crowd's blurred confusion.
    """
    weight = max(strength, 1.0)
    expected = expect.count(posterior_ik)
    pseudo_alk = pseudo_counts(expect.crowd_confusion(expected, weight))
    log_prior_k, _ = fit_class_prior(expected.mass_k, class_pseudo_count)
    first = expect.fit_confusions(expected, pseudo_alk)
    expected = expect(log_prior_k, first.log_confusion_alk)
    return expected, expect.crowd_confusion(expected, weight)


def fit_class_prior(mass_k: Floats, pseudo: float) -> tuple[Floats, float]:
    """Log pi_k with pi_k ~ mass_k + pseudo, and the log-prior pseudo * sum_k log pi_k.

    mass_k is sum_i q_ik. An infinite pseudo-count keeps all classes equally probable.
    """
    if np.isinf(pseudo):
        return np.full(len(mass_k), -np.log(len(mass_k))), 0.0
    raised_k = mass_k + pseudo
    log_prior_k = np.log(np.maximum(raised_k / raised_k.sum(), TINY))
    return log_prior_k, pseudo * float(log_prior_k.sum())
