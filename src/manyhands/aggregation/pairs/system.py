"""The parameters of a model of comparisons as one vector, and Newton steps for it.

The vector holds the scores of the items, then the advantages of the left side (none, one, or one
per annotator), then the log-weight of ties if there are any. The Hessian is never made for a step:
it is applied comparison by comparison, so that memory grows with their number.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from manyhands.aggregation.pairs.outcomes import NO_TIES, Terms, log_outcome, outcome_terms
from manyhands.annotations.comparisons import Comparisons
from manyhands.core.arrays import AnyArray, Floats

PositionBias = Literal["none", "shared", "annotator"]
_SHORTEST = 1e-10  # of a Newton step that is halved


class Local(NamedTuple):
    """Derivatives of every comparison by (d, delta, tau): gradient (n, 3), Hessian (n, 3, 3)."""

    gradient: Floats
    hessian: Floats


@dataclass(frozen=True, eq=False)
class PairSystem:
    """The layout of the parameters, and the prior precision of each of them."""

    comparisons: Comparisons
    position: PositionBias
    with_ties: bool
    precision: Floats

    @classmethod
    def of(
        cls, comparisons: Comparisons, position: PositionBias, ties: bool, scale: float, side: float
    ) -> "PairSystem":
        """A system with normal priors: `scale` of scores and ties, `side` of advantages."""
        n_sides = {"none": 0, "shared": 1, "annotator": comparisons.n_annotators}[position]
        shared = scale if position == "shared" else side
        precision = np.concatenate(
            [
                np.full(comparisons.n_items, scale**-2.0),
                np.full(n_sides, shared**-2.0),
                np.full(int(ties), scale**-2.0),
            ]
        )
        return cls(comparisons, position, ties, precision)

    @property
    def n_items(self) -> int:
        """Number of scores."""
        return self.comparisons.n_items

    @property
    def n_sides(self) -> int:
        """Number of advantages of the left side."""
        return len(self.precision) - self.n_items - int(self.with_ties)

    @property
    def side(self) -> AnyArray:
        """The advantage that every comparison uses."""
        if self.position == "annotator":
            return self.comparisons.annotator
        return np.zeros(len(self.comparisons), dtype=np.int32)

    def start(self) -> Floats:
        """All scores and advantages equal; ties as frequent as they were."""
        x = np.zeros(len(self.precision))
        if self.with_ties:
            share = (self.comparisons.n_ties + 0.5) / (len(self.comparisons) + 1.0)
            x[-1] = np.log(2.0 * share / (1.0 - share))
        return x

    def differences(self, x: Floats) -> tuple[Floats, Floats, float]:
        """Differences of scores, advantages of the left side, and the log-weight of ties."""
        pairs = self.comparisons
        d = x[pairs.left] - x[pairs.right]
        delta = x[self.n_items : self.n_items + self.n_sides]
        delta = delta[self.side] if self.n_sides else np.zeros(len(pairs))
        return d, delta, float(x[-1]) if self.with_ties else NO_TIES

    def terms(self, x: Floats) -> tuple[Terms, Terms]:
        """The terms of annotators who follow the scores, and of those who go against them."""
        d, delta, tau = self.differences(x)
        outcome = self.comparisons.outcome
        return outcome_terms(delta + d, tau, outcome), outcome_terms(delta - d, tau, outcome)

    def log_outcomes(self, x: Floats) -> tuple[Floats, Floats]:
        """The log-probabilities of `terms` alone."""
        d, delta, tau = self.differences(x)
        outcome = self.comparisons.outcome
        return log_outcome(delta + d, tau, outcome), log_outcome(delta - d, tau, outcome)

    def log_prior(self, x: Floats) -> float:
        """The log-density of the prior, up to a constant."""
        return float(-0.5 * (self.precision * x**2).sum())

    def gather(self, local: Floats) -> Floats:
        """Sums of (n, 3) local derivatives by parameter."""
        pairs = self.comparisons
        sums = np.bincount(pairs.left, weights=local[:, 0], minlength=self.n_items)
        sums -= np.bincount(pairs.right, weights=local[:, 0], minlength=self.n_items)
        parts = [sums]
        if self.n_sides:
            parts.append(np.bincount(self.side, weights=local[:, 1], minlength=self.n_sides))
        if self.with_ties:
            parts.append(np.array([local[:, 2].sum()]))
        return np.concatenate(parts)

    def spread(self, v: Floats) -> Floats:
        """What a change of the parameters changes in (d, delta, tau) of every comparison."""
        d, delta, tau = self.differences(v)
        return np.stack([d, delta, np.full(len(d), tau if self.with_ties else 0.0)], axis=1)

    def newton(
        self, x: Floats, local: Local, value: Callable[[Floats], float], exact: float
    ) -> Floats:
        """A better vector: a Newton step, halved until `value` does not fall.

        `exact` is the part of the gradient that the step may leave.
        """
        gradient = self.gather(local.gradient) - self.precision * x

        def curvature(v: Floats) -> Floats:
            changed = np.einsum("nij,nj->ni", local.hessian, self.spread(v))
            return self.precision * v - self.gather(changed)

        step = conjugate_gradients(curvature, gradient, self._diagonal(local), exact)
        before = value(x)
        length = 1.0
        while length > _SHORTEST:
            after = x + length * step
            if value(after) >= before:
                return after
            length /= 2.0
        return x

    def _diagonal(self, local: Local) -> Floats:
        """The diagonal of the negative Hessian."""
        pairs, h = self.comparisons, -local.hessian
        parts = [
            np.bincount(pairs.left, weights=h[:, 0, 0], minlength=self.n_items)
            + np.bincount(pairs.right, weights=h[:, 0, 0], minlength=self.n_items)
        ]
        if self.n_sides:
            parts.append(np.bincount(self.side, weights=h[:, 1, 1], minlength=self.n_sides))
        if self.with_ties:
            parts.append(np.array([h[:, 2, 2].sum()]))
        diagonal = self.precision + np.concatenate(parts)
        return np.where(diagonal > 0, diagonal, 1.0)


def following(terms: Terms) -> Local:
    """The local derivatives of annotators who follow the scores."""
    gradient = np.stack([terms.g_x, terms.g_x, terms.g_t], axis=1)
    return Local(gradient, _hessian(terms, 1.0))


def opposing(terms: Terms) -> Local:
    """The local derivatives of annotators who go against the scores."""
    gradient = np.stack([-terms.g_x, terms.g_x, terms.g_t], axis=1)
    return Local(gradient, _hessian(terms, -1.0))


def mixed(first: Local, second: Local, share: Floats) -> Local:
    """Local derivatives weighted by the share of the first of the two."""
    return Local(
        share[:, None] * first.gradient + (1.0 - share[:, None]) * second.gradient,
        share[:, None, None] * first.hessian + (1.0 - share[:, None, None]) * second.hessian,
    )


def _hessian(terms: Terms, sign: float) -> Floats:
    hessian = np.empty((len(terms.log_p), 3, 3))
    hessian[:, 0, 0] = hessian[:, 1, 1] = terms.h_xx
    hessian[:, 0, 1] = hessian[:, 1, 0] = sign * terms.h_xx
    hessian[:, 0, 2] = hessian[:, 2, 0] = sign * terms.h_xt
    hessian[:, 1, 2] = hessian[:, 2, 1] = terms.h_xt
    hessian[:, 2, 2] = terms.h_tt
    return hessian


def conjugate_gradients(
    apply: Callable[[Floats], Floats], target: Floats, diagonal: Floats, exact: float = 1e-8
) -> Floats:
    """The solution of `apply(v) = target` for a symmetric positive map, also a singular one.

    >>> matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> found = conjugate_gradients(lambda v: matrix @ v, np.array([3.0, 4.0]), np.diag(matrix))
    >>> found.round(6).tolist()
    [1.0, 1.0]
    """
    v, residual = np.zeros_like(target), target.copy()
    scaled = residual / diagonal
    direction, size = scaled.copy(), float(residual @ scaled)
    enough = exact**2 * size
    for _ in range(10 * len(target)):
        if size <= enough or size == 0.0:
            break
        image = apply(direction)
        curvature = float(direction @ image)
        if curvature <= 0.0:
            break
        v += (size / curvature) * direction
        residual -= (size / curvature) * image
        scaled = residual / diagonal
        size, before = float(residual @ scaled), size
        direction = scaled + (size / before) * direction
    return v
