"""The scale of ordinal labels, and the average annotator on it: what ordinal models start from."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from manyhands.aggregation.dawid_skene import fit_class_prior
from manyhands.aggregation.em import run_em
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass, Expectation
from manyhands.aggregation.kernels.cumulative_steps import fit_crowd_slope, log_crowd
from manyhands.core.arrays import Floats

_STEPS = 50
_TOL = 1e-4  # per label
_FIRST_SLOPE = 2.0


@dataclass(frozen=True)
class Scale:
    """Level k is the part of a line between k - 1/2 and k + 1/2, with `n_points` places in it."""

    n_levels: int
    n_points: int

    @property
    def place_k(self) -> Floats:
        """All places, those of the lowest level first."""
        return (np.arange(self.n_levels * self.n_points) + 0.5) / self.n_points - 0.5

    @property
    def border_t(self) -> Floats:
        """The ends of all levels but the highest."""
        return np.arange(0.5, self.n_levels - 1)

    def spread(self, log_prior_k: Floats) -> Floats:
        """The log-probability of every place: those of a level are alike."""
        return np.repeat(log_prior_k - np.log(self.n_points), self.n_points)

    def by_level(self, of_places: Floats) -> Floats:
        """Sums over the places of every level, along the last axis."""
        shape = (*of_places.shape[:-1], self.n_levels, self.n_points)
        return np.asarray(of_places.reshape(shape).sum(axis=-1))


class _Crowd(NamedTuple):
    """One annotator for all: the class prior, the slope, and the counts that they come from."""

    log_prior_k: Floats
    slope: float
    expected: Expectation | None


def fit_crowd(
    expect: ConfusionPass, scale: Scale, class_pseudo_count: float
) -> tuple[Expectation, float]:
    """The expectation if all annotators were the average one, and the slope of that one.

    The average annotator is right on average: their thresholds are the borders of the levels. This
    tells where the levels are, which labels alone do not. The slope and the class prior are fitted
    by EM.
    """
    ann = expect.evidence.annotations
    border_t, place_k = scale.border_t, scale.place_k

    def step(crowd: _Crowd) -> tuple[_Crowd, float]:
        log_lk = log_crowd(crowd.slope, border_t, place_k).T
        log_alk = np.repeat(log_lk[None], ann.n_annotators, axis=0)
        expected = expect(scale.spread(crowd.log_prior_k), log_alk)
        slope = crowd.slope
        if scale.n_levels > 1:
            slope = fit_crowd_slope(expected.counts_alk.sum(axis=0).T, border_t, place_k)
        mass_k = scale.by_level(expected.mass_k)
        log_prior_k, _ = fit_class_prior(mass_k, class_pseudo_count)
        return _Crowd(log_prior_k, slope, expected), expected.log_likelihood

    start = _Crowd(np.full(scale.n_levels, -np.log(scale.n_levels)), _FIRST_SLOPE, None)
    crowd = run_em(start, step, max_iter=_STEPS, tol=_TOL * ann.n_annotations).state
    assert crowd.expected is not None, "at least one step was made"
    return crowd.expected, crowd.slope
