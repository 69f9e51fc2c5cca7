"""Dawid-Skene for sets: every annotator has a confusion of two by two for each class."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from manyhands.aggregation.base import (
    MAY_BE_INFINITE,
    IterativeAggregator,
    Parameters,
)
from manyhands.aggregation.em import EMRun
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.confusion_loops import TINY
from manyhands.aggregation.kernels.set_pass import count_said, sum_evidence
from manyhands.aggregation.label_patterns import (
    Patterns,
    expect_patterns,
    fit_patterns,
    split_items,
)
from manyhands.aggregation.multilabel import (
    SetAggregator,
    clamped,
    known_members,
    shares_of_items,
)
from manyhands.aggregation.set_consensus import decide
from manyhands.aggregation.set_profiles import (
    CLASS_STRENGTH,
    PRIOR_STRENGTH,
    crowd_rates,
    fit_profiles,
)
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import AT_LEAST_ONE, NOT_NEGATIVE, setting


@dataclass(frozen=True)
class SetParameters(Parameters):
    """Patterns of classes, and how annotators label: log p(y | z) for annotator and class.

    There is one pattern unless classes go together. `usual_az` is how often an annotator is right
    about a class that does not apply and about one that does; `crowd_z` the same of the crowd.
    """

    log_weight_m: Floats
    log_applies_mkz: Floats
    log_said_akzy: Floats
    usual_az: Floats
    crowd_z: Floats

    @property
    def patterns(self) -> Patterns:
        """Which classes apply together."""
        return Patterns(self.log_weight_m, self.log_applies_mkz)

    def confusion(self) -> Floats:
        """p(y | z) of every annotator and class, shape (a, k, z, y)."""
        return np.exp(self.log_said_akzy)

    def right(self) -> None:
        """Nothing: how often they are right about a class depends on whether it applies."""
        return

    def annotator_traits(self) -> Mapping[str, AnyArray]:
        """What is usual for annotators over all classes."""
        return {"sensitivity": self.usual_az[:, 1], "specificity": self.usual_az[:, 0]}

    def with_unseen_annotators(self, n_new: int) -> Self:
        """The same with average annotators appended."""
        n_classes = self.log_said_akzy.shape[1]
        new_akzy = np.tile(log_rates(np.tile(self.crowd_z, (1, n_classes, 1))), (n_new, 1, 1, 1))
        return replace(
            self,
            log_said_akzy=np.concatenate([self.log_said_akzy, new_akzy]),
            usual_az=np.concatenate([self.usual_az, np.tile(self.crowd_z, (n_new, 1))]),
        )


class SetExpectation(NamedTuple):
    """The result of an E-step: posteriors of classes and of patterns, and the log-likelihood."""

    applies_ik: Floats
    pattern_im: Floats
    both_mkz: Floats  # expected numbers of items of a pattern to which a class applies or not
    set_confidence_i: Floats
    log_likelihood: float


@dataclass(frozen=True, kw_only=True)
class SetModel(IterativeAggregator[SetParameters], SetAggregator[SetParameters]):
    """Settings and steps of `MultilabelDawidSkene` and `MultilabelMixture`."""

    parameters_type: ClassVar[type[Parameters]] = SetParameters
    item_tables: ClassVar[float] = 16.0
    annotator_tables: ClassVar[float] = 20.0

    class_strength: float = setting(
        CLASS_STRENGTH, "Weight of an annotator's usual rates for each class, in labels.",
        rule=NOT_NEGATIVE,
    )  # fmt: skip
    prior_strength: float = setting(
        PRIOR_STRENGTH, "Weight of the crowd's rates for an annotator's usual ones, in labels.",
        rule=NOT_NEGATIVE,
    )  # fmt: skip
    class_pseudo_count: float = setting(
        1.0, "Pseudo-items with and without each class; inf: both are equally probable.",
        rule=MAY_BE_INFINITE,
    )  # fmt: skip

    @property
    def _n_parts(self) -> int:
        return 1

    def fit_parameters(
        self, evidence: Evidence, start: SetParameters | None = None
    ) -> EMRun[SetParameters]:
        """Fit the model, from its own initial parameters or from the given ones."""
        first, crowd_z = self._first_expectation(evidence)
        if start is not None:
            first = expect_sets(evidence, start)
        elif self._n_parts > 1:
            whole = self._maximise(evidence, first, crowd_z, None)
            independent = self._em(evidence, whole, crowd_z)
            first = _divided(expect_sets(evidence, independent.state), self._n_parts)
        usual_az = None if start is None else start.usual_az
        return self._em(evidence, self._maximise(evidence, first, crowd_z, usual_az), crowd_z)

    def _em(
        self, evidence: Evidence, start: tuple[SetParameters, float], crowd_z: Floats
    ) -> EMRun[SetParameters]:
        return self._alternate(
            evidence, start, lambda each: expect_sets(evidence, each),
            lambda expected, each: self._maximise(evidence, expected, crowd_z, each.usual_az),
        )  # fmt: skip

    def _first_expectation(self, evidence: Evidence) -> tuple[SetExpectation, Floats]:
        """The expectation one EM step after the majority, and the crowd's rates there."""
        applies_ik = shares_of_items(evidence)
        counts_akzy = _counts(evidence, applies_ik)
        blurred_z = crowd_rates(counts_akzy, self.prior_strength)
        one_im = np.ones((len(applies_ik), 1))
        mass_k = applies_ik.sum(axis=0)
        both_mkz = np.stack([len(applies_ik) - mass_k, mass_k], axis=-1)[None]
        majority = SetExpectation(applies_ik, one_im, both_mkz, one_im[:, 0], 0.0)
        parameters, _ = self._maximise(evidence, majority, blurred_z, None)
        expected = expect_sets(evidence, parameters)
        return expected, crowd_rates(_counts(evidence, expected.applies_ik), self.prior_strength)

    def _maximise(
        self,
        evidence: Evidence,
        expected: SetExpectation,
        crowd_z: Floats,
        usual_az: Floats | None,
    ) -> tuple[SetParameters, float]:
        counts_akzy = _counts(evidence, expected.applies_ik)
        profiles = fit_profiles(
            counts_akzy, crowd_z, usual_az, self.class_strength, self.prior_strength
        )
        mass_m = expected.pattern_im.sum(axis=0)
        patterns, log_p = fit_patterns(mass_m, expected.both_mkz, self.class_pseudo_count)
        found = SetParameters(*patterns, log_rates(profiles.right_akz), profiles.usual_az, crowd_z)
        return found, profiles.log_prior + log_p

    def estimate_items(self, evidence: Evidence, parameters: SetParameters) -> dict[str, Any]:
        """The fields of a `SetConsensus` that describe items, under these parameters."""
        expected = expect_sets(evidence, parameters)
        return {
            "probabilities": expected.applies_ik, "set_confidence": expected.set_confidence_i
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class MultilabelDawidSkene(SetModel):
    """Dawid-Skene for every class of sets, with profiles that annotators have for all classes.

    Whether class k applies is z_ik, independent of the other classes. Annotator a says it of an
    item to which it applies with probability t_ak1 (sensitivity), and does not say it of another
    item with probability t_ak0 (specificity)::

        z_ik ~ Coin(pi_k),   p(y_nk | z_ik = z) = t_akz if y_nk = z, else 1 - t_akz

    The rates t_akz of an annotator are shrunk to what is usual for the annotator, m_az, and these
    to the crowd's c_z, which is estimated after one step and then kept fixed. The objective never
    falls, KL being the divergence of two coins::

        sum_ik log sum_z pi_kz prod_n p(y_nk | z) + class_pseudo_count sum_kz log pi_kz
            - class_strength sum_akz KL(m_az || t_akz) - prior_strength sum_az KL(m_az || c_z)

    So an annotator with few labels of a class is taken to be as good at it as at the others. With
    class_strength=0 each class is Dawid-Skene with maximum likelihood, and equals
    `DawidSkene(prior_strength=0)` on `Annotations.of_class`.

    >>> from manyhands.annotations import Annotations
    >>> sets = [{"cat", "pet"}, {"cat"}, {"bird"}, {"bird"}]
    >>> ann = Annotations.from_arrays([1, 1, 2, 2], ["u", "v", "u", "v"], sets)
    >>> MultilabelDawidSkene().fit(ann).labels.tolist()[1]
    'bird'
    """

    name: ClassVar[str] = "multilabel-dawid-skene"


@dataclass(frozen=True, kw_only=True)
class MultilabelMixture(SetModel):
    """Dawid-Skene for sets of classes that go together: a mixture of patterns.

    An item has one of M patterns u. Given the pattern, class k applies with probability phi_uk,
    independently of the others; annotators label as in `MultilabelDawidSkene`. So what is known of
    one class tells about the others::

        u_i ~ w,   z_ik ~ Coin(phi[u_i, k]),   y_nk ~ p(y | z_ik; annotator, k)

    The E-step is exact: with e_ikz = sum_n log p(y_nk | z), ::

        p(u | y_i) ~ w_u prod_k sum_z phi_ukz exp(e_ikz)
        q_ik = sum_u p(u | y_i) phi_uk1 exp(e_ik1) / sum_z phi_ukz exp(e_ikz)

    The objective is that of `MultilabelDawidSkene` with this likelihood, and class_pseudo_count
    (sum_u log w_u + sum_ukz log phi_ukz) as the prior of the patterns; it never falls. With one
    pattern it is `MultilabelDawidSkene`.

    Patterns start from the posterior of `MultilabelDawidSkene`, divided again and again at the
    mean along the direction in which the classes of the largest part vary most. No random numbers
    are drawn.

    >>> from manyhands.annotations import Annotations
    >>> sets = [{"cat", "pet"}, {"cat"}, {"bird"}, {"bird"}]
    >>> ann = Annotations.from_arrays([1, 1, 2, 2], ["u", "v", "u", "v"], sets)
    >>> MultilabelMixture(n_patterns=2).fit(ann).labels.tolist()[1]
    'bird'
    """

    name: ClassVar[str] = "multilabel-mixture"
    max_iter: int = setting(300, "Largest number of EM steps.", rule=AT_LEAST_ONE)
    n_patterns: int = setting(4, "Number of patterns of classes.", rule=AT_LEAST_ONE)

    @property
    def _n_parts(self) -> int:
        return self.n_patterns


def expect_sets(evidence: Evidence, parameters: SetParameters) -> SetExpectation:
    """The E-step under these parameters, with known truths put in."""
    ann, sets = evidence.annotations, _sets(evidence)
    log_p_ikz = sum_evidence(
        ann.item_offsets, ann.annotator, ann.label, sets.member_sk, parameters.log_said_akzy
    )
    rows = np.flatnonzero(evidence.is_known)
    if len(rows):
        wrong_ik = ~known_members(evidence)[rows]
        log_p_ikz[rows] = np.where(
            np.stack([~wrong_ik, wrong_ik], axis=-1), np.log(TINY), log_p_ikz[rows]
        )
    found = expect_patterns(log_p_ikz, parameters.patterns)
    applies_ik = clamped(evidence, found.applies_ik)
    confidence_i = found.probability_of(decide(applies_ik)[0])
    return SetExpectation(
        applies_ik, found.pattern_im, found.both_mkz, confidence_i, found.log_likelihood
    )


def log_rates(right_akz: Floats) -> Floats:
    """Log p(y | z) from how often annotators are right, shape (a, k, z, y)."""
    right = np.log(np.maximum(right_akz, TINY))
    wrong = np.log(np.maximum(1.0 - right_akz, TINY))
    rows = [
        np.stack([right[..., 0], wrong[..., 0]], axis=-1),
        np.stack([wrong[..., 1], right[..., 1]], axis=-1),
    ]
    return np.ascontiguousarray(np.stack(rows, axis=-2))


def _counts(evidence: Evidence, applies_ik: Floats) -> Floats:
    ann = evidence.annotations
    counts: Floats = count_said(
        ann.item_offsets, ann.annotator, ann.label, _sets(evidence).member_sk,
        np.ascontiguousarray(applies_ik), ann.n_annotators,
    )  # fmt: skip
    return counts


def _divided(expected: SetExpectation, n_patterns: int) -> SetExpectation:
    """The expectation with items divided among patterns."""
    pattern_im = split_items(expected.applies_ik, n_patterns)
    mass_mk = pattern_im.T @ expected.applies_ik
    both_mkz = np.stack([pattern_im.sum(axis=0)[:, None] - mass_mk, mass_mk], axis=-1)
    return expected._replace(pattern_im=pattern_im, both_mkz=both_mkz)


def _sets(evidence: Evidence) -> Any:
    return evidence.annotations.class_vocabulary
