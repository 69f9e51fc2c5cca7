"""Multinomial logistic regression on soft targets: the objective, and steps that never lower it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize

from manyhands.core.arrays import Floats
from manyhands.core.kernels import kernel
from manyhands.core.settings import require
from manyhands.methods.linear.weights import Contrasts, LinearWeights, log_softmax, with_ones

_NEWTON_UP_TO = 1500  # contrasts; the Hessian of more is dearer than many gradients
_TRUSTED = (0.5, 1.5)  # gain per gain expected, within which the curvature still fits
_SUFFICIENT = 1e-4  # share of the gain expected that a step must have
_HALVINGS = 40
_ROUNDING = 1e-14  # gains below this share of the objective cannot be seen


@dataclass(frozen=True)
class Point:
    """Contrasts, what they say of the items, and a Cholesky factor of the Hessian near them."""

    contrast_jc: Floats
    log_class_ik: Floats
    factor: Any = None


class SoftmaxRegression:
    """The objective of logistic regression, and the way up it.

    Targets t need not sum to 1: the sum of a row is the weight of the item::

        sum_ik t_ik log f_k(x_i) - l2/2 sum_jk W_jk^2 - intercept_l2/2 sum_k b_k^2

    The objective is concave. Steps are Newton's with the exact Hessian, which is kept for as long
    as steps gain what it predicts: from one M-step to the next it hardly changes. Where the
    weights are too many for a Hessian, L-BFGS takes its place. Both end at or above their start.
    """

    def __init__(
        self, features_ij: Floats, n_classes: int, *, l2: float, intercept_l2: float
    ) -> None:
        require(0 <= l2 < np.inf, "l2", "0 or more", l2)
        require(0 <= intercept_l2 < np.inf, "intercept_l2", "0 or more", intercept_l2)
        self._design_ij = with_ones(features_ij)
        self._contrasts = Contrasts(n_classes)
        self._ridge_j = np.append(np.full(features_ij.shape[1], float(l2)), float(intercept_l2))

    def at(self, weights: LinearWeights | None = None) -> Point:
        """The point of some weights; by default all are 0."""
        shape = self._design_ij.shape[1], self._contrasts.n_classes - 1
        return self._at(np.zeros(shape) if weights is None else self._contrasts.of(weights))

    def weights(self, point: Point) -> LinearWeights:
        """The classifier of a point."""
        return self._contrasts.weights(point.contrast_jc)

    def log_prior(self, point: Point) -> float:
        """What the penalties add to the objective."""
        return -0.5 * float(self._ridge_j @ np.square(point.contrast_jc).sum(axis=1))

    def value(self, point: Point, target_ik: Floats) -> float:
        """The objective."""
        return float(np.vdot(target_ik, point.log_class_ik)) + self.log_prior(point)

    def slope(self, point: Point, target_ik: Floats) -> Floats:
        """The gradient of the objective by the contrasts, shape (j, c)."""
        residual_ik = _residual(target_ik, point.log_class_ik)
        slope_jc = self._design_ij.T @ (residual_ik @ self._contrasts.basis_kc)
        return np.asarray(slope_jc - self._ridge_j[:, None] * point.contrast_jc)

    def ascend(
        self, point: Point, target_ik: Floats, *, max_steps: int, enough: float
    ) -> tuple[Point, bool]:
        """A point at least as good; whether no more than `enough` is still to be gained there."""
        if point.contrast_jc.size == 0:
            return point, True
        if point.contrast_jc.size > _NEWTON_UP_TO:
            return self._by_lbfgs(point, target_ik, max_steps, enough)
        value = self.value(point, target_ik)
        enough += _ROUNDING * abs(value)
        for _ in range(max_steps):
            slope_jc = self.slope(point, target_ik)
            fresh = point.factor is None
            factor = _factor(self._hessian(point, target_ik)) if fresh else point.factor
            step_jc = cho_solve(factor, slope_jc.T.ravel()).reshape(slope_jc.T.shape).T
            expected = 0.5 * float(np.vdot(slope_jc, step_jc))
            if expected <= enough:
                return replace(point, factor=factor), True
            wanted = value + _SUFFICIENT * expected
            moved = self._search(point, step_jc, target_ik, wanted, _HALVINGS if fresh else 1)
            if moved is None:
                if fresh:
                    return point, False
                point = replace(point, factor=None)
                continue
            gain = self.value(moved, target_ik) - value
            fits = _TRUSTED[0] < gain / expected < _TRUSTED[1]
            point, value = replace(moved, factor=factor if fits else None), value + gain
        return point, False

    def _at(self, contrast_jc: Floats) -> Point:
        stacked_jk = contrast_jc @ self._contrasts.basis_kc.T
        return Point(contrast_jc, log_softmax(self._design_ij @ stacked_jk))

    def _search(
        self, point: Point, step_jc: Floats, target_ik: Floats, wanted: float, tries: int
    ) -> Point | None:
        """The point a step ahead, or half as far, ..., that has the value wanted; None if none."""
        share = 1.0
        for _ in range(tries):
            moved = self._at(point.contrast_jc + share * step_jc)
            if self.value(moved, target_ik) >= wanted:
                return moved
            share /= 2
        return None

    def _hessian(self, point: Point, target_ik: Floats) -> Floats:
        """Minus the second derivative, (c x j, c x j): the spread of contrasts under f, by x x^T.

        ::

            H[cj, eh] = sum_i t_i (sum_k f_k B_kc B_ke - m_c m_e) x_j x_h + [cj = eh] ridge_j

        with t_i = sum_k t_ik and m = f B.
        """
        design_ij, basis_kc = self._design_ij, self._contrasts.basis_kc
        class_ik, total_i = np.exp(point.log_class_ik), target_ik.sum(axis=1)
        mean_ic = class_ik @ basis_kc
        n_features, n_contrasts = point.contrast_jc.shape
        hessian = np.empty((n_contrasts, n_features, n_contrasts, n_features))
        for c in range(n_contrasts):
            for e in range(c + 1):
                spread_i = class_ik @ (basis_kc[:, c] * basis_kc[:, e])
                spread_i = total_i * (spread_i - mean_ic[:, c] * mean_ic[:, e])
                hessian[c, :, e] = hessian[e, :, c] = (design_ij * spread_i[:, None]).T @ design_ij
        size = n_contrasts * n_features
        flat = hessian.reshape(size, size)
        flat[np.diag_indices(size)] += np.tile(self._ridge_j, n_contrasts)
        return flat

    def _by_lbfgs(
        self, point: Point, target_ik: Floats, max_steps: int, enough: float
    ) -> tuple[Point, bool]:
        shape, value = point.contrast_jc.shape, self.value(point, target_ik)

        def fall(contrast: Floats) -> tuple[float, Floats]:
            here = self._at(contrast.reshape(shape))
            return -self.value(here, target_ik), -self.slope(here, target_ik).ravel()

        found = minimize(
            fall,
            point.contrast_jc.ravel(),
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": 10 * max_steps,  # each costs far less than a step of Newton's
                "ftol": 0.1 * enough / max(abs(value), 1.0),
                "gtol": 1e-9 * float(target_ik.sum()),
            },
        )
        moved = self._at(found.x.reshape(shape))
        return (moved if -found.fun >= value else point), bool(found.success)


def _factor(hessian: Floats) -> Any:
    """A Cholesky factor; what is flat gets the least curvature that lets it be factored."""
    least = max(float(np.trace(hessian)) / len(hessian), 1e-12)
    lift = 0.0
    while True:
        try:
            return cho_factor(hessian + lift * np.eye(len(hessian)), lower=True)
        except LinAlgError:
            lift = max(100 * lift, 1e-12 * least)


@kernel
def _residual(target_ik: Floats, log_class_ik: Floats) -> Floats:
    """t_ik - t_i f_ik."""
    residual_ik = np.empty(target_ik.shape)
    for i in range(target_ik.shape[0]):
        total = 0.0
        for k in range(target_ik.shape[1]):
            total += target_ik[i, k]
        for k in range(target_ik.shape[1]):
            residual_ik[i, k] = target_ik[i, k] - total * np.exp(log_class_ik[i, k])
    return residual_ik
