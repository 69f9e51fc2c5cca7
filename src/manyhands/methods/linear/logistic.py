"""Multinomial logistic regression on soft targets, by steps that never lower the objective."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize

from manyhands.aggregation.em import EMRun, run_em
from manyhands.core.arrays import Floats
from manyhands.core.settings import require
from manyhands.methods.linear.base import Contrasts, LinearWeights, log_softmax, with_ones

A = TypeVar("A")
_FIRST_STEPS, _STEPS = 10, 2  # in EM: from zero weights, and in every M-step
_MAX_NEWTON_SIZE = 1500  # contrasts; a larger Hessian costs more than many gradients
_TRUSTED_GAIN = (0.5, 1.5)  # gain / expected gain for which the Hessian is kept
_SUFFICIENT_GAIN = 1e-4  # share of the expected gain that a step must reach
_MAX_HALVINGS = 40
_ROUNDING = 1e-14  # smaller gains, relative to the objective, are rounding errors


@dataclass(frozen=True)
class Point:
    """Contrasts, their log-probabilities, and a Cholesky factor of a Hessian near them."""

    contrast_jc: Floats
    log_class_ik: Floats
    factor: Any = None


class SoftmaxRegression:
    """The objective of logistic regression, and its maximisation.

    The targets t need not sum to 1: the sum of a row is the weight of the item::

        sum_ik t_ik log f_k(x_i) - l2/2 sum_jk W_jk^2 - intercept_l2/2 sum_k b_k^2

    The objective is concave. It is maximised by Newton steps with the exact Hessian. A Hessian is
    kept for as long as steps gain what it predicts: it hardly changes from one M-step to the next.
    With too many weights for a Hessian, L-BFGS is used. Both end at or above their start.
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
        """The point of these weights; by default all are 0."""
        shape = self._design_ij.shape[1], self._contrasts.n_classes - 1
        return self._at(np.zeros(shape) if weights is None else self._contrasts.of(weights))

    def weights(self, point: Point) -> LinearWeights:
        """The classifier of a point."""
        return self._contrasts.weights(point.contrast_jc)

    def log_prior(self, point: Point) -> float:
        """The contribution of the penalties to the objective."""
        return -0.5 * float(self._ridge_j @ np.square(point.contrast_jc).sum(axis=1))

    def value(self, point: Point, target_ik: Floats) -> float:
        """The objective."""
        return float(np.vdot(target_ik, point.log_class_ik)) + self.log_prior(point)

    def gradient(self, point: Point, target_ik: Floats) -> Floats:
        """The gradient of the objective with respect to the contrasts, shape (j, c)."""
        total_i1 = target_ik.sum(axis=1, keepdims=True)
        residual_ik = target_ik - total_i1 * np.exp(point.log_class_ik)
        gradient_jc = self._design_ij.T @ (residual_ik @ self._contrasts.basis_kc)
        return np.asarray(gradient_jc - self._ridge_j[:, None] * point.contrast_jc)

    def ascend(
        self, point: Point, target_ik: Floats, *, max_steps: int, tol: float
    ) -> tuple[Point, bool]:
        """A point at least as good, and whether at most `tol` can still be gained there."""
        if point.contrast_jc.size == 0:
            return point, True
        if point.contrast_jc.size > _MAX_NEWTON_SIZE:
            return self._ascend_by_lbfgs(point, target_ik, max_steps, tol)
        value = self.value(point, target_ik)
        tol += _ROUNDING * abs(value)
        for _ in range(max_steps):
            gradient_jc = self.gradient(point, target_ik)
            fresh = point.factor is None
            factor = _factor(self._hessian(point, target_ik)) if fresh else point.factor
            step_jc = cho_solve(factor, gradient_jc.T.ravel()).reshape(gradient_jc.T.shape).T
            expected = 0.5 * float(np.vdot(gradient_jc, step_jc))
            if expected <= tol:
                return replace(point, factor=factor), True
            required = value + _SUFFICIENT_GAIN * expected
            moved = self._search(point, step_jc, target_ik, required, _MAX_HALVINGS if fresh else 1)
            if moved is None:
                if fresh:
                    return point, False
                point = replace(point, factor=None)
                continue
            gain = self.value(moved, target_ik) - value
            fits = _TRUSTED_GAIN[0] < gain / expected < _TRUSTED_GAIN[1]
            point, value = replace(moved, factor=factor if fits else None), value + gain
        return point, False

    def _at(self, contrast_jc: Floats) -> Point:
        stacked_jk = contrast_jc @ self._contrasts.basis_kc.T
        return Point(contrast_jc, log_softmax(self._design_ij @ stacked_jk))

    def _search(
        self, point: Point, step_jc: Floats, target_ik: Floats, required: float, max_tries: int
    ) -> Point | None:
        """The point a step ahead, or half as far, ..., that reaches the required value, if any."""
        size = 1.0
        for _ in range(max_tries):
            moved = self._at(point.contrast_jc + size * step_jc)
            if self.value(moved, target_ik) >= required:
                return moved
            size /= 2
        return None

    def _hessian(self, point: Point, target_ik: Floats) -> Floats:
        """Minus the second derivative, shape (c x j, c x j).

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
                cov_i = class_ik @ (basis_kc[:, c] * basis_kc[:, e])
                cov_i = total_i * (cov_i - mean_ic[:, c] * mean_ic[:, e])
                hessian[c, :, e] = hessian[e, :, c] = (design_ij * cov_i[:, None]).T @ design_ij
        size = n_contrasts * n_features
        flat = hessian.reshape(size, size)
        flat[np.diag_indices(size)] += np.tile(self._ridge_j, n_contrasts)
        return flat

    def _ascend_by_lbfgs(
        self, point: Point, target_ik: Floats, max_steps: int, tol: float
    ) -> tuple[Point, bool]:
        shape, value = point.contrast_jc.shape, self.value(point, target_ik)

        def loss(contrast: Floats) -> tuple[float, Floats]:
            here = self._at(contrast.reshape(shape))
            return -self.value(here, target_ik), -self.gradient(here, target_ik).ravel()

        result = minimize(
            loss,
            point.contrast_jc.ravel(),
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": 10 * max_steps,  # each costs far less than a Newton step
                "ftol": 0.1 * tol / max(abs(value), 1.0),
                "gtol": 1e-9 * float(target_ik.sum()),
            },
        )
        moved = self._at(result.x.reshape(shape))
        return (moved if -result.fun >= value else point), bool(result.success)


def run_regression_em(
    regression: SoftmaxRegression,
    expect: Callable[[Floats, A], tuple[Floats, A, float]],
    first_target_ik: Floats,
    first: A,
    *,
    max_iter: int,
    min_gain: float,
) -> EMRun[tuple[Point, A]]:
    """EM for a logistic regression and annotators, from the regression on the first targets.

    `expect` takes the log-probabilities of the classes and the annotators. It gives the targets of
    the regression, better annotators, and the log-likelihood and log-prior of those given. EM ends
    when a step gains less than `min_gain`.
    """

    def step(state: tuple[Point, A]) -> tuple[tuple[Point, A], float]:
        point, annotators = state
        target_ik, better, objective = expect(point.log_class_ik, annotators)
        objective += regression.log_prior(point)
        point, _ = regression.ascend(point, target_ik, max_steps=_STEPS, tol=0.01 * min_gain)
        return (point, better), objective

    point, _ = regression.ascend(
        regression.at(), first_target_ik, max_steps=_FIRST_STEPS, tol=0.01 * min_gain
    )
    return run_em((point, first), step, max_iter=max_iter, tol=min_gain)


def _factor(hessian: Floats) -> Any:
    """A Cholesky factor; flat directions get the least curvature that allows one."""
    least = max(float(np.trace(hessian)) / len(hessian), 1e-12)
    lift = 0.0
    while True:
        try:
            return cho_factor(hessian + lift * np.eye(len(hessian)), lower=True)
        except LinAlgError:
            lift = max(100 * lift, 1e-12 * least)
