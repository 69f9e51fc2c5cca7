"""The passes over labels in parts: each runs in every part, and its sums are added."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from manyhands.aggregation.cost import require_confusions
from manyhands.aggregation.evidence import Evidence, label_distribution, majority_posterior
from manyhands.aggregation.kernels.coin_pass import CoinExpectation, CoinPass
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass, Expectation
from manyhands.aggregation.kernels.glad_steps import GladPass
from manyhands.aggregation.parts import Parts, PartState
from manyhands.core.arrays import Floats


class ConfusionSums(NamedTuple):
    """The sums of an `Expectation`; the posterior stays in the parts."""

    mass_k: Floats
    counts_alk: Floats
    log_likelihood: float


class PartConfusionPass(ConfusionPass):
    """The E-step of confusion models over labels in parts."""

    def __init__(self, evidence: Evidence, n_subtypes: int = 1) -> None:
        require_confusions(evidence.annotations, copies=2 * n_subtypes)
        self.evidence, self._n_subtypes = evidence, n_subtypes

    def __call__(self, log_prior_k: Floats, log_confusion_alk: Floats) -> Expectation:
        """Counts and log-likelihood under these parameters."""
        sums = self.evidence.total(
            _expect_confusions, log_prior_k, log_confusion_alk, self._n_subtypes
        )
        return cast(Expectation, sums)

    def count(self, posterior_ik: Floats) -> Expectation:
        """The counts of a posterior, given as `Evidence.of_items` does."""
        sums = self.evidence.total(_count_confusions, posterior_ik, self._n_subtypes)
        return cast(Expectation, sums)

    def majority(self) -> Floats:
        """Label distributions of items: where iterative models start."""
        return self.evidence.of_items(majority_posterior, label_distribution(self.evidence))


class CoinSums(NamedTuple):
    """The sums of a `CoinExpectation`; for GLAD also the slopes and bends of abilities."""

    mass_k: Floats
    right_a: Floats
    log_likelihood: float
    slope_a: Floats
    bend_a: Floats


class PartCoinPass(CoinPass):
    """The E-step of models in which annotators are right or wrong, over labels in parts."""

    def __call__(
        self, log_prior_k: Floats, logit_a: Floats, ease_i: Floats | None = None
    ) -> CoinExpectation:
        """Expected right labels and log-likelihood."""
        return cast(CoinExpectation, self.evidence.total(_expect_coins, log_prior_k, logit_a))

    def majority(self, overall_k: Floats | None = None) -> CoinExpectation:
        """The expectation under the label distributions of items."""
        overall_k = label_distribution(self.evidence)
        return cast(CoinExpectation, self.evidence.total(_count_majority, overall_k))


@dataclass(frozen=True)
class _Expected:
    """The sums of an E-step of GLAD, and the class prior that they are of."""

    sums: CoinSums
    log_prior_k: Floats
    before_a: Floats

    @property
    def mass_k(self) -> Floats:
        return self.sums.mass_k

    @property
    def log_likelihood(self) -> float:
        return self.sums.log_likelihood


class PartGladPass(PartCoinPass, GladPass):
    """E- and M-step of GLAD over labels in parts; the easiness of items stays there."""

    @property
    def _parts(self) -> Parts:
        assert self.evidence.parts is not None, "these passes are for labels in parts"
        return self.evidence.parts

    def average_items(self) -> Floats:
        """The log-easiness of items about which nothing is known."""
        return cast(Floats, self._parts.derive(_average_items))

    def sum_of_squares(self, log_ease_i: Floats) -> float:
        """The sum of squares of log-easiness."""
        return cast(PartState, log_ease_i).square

    def expect(self, log_prior_k: Floats, ability_a: Floats, log_ease_i: Floats) -> CoinExpectation:
        """The E-step, with the slopes of abilities."""
        sums = self.evidence.total(_expect_glad, log_prior_k, ability_a, log_ease_i)
        return cast(CoinExpectation, _Expected(sums, log_prior_k, ability_a))

    def slopes(
        self, expected: CoinExpectation, ability_a: Floats, log_ease_i: Floats
    ) -> tuple[Floats, Floats]:
        """`ability_slopes` under the parameters of the E-step."""
        sums = cast(_Expected, expected).sums
        return sums.slope_a, sums.bend_a

    def improve_easiness(
        self, expected: CoinExpectation, ability_a: Floats, log_ease_i: Floats, precision: float
    ) -> Floats:
        """The log-easiness of items in the parts, improved; see `GladPass`."""
        under = cast(_Expected, expected)
        state = self._parts.derive(
            _improve_items, under.log_prior_k, under.before_a, ability_a, log_ease_i, precision
        )
        return cast(Floats, state)


def _expect_confusions(
    evidence: Evidence, log_prior_k: Floats, log_confusion_alk: Floats, n_subtypes: int
) -> ConfusionSums:
    expect = ConfusionPass(evidence, n_subtypes, posterior=False)
    return _confusion_sums(expect(log_prior_k, log_confusion_alk))


def _count_confusions(
    evidence: Evidence, posterior: Callable[[Evidence], Floats], n_subtypes: int
) -> ConfusionSums:
    expect = ConfusionPass(evidence, n_subtypes, posterior=False)
    return _confusion_sums(expect.count(posterior(evidence)))


def _confusion_sums(expected: Expectation) -> ConfusionSums:
    return ConfusionSums(expected.mass_k, expected.counts_alk, expected.log_likelihood)


def _expect_coins(evidence: Evidence, log_prior_k: Floats, logit_a: Floats) -> CoinSums:
    return _coin_sums(CoinPass(evidence)(log_prior_k, logit_a))


def _count_majority(evidence: Evidence, overall_k: Floats) -> CoinSums:
    return _coin_sums(CoinPass(evidence).majority(overall_k))


def _coin_sums(expected: CoinExpectation, *slopes: Floats) -> CoinSums:
    none = np.zeros(0)
    slope_a, bend_a = slopes or (none, none)
    return CoinSums(expected.mass_k, expected.right_a, expected.log_likelihood, slope_a, bend_a)


def _expect_glad(
    evidence: Evidence, log_prior_k: Floats, ability_a: Floats, log_ease_i: Floats
) -> CoinSums:
    passed = GladPass(evidence)
    expected = passed.expect(log_prior_k, ability_a, log_ease_i)
    return _coin_sums(expected, *passed.slopes(expected, ability_a, log_ease_i))


def _average_items(evidence: Evidence) -> tuple[Floats, float]:
    return GladPass(evidence).average_items(), 0.0


def _improve_items(
    evidence: Evidence,
    log_prior_k: Floats,
    before_a: Floats,
    ability_a: Floats,
    log_ease_i: Floats,
    precision: float,
) -> tuple[Floats, float]:
    passed = GladPass(evidence)
    expected = passed.expect(log_prior_k, before_a, log_ease_i)
    better_i = passed.improve_easiness(expected, ability_a, log_ease_i, precision)
    return better_i, passed.sum_of_squares(better_i)
