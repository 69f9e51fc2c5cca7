"""Ridge regressions of beliefs on features, with the prediction of every item left out of its own.

A ridge regression is linear in its targets, so its decomposition is made once and the predictions
for new targets cost a few products. The prediction for an item by the regression on all *other*
items follows from the one on all items in closed form: nothing is trained again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import pdist
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import pairwise_kernels

from manyhands.core.arrays import AnyArray, Bools, Codes, Floats
from manyhands.core.limits import product, require_memory
from manyhands.core.settings import generator

RIDGES = (0.03, 0.1, 0.3, 1.0, 3.0)  # relative to kernels whose mean diagonal is 1
_MAX_EXACT = 1500  # items; the decomposition of a larger kernel takes too long
_LANDMARKS = 750
_MAX_MEASURED = 1000  # items whose distances are measured
_CLIP = 5.0  # standard deviations
_LEAST = 1e-10  # relative eigenvalues below it are rounding errors
_MAX_SEED = 2**31


@dataclass(frozen=True)
class RidgeSmoother:
    """Ridge regressions with a free intercept on one kernel, one for every strength of `RIDGES`.

    `basis_ir` are the directions of the centred kernel, orthonormal, and `shrink_mr` how much
    regression m keeps of each::

        f_m = mean(q) + U diag(shrink_m) U' q

    The prediction of item i by the regression on the other items, with h_i = 1/I + sum_r shrink_r
    U_ir^2, is (f_i - h_i q_i) / (1 - h_i).
    """

    basis_ir: Floats
    shrink_mr: Floats

    @property
    def n_regressions(self) -> int:
        """How many regressions there are, one for every strength."""
        return len(self.shrink_mr)

    @cached_property
    def own_mi(self) -> Floats:
        """How much of its own belief the prediction of every item is, h_i, shape (m, i)."""
        return 1 / len(self.basis_ir) + self.shrink_mr @ np.square(self.basis_ir).T

    def left_out(self, target_ik: Floats) -> Floats:
        """The prediction of every item by the regressions on all others, shape (m, i, k)."""
        (n_items, n_classes), n = target_ik.shape, self.n_regressions
        along_rk = self.basis_ir.T @ target_ik
        shrunk_rmk = self.shrink_mr.T[:, :, None] * along_rk[:, None, :]
        # One product for all regressions: it reads the basis once.
        moved_imk = (self.basis_ir @ shrunk_rmk.reshape(-1, n * n_classes)).reshape(n_items, n, -1)
        fitted_mik = target_ik.mean(axis=0) + moved_imk.transpose(1, 0, 2)
        own_mi1 = self.own_mi[:, :, None]
        alone = own_mi1 > 1 - 1e-9  # nothing is known of an item but itself
        rest_mik = (fitted_mik - own_mi1 * target_ik) / np.where(alone, 1.0, 1 - own_mi1)
        return np.asarray(np.where(alone, 1 / n_classes, rest_mik))


@dataclass(frozen=True)
class FoldSmoother:
    """Ridge regressions on rows (i, j), each predicted by those on the other folds of the items.

    Items that know of each other, such as the tokens of a sentence, are in one fold.
    """

    features_ij: Floats
    fold_i: Codes

    @property
    def n_regressions(self) -> int:
        """How many regressions there are, one for every strength."""
        return len(RIDGES)

    def left_out(self, target_ik: Floats) -> Floats:
        """The prediction of every item by the regressions on the other folds, shape (m, i, k)."""
        found_mik = np.full((len(RIDGES), *target_ik.shape), 1 / target_ik.shape[1])
        for own, others, mean_j, inverse_mjj in self._folds:
            mean_k = target_ik[others].mean(axis=0)
            sums_jk = self.features_ij[others].T @ target_ik[others]
            sums_jk -= len(others) * np.outer(mean_j, mean_k)
            centred_ij = self.features_ij[own] - mean_j
            for m, inverse_jj in enumerate(inverse_mjj):
                found_mik[m, own] = mean_k + centred_ij @ (inverse_jj @ sums_jk)
        return found_mik

    @cached_property
    def _folds(self) -> list[tuple[AnyArray, AnyArray, Floats, Floats]]:
        """The items of every fold and all others, their mean row, and the inverses (m, j, j)."""
        found = []
        for number in range(int(self.fold_i.max()) + 1):
            own, others = (np.flatnonzero(each) for each in split_fold(self.fold_i, number))
            if len(others) == 0:  # a single sentence: nothing is known of it but itself
                continue
            centred_ij = self.features_ij[others]
            mean_j = centred_ij.mean(axis=0)
            centred_ij = centred_ij - mean_j
            value_r, vector_jr = eigh(centred_ij.T @ centred_ij)
            value_r = np.maximum(value_r, 0.0)
            size = value_r.sum() / len(others) or 1.0
            below_mr = value_r + size * np.array(RIDGES)[:, None]
            inverse_mjj = np.stack([(vector_jr / below_r) @ vector_jr.T for below_r in below_mr])
            found.append((own, others, mean_j, inverse_mjj))
        return found


def fit_smoothers(features_ij: Floats, *, seed: int = 0) -> list[RidgeSmoother]:
    """Smoothers on a linear and a radial kernel of the features, each on three scalings.

    The scalings are the features as they are, standardised, and with rows of length 1. The radial
    kernel is exp(-d^2 / (2 m)) with the median m of the squared distances d^2. Beyond 1500 items
    the kernels are approximated by 750 landmarks, drawn by the seed.
    """
    n_items = len(features_ij)
    width = n_items if n_items <= _MAX_EXACT else _LANDMARKS
    require_memory(
        "cross-fit", 6 * 8 * n_items * width,
        product(6, n_items, width, of="kernels x items x directions"),
        "use fewer items, or a method that trains a network on batches, such as conal",
    )  # fmt: skip
    found = []
    for scaling in _SCALINGS:
        scaled_ij = scaling(np.asarray(features_ij, dtype=np.float64))
        for kernel in ({"kernel": "linear"}, {"kernel": "rbf", "gamma": _gamma(scaled_ij, seed)}):
            found.append(_smoother(scaled_ij, kernel, seed))
    return found


def _smoother(features_ij: Floats, kernel: Mapping[str, Any], seed: int) -> RidgeSmoother:
    n_items, n_features = features_ij.shape
    if kernel["kernel"] == "linear" and n_features <= min(n_items, _LANDMARKS):
        return _from_factor(features_ij)
    if n_items <= _MAX_EXACT:
        arguments = {name: each for name, each in kernel.items() if name != "kernel"}
        kernel_ii = pairwise_kernels(features_ij, metric=kernel["kernel"], **arguments)
        return _from_kernel(kernel_ii)
    random_state = int(generator(seed, "landmarks").integers(_MAX_SEED))
    made = Nystroem(n_components=_LANDMARKS, random_state=random_state, **kernel)
    return _from_factor(made.fit_transform(features_ij))


def _from_kernel(kernel_ii: Floats) -> RidgeSmoother:
    """The smoother of a kernel, which is centred first."""
    kernel_ii = kernel_ii - kernel_ii.mean(axis=0)
    kernel_ii = kernel_ii - kernel_ii.mean(axis=1, keepdims=True)
    value_r, basis_ir = eigh(kernel_ii)
    return _kept(value_r, basis_ir)


def _from_factor(factor_ir: Floats) -> RidgeSmoother:
    """The smoother of the kernel F F', for factors F with fewer columns than rows."""
    factor_ir = factor_ir - factor_ir.mean(axis=0)
    value_r, vector = eigh(factor_ir.T @ factor_ir)
    root_r = np.sqrt(np.maximum(value_r, np.finfo(float).tiny))
    return _kept(value_r, factor_ir @ (vector / root_r))


def _kept(value_r: Floats, basis_ir: Floats) -> RidgeSmoother:
    """Directions of a kernel whose mean diagonal is made 1, without rounding errors."""
    kept = value_r > max(_LEAST * value_r[-1], 0.0) if len(value_r) else np.zeros(0, dtype=bool)
    value_r, basis_ir = value_r[kept], basis_ir[:, kept]
    value_r = value_r * (len(basis_ir) / max(value_r.sum(), np.finfo(float).tiny))
    return RidgeSmoother(basis_ir, value_r / (value_r + np.array(RIDGES)[:, None]))


def _gamma(features_ij: Floats, seed: int) -> float:
    some = generator(seed, "distances").permutation(len(features_ij))[:_MAX_MEASURED]
    squares = pdist(features_ij[np.sort(some)], "sqeuclidean")
    median = float(np.median(squares)) if len(squares) else 0.0
    return 0.5 / median if median > 0 else 1.0


def _centred(features_ij: Floats) -> Floats:
    return np.asarray(features_ij - features_ij.mean(axis=0))


def _standardised(features_ij: Floats) -> Floats:
    scale_j = features_ij.std(axis=0)
    scaled_ij = _centred(features_ij) / np.where(scale_j > 0, scale_j, 1.0)
    return np.asarray(np.clip(scaled_ij, -_CLIP, _CLIP))


def _unit_rows(features_ij: Floats) -> Floats:
    length_i1 = np.linalg.norm(features_ij, axis=1, keepdims=True)
    return _centred(features_ij / np.where(length_i1 > 0, length_i1, 1.0))


_SCALINGS: Sequence[Callable[[Floats], Floats]] = (_centred, _standardised, _unit_rows)


def split_fold(fold_i: Codes, number: int) -> tuple[Bools, Bools]:
    """Which items are in a fold, and which are not."""
    return fold_i == number, fold_i != number
