"""The loss of personal classifiers, its gradient and its curvature, over observed labels only."""

import numpy as np
from scipy.linalg import solve_triangular

from manyhands.annotations import Annotations
from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.kernels import even_blocks, kernel, run_blocks
from manyhands.methods.linear.weights import Contrasts, LinearWeights, with_ones

_BLOCKS = 16
_ROWS = 64  # labels of an annotator at a time
_CURVATURE = 0.25  # of the log-loss of two equally probable classes


class PersonalLoss:
    """The loss by a flat vector u: the common classifier first, then everybody's deviation.

    ::

        - sum_n log softmax(x_i w_a)[y_n]
            + sum_aj pull_j/2 |w_aj - w_0j|^2 + sum_j ridge_j/2 |w_0j|^2

        w_0 = L^-T u_0,  L L^T = ridge + sum_n x x^T / 4,    w_a = w_0 + u_a / sqrt(pull)

    in contrasts of classes. In u the loss curves alike in all directions, be the pull weak or
    strong: u_0 is measured by the curvature of the labels' loss, deviations by their prior.
    """

    def __init__(
        self, features_ij: Floats, annotations: Annotations, *, pull_j: Floats, ridge_j: Floats
    ) -> None:
        self._ann, self._ridge_j, self._scale_j = annotations, ridge_j, pull_j**-0.5
        self._contrasts = Contrasts(annotations.n_classes)
        self._design_ij = with_ones(features_ij)
        order = annotations.annotator_order
        self._item_n, self._label_n = annotations.item[order], annotations.label[order]
        self._blocks = even_blocks(annotations.annotator_offsets, _BLOCKS)
        self._root_jj = self._curvature_root()
        self._pushed_acj = np.empty(
            (annotations.n_annotators, annotations.n_classes - 1, len(ridge_j))
        )
        self._class_nk = np.empty((annotations.n_annotations, annotations.n_classes))
        self._place = np.empty(0)  # the vector that `_class_nk` belongs to

    def begin(self, start: LinearWeights | None) -> Floats:
        """The vector of a common classifier that nobody deviates from; by default all 0."""
        vector = np.zeros(self._pushed_acj[0].size + self._pushed_acj.size)
        if start is not None:
            shared_jc = self._contrasts.of(start)
            vector[: shared_jc.size] = (self._root_jj.T @ shared_jc).T.ravel()
        return vector

    def classifiers(self, vector: Floats) -> tuple[LinearWeights, Floats]:
        """The common classifier, and everybody's weights (a, j, k), the intercept's row last."""
        shared_cj, free_acj = self._parts(vector)
        own_acj = shared_cj + free_acj * self._scale_j
        stacked_ajk = np.einsum("acj,kc->ajk", own_acj, self._contrasts.basis_kc)
        return self._contrasts.weights(shared_cj.T), stacked_ajk

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """The loss and its gradient."""
        shared_cj, free_acj = self._parts(vector)
        loss = self._pass(shared_cj, free_acj, anew=True)
        self._place = vector.copy()
        loss += 0.5 * float(np.vdot(free_acj, free_acj))
        loss += 0.5 * float((self._ridge_j * np.square(shared_cj)).sum())
        return loss, self._pulled_back(vector, shared_cj)

    def curvature(self, vector: Floats, direction: Floats) -> Floats:
        """The Hessian at a vector, times a direction."""
        if not np.array_equal(vector, self._place):
            self(vector)
        shared_cj, free_acj = self._parts(direction)
        self._pass(shared_cj, free_acj, anew=False)
        return self._pulled_back(direction, shared_cj)

    def _pass(self, shared_cj: Floats, free_acj: Floats, *, anew: bool) -> float:
        """One walk over the labels: the slope at a point, or its change along a direction."""

        def work(annotators: tuple[int, int]) -> float:
            return _walk(
                *annotators,
                anew,
                self._ann.annotator_offsets,
                self._item_n,
                self._label_n,
                self._design_ij,
                self._contrasts.basis_kc,
                shared_cj,
                free_acj,
                self._scale_j,
                self._class_nk,
                self._pushed_acj,
            )

        return sum(run_blocks(work, self._blocks))

    def _pulled_back(self, vector: Floats, shared_cj: Floats) -> Floats:
        """By u, what the walk gave by contrasts; the priors added."""
        pushed_cj = self._pushed_acj.sum(axis=0) + self._ridge_j * shared_cj
        slope = np.empty_like(vector)
        slope_cj = solve_triangular(self._root_jj, pushed_cj.T, lower=True).T
        slope[: slope_cj.size] = slope_cj.ravel()
        own_acj = slope[slope_cj.size :].reshape(self._pushed_acj.shape)
        np.multiply(self._pushed_acj, self._scale_j, out=own_acj)
        slope[slope_cj.size :] += vector[slope_cj.size :]
        return slope

    def _parts(self, vector: Floats) -> tuple[Floats, Floats]:
        n_annotators, n_contrasts, n_features = self._pushed_acj.shape
        free_acj = vector.reshape(1 + n_annotators, n_contrasts, n_features)
        shared_jc = solve_triangular(self._root_jj.T, free_acj[0].T, lower=False)
        return np.ascontiguousarray(shared_jc.T), free_acj[1:]

    def _curvature_root(self) -> Floats:
        said_ij = self._design_ij * np.sqrt(self._ann.labels_per_item)[:, None]
        curvature_jj = _CURVATURE * said_ij.T @ said_ij + np.diag(self._ridge_j)
        least = 1e-12 * max(float(np.trace(curvature_jj)), 1e-300)
        return np.asarray(np.linalg.cholesky(curvature_jj + least * np.eye(len(curvature_jj))))


@kernel
def _judge(contrast: Floats, label: int, basis: Floats, classes: Floats) -> float:
    """Minus the log-probability of a label; contrasts become the slope, classes f."""
    n_classes, n_contrasts = basis.shape
    top = -np.inf
    for k in range(n_classes):
        classes[k] = 0.0
        for c in range(n_contrasts):
            classes[k] += basis[k, c] * contrast[c]
        top = max(top, classes[k])
    said, total = classes[label], 0.0
    for k in range(n_classes):
        classes[k] = np.exp(classes[k] - top)
        total += classes[k]
    contrast[:] = 0.0
    for k in range(n_classes):
        classes[k] /= total
        residual = classes[k] - (1.0 if k == label else 0.0)
        for c in range(n_contrasts):
            contrast[c] += basis[k, c] * residual
    return float(top + np.log(total) - said)


@kernel
def _turn(contrast: Floats, basis: Floats, classes: Floats) -> None:
    """Contrasts of a direction become the change of the slope along it."""
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


@kernel
def _walk(
    first: int,
    last: int,
    anew: bool,
    offsets: Offsets,
    item: Codes,
    label: Codes,
    design: Floats,
    basis: Floats,
    shared: Floats,
    free: Floats,
    scale: Floats,
    classes: Floats,
    pushed: Floats,
) -> float:
    """Loss of some annotators' labels; its slope by their contrasts, or (not anew) its change."""
    n_contrasts, n_features = shared.shape
    own, rows = np.empty(shared.shape), np.empty((_ROWS, n_features))
    contrasts = np.empty((_ROWS, n_contrasts))
    loss = 0.0
    for a in range(first, last):
        pushed[a] = 0.0
        for c in range(n_contrasts):
            for j in range(n_features):
                own[c, j] = shared[c, j] + free[a, c, j] * scale[j]
        for begin in range(offsets[a], offsets[a + 1], _ROWS):
            count = min(_ROWS, offsets[a + 1] - begin)
            some, contrast = rows[:count], contrasts[:count]
            for r in range(count):
                some[r] = design[item[begin + r]]
            np.dot(some, own.T, contrast)
            for r in range(count):
                n = begin + r
                if anew:
                    loss += _judge(contrast[r], label[n], basis, classes[n])
                else:
                    _turn(contrast[r], basis, classes[n])
            pushed[a] += np.dot(contrast.T, some)
    return loss
