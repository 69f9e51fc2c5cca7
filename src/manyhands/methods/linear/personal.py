"""Personal classifiers: each annotator labels by an own classifier, near a common one.

Cost: annotators x (features + 1) x (classes - 1) numbers are learnt, a handful of vectors of that
length are held, and one pass takes annotations x features x classes operations.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from manyhands.aggregation import estimate_confusions
from manyhands.aggregation.kernels.confusion_loops import normalise_scores
from manyhands.annotations import Annotations
from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.kernels import even_blocks, kernel, run_blocks
from manyhands.core.settings import require
from manyhands.methods.base import About, Method, Paper
from manyhands.methods.linear.base import (
    Contrasts,
    LinearFit,
    LinearMethod,
    LinearWeights,
    check_features,
    with_ones,
)

_MAX_TRUST = 1000.0  # largest trust radius, relative to the first
_MAX_BLOCKS = 16
_ROWS = 64  # labels of an annotator that are multiplied at once
_LABEL_CURVATURE = 0.25  # of the log-loss of two equally probable classes


@dataclass(frozen=True)
class PersonalFit(LinearFit):
    """The common classifier and the personal ones; confusions are against the common one.

    Row a of `coefficient_ajk` and `intercept_ak` is the classifier of annotator a.
    """

    coefficient_ajk: Floats
    intercept_ak: Floats


def fit_personal(
    features: Any,
    annotations: Annotations,
    *,
    prior_precision: float | None = None,
    intercept_prior_precision: float = 1.0,
    l2: float = 1.0,
    intercept_l2: float = 0.0,
    start: LinearWeights | None = None,
    max_iter: int = 200,
    tol: float = 1e-8,
) -> PersonalFit:
    """Fit classifiers w_a ~ N(w_0, 1/prior_precision) and the common one w_0 ~ N(0, 1/l2).

    The objective is concave and has one maximum::

        sum_n log softmax(x_i w_a)[y_n]
            - prior_precision/2 sum_a |w_a - w_0|^2 - l2/2 |w_0|^2

    where the intercepts have their own `intercept_prior_precision` and `intercept_l2`. It is
    maximised by Newton steps with conjugate gradients within a trust region. An infinite
    `prior_precision` gives logistic regression on all labels. With a small one annotators have
    less in common, and the fit takes longer.

    The default of `prior_precision` is the mean of |x_i|^2: the logits of an annotator then
    deviate from the common ones by about 1, whatever the number and scale of the features.
    `start` is a first w_0, for all annotators. The fit ends when about `tol` per label can still
    be gained.

    Source: Kajino, Tsuboi and Kashima 2012, here with more than two classes.
    """
    features_ij, ann = check_features(features, annotations)
    if prior_precision is None:
        prior_precision = max(float(np.square(features_ij).sum(axis=1).mean()), 1e-12)
    for name, precision in (
        ("prior_precision", prior_precision),
        ("intercept_prior_precision", intercept_prior_precision),
    ):
        require(0 < precision < np.inf, name, "above 0", precision)
    for name, precision in (("l2", l2), ("intercept_l2", intercept_l2)):
        require(0 <= precision < np.inf, name, "0 or more", precision)
    n_features = features_ij.shape[1]
    loss = PersonalLoss(
        features_ij,
        ann,
        precision_j=np.append(np.full(n_features, prior_precision), intercept_prior_precision),
        ridge_j=np.append(np.full(n_features, l2), intercept_l2),
    )
    result = minimize(
        loss,
        loss.start_at(start),
        jac=True,
        hessp=loss.hessian_product,
        method="trust-ncg",
        options={
            "maxiter": max_iter,
            # Deviations have a curvature of at least 1: |gradient|^2 / 2 bounds their gain.
            "gtol": np.sqrt(2.0 * tol * ann.n_annotations),
            "initial_trust_radius": np.sqrt(ann.n_annotations),
            "max_trust_radius": _MAX_TRUST * np.sqrt(ann.n_annotations),
        },
    )
    weights, stacked_ajk = loss.classifiers(result.x)
    return PersonalFit(
        weights,
        estimate_confusions(ann, np.exp(weights.log_class(features_ij))),
        (-float(result.fun),),
        bool(result.success),
        stacked_ajk[:, :-1],
        stacked_ajk[:, -1],
    )


class PersonalLoss:
    """The loss as a function of a flat vector u: the common classifier, then all deviations.

    ::

        - sum_n log softmax(x_i w_a)[y_n]
            + sum_aj precision_j/2 |w_aj - w_0j|^2 + sum_j ridge_j/2 |w_0j|^2

        w_0 = L^-T u_0,  L L^T = ridge + sum_n x x^T / 4,    w_a = w_0 + u_a / sqrt(precision)

    in contrasts of classes. The loss has about the same curvature in all directions of u, for a
    weak prior and for a strong one: u_0 is scaled by the curvature of the labels' loss, deviations
    are scaled by their prior.
    """

    def __init__(
        self, features_ij: Floats, annotations: Annotations, *, precision_j: Floats, ridge_j: Floats
    ) -> None:
        self._ann, self._ridge_j, self._scale_j = annotations, ridge_j, precision_j**-0.5
        self._contrasts = Contrasts(annotations.n_classes)
        self._design_ij = with_ones(features_ij)
        order = annotations.annotator_order
        self._item_n, self._label_n = annotations.item[order], annotations.label[order]
        self._blocks = even_blocks(annotations.annotator_offsets, _MAX_BLOCKS)
        self._root_jj = self._curvature_root()
        self._gradient_acj = np.empty(
            (annotations.n_annotators, annotations.n_classes - 1, len(ridge_j))
        )
        self._class_nk = np.empty((annotations.n_annotations, annotations.n_classes))
        self._point = np.empty(0)  # the vector that `_class_nk` belongs to

    def start_at(self, weights: LinearWeights | None) -> Floats:
        """The vector of a common classifier without deviations; by default all 0."""
        vector = np.zeros(self._gradient_acj[0].size + self._gradient_acj.size)
        if weights is not None:
            common_jc = self._contrasts.of(weights)
            vector[: common_jc.size] = (self._root_jj.T @ common_jc).T.ravel()
        return vector

    def classifiers(self, vector: Floats) -> tuple[LinearWeights, Floats]:
        """The common classifier, and the personal weights (a, j, k), the intercept's row last."""
        common_cj, deviation_acj = self._split(vector)
        own_acj = common_cj + deviation_acj * self._scale_j
        stacked_ajk = np.einsum("acj,kc->ajk", own_acj, self._contrasts.basis_kc)
        return self._contrasts.weights(common_cj.T), stacked_ajk

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """The loss and its gradient."""
        common_cj, deviation_acj = self._split(vector)
        loss = self._pass(common_cj, deviation_acj, at_point=True)
        self._point = vector.copy()
        loss += 0.5 * float(np.vdot(deviation_acj, deviation_acj))
        loss += 0.5 * float((self._ridge_j * np.square(common_cj)).sum())
        return loss, self._flat_gradient(vector, common_cj)

    def hessian_product(self, vector: Floats, direction: Floats) -> Floats:
        """The Hessian at a vector, times a direction."""
        if not np.array_equal(vector, self._point):
            self(vector)
        common_cj, deviation_acj = self._split(direction)
        self._pass(common_cj, deviation_acj, at_point=False)
        return self._flat_gradient(direction, common_cj)

    def _pass(self, common_cj: Floats, deviation_acj: Floats, *, at_point: bool) -> float:
        """One pass over the labels: the gradient at a point, or its change along a direction."""
        offsets, item_n, label_n = self._ann.annotator_offsets, self._item_n, self._label_n
        weights = self._contrasts.basis_kc, common_cj, deviation_acj, self._scale_j
        others = self._design_ij, *weights, self._class_nk, self._gradient_acj

        def work(annotators: tuple[int, int]) -> float:
            return personal_pass(*annotators, at_point, offsets, item_n, label_n, *others)

        return sum(run_blocks(work, self._blocks))

    def _flat_gradient(self, vector: Floats, common_cj: Floats) -> Floats:
        """The gradient with respect to u, from that by contrasts and from the priors."""
        gradient_cj = self._gradient_acj.sum(axis=0) + self._ridge_j * common_cj
        gradient = np.empty_like(vector)
        first_cj = solve_triangular(self._root_jj, gradient_cj.T, lower=True).T
        gradient[: first_cj.size] = first_cj.ravel()
        own_acj = gradient[first_cj.size :].reshape(self._gradient_acj.shape)
        np.multiply(self._gradient_acj, self._scale_j, out=own_acj)
        gradient[first_cj.size :] += vector[first_cj.size :]
        return gradient

    def _split(self, vector: Floats) -> tuple[Floats, Floats]:
        """The contrasts of the common classifier, and the scaled deviations."""
        n_annotators, n_contrasts, n_features = self._gradient_acj.shape
        free_acj = vector.reshape(1 + n_annotators, n_contrasts, n_features)
        common_jc = solve_triangular(self._root_jj.T, free_acj[0].T, lower=False)
        return np.ascontiguousarray(common_jc.T), free_acj[1:]

    def _curvature_root(self) -> Floats:
        """L, the Cholesky factor."""
        weighted_ij = self._design_ij * np.sqrt(self._ann.labels_per_item)[:, None]
        curvature_jj = _LABEL_CURVATURE * weighted_ij.T @ weighted_ij + np.diag(self._ridge_j)
        least = 1e-12 * max(float(np.trace(curvature_jj)), 1e-300)
        return np.asarray(np.linalg.cholesky(curvature_jj + least * np.eye(len(curvature_jj))))


@kernel
def personal_pass(
    first: int,
    last: int,
    at_point: bool,
    offsets: Offsets,
    item: Codes,
    label: Codes,
    design: Floats,
    basis: Floats,
    common: Floats,
    deviation: Floats,
    scale: Floats,
    classes: Floats,
    gradient: Floats,
) -> float:
    """One pass over the labels of annotators `first` up to `last`; returns their loss.

    With `at_point`, the weights are a point: `gradient` becomes the gradient of the loss there,
    and `classes` the class probabilities. Without it, the weights are a direction: `gradient`
    becomes the change of the gradient along it, at the point that `classes` belongs to.
    """
    n_contrasts, n_features = common.shape
    own, rows = np.empty(common.shape), np.empty((_ROWS, n_features))
    contrasts = np.empty((_ROWS, n_contrasts))
    loss = 0.0
    for a in range(first, last):
        gradient[a] = 0.0
        for c in range(n_contrasts):
            for j in range(n_features):
                own[c, j] = common[c, j] + deviation[a, c, j] * scale[j]
        for begin in range(offsets[a], offsets[a + 1], _ROWS):
            count = min(_ROWS, offsets[a + 1] - begin)
            some, contrast = rows[:count], contrasts[:count]
            for r in range(count):
                some[r] = design[item[begin + r]]
            np.dot(some, own.T, contrast)
            for r in range(count):
                n = begin + r
                if at_point:
                    loss += _label_loss(contrast[r], label[n], basis, classes[n])
                else:
                    _gradient_change(contrast[r], basis, classes[n])
            gradient[a] += np.dot(contrast.T, some)
    return loss


@kernel
def _label_loss(contrast: Floats, label: int, basis: Floats, classes: Floats) -> float:
    """-log f_label; `contrast` becomes its gradient, `classes` becomes f."""
    n_classes, n_contrasts = basis.shape
    for k in range(n_classes):
        classes[k] = 0.0
        for c in range(n_contrasts):
            classes[k] += basis[k, c] * contrast[c]
    logit = classes[label]
    log_total = normalise_scores(classes, -1)
    contrast[:] = 0.0
    for k in range(n_classes):
        residual = classes[k] - (1.0 if k == label else 0.0)
        for c in range(n_contrasts):
            contrast[c] += basis[k, c] * residual
    return float(log_total - logit)


@kernel
def _gradient_change(contrast: Floats, basis: Floats, classes: Floats) -> None:
    """The contrasts of a direction become the change of the gradient along it."""
    n_classes, n_contrasts = basis.shape
    change = np.empty(n_classes)
    mean = 0.0
    for k in range(n_classes):
        change[k] = 0.0
        for c in range(n_contrasts):
            change[k] += basis[k, c] * contrast[c]
        mean += classes[k] * change[k]
    contrast[:] = 0.0
    for k in range(n_classes):
        for c in range(n_contrasts):
            contrast[c] += basis[k, c] * classes[k] * (change[k] - mean)


@dataclass(frozen=True)
class PersonalClassifiers(LinearMethod):
    """Personal classifiers; `settings` are those of `fit_personal`. It predicts by the common one.

    The confusions of the annotators are those against the common classifier.
    """

    solve = staticmethod(fit_personal)


ROWS: dict[str, Method] = {
    "pc": PersonalClassifiers(
        paper=Paper(preset="p1/sentiment"),
        about=About(
            source="Kajino, Tsuboi and Kashima 2012",
            equation="P(y | a, x) = softmax(x w_a), w_a ~ N(w_0, .); convex; predicts with w_0",
            cost="a pass over the labels with features x K each",
            when="annotators weigh the features differently",
        ),
    ),
}
