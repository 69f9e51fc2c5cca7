"""How certain the scores are: the inverse of the observed information at the fitted parameters."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from manyhands.aggregation.pairs.system import Local, PairSystem
from manyhands.core.arrays import AnyArray, Codes, Floats

MAX_ITEMS = 6000  # of whom the covariance, a matrix of items x items, is computed


class Uncertainty(NamedTuple):
    """Covariance of the scores (i, i), and standard deviations of what belongs to annotators.

    `reliability` are deviations of the log-odds of following the scores, `position` those of the
    advantages of the left side, `ties` that of their log-weight.
    """

    covariance: Floats
    reliability: Floats
    position: Floats
    ties: float


def estimate_uncertainty(
    system: PairSystem, hessian: Floats, group_i: Codes, reliability_precision: Floats
) -> Uncertainty | None:
    """The uncertainty from local Hessians by (d, delta, tau, log-odds), shape (n, 4, 4).

    Annotators are eliminated first, so that the matrices are items x items. None if there are too
    many items, or if the parameters are at no maximum.
    """
    n, n_sides = system.n_items, system.n_sides
    if n > MAX_ITEMS:
        return None
    n_annotators = len(reliability_precision)
    own_side = system.position == "annotator"
    # Kept: scores, a shared advantage, ties. Eliminated: what every annotator has.
    n_kept = n + (0 if own_side else n_sides) + int(system.with_ties)
    n_own = n_annotators + (n_sides if own_side else 0)
    jacobian = _jacobian(system, n_kept, n_own, n_annotators)
    size = n_kept + n_own
    total = sparse.csr_array((size, size))
    for one in range(4):
        for other in range(4):
            weights = sparse.diags_array(-hessian[:, one, other])
            total = total + jacobian[one].T @ weights @ jacobian[other]
    prior = np.zeros(size)
    prior[:n] = system.precision[:n]
    if system.with_ties:
        prior[n_kept - 1] = system.precision[-1]
    if own_side:
        prior[n_kept : n_kept + n_sides] = system.precision[n : n + n_sides]
    elif n_sides:
        prior[n] = system.precision[n]
    prior[size - n_annotators :] = reliability_precision
    total = (total + sparse.diags_array(prior)).tocsr()
    information = total[:n_kept, :n_kept].toarray()
    for group in range(int(group_i.max()) + 1):
        members = np.flatnonzero(group_i == group)  # the mean of a group is not identified
        information[np.ix_(members, members)] += 1.0 / len(members)
    own, solve_own = _own_blocks(total, n_kept, n_own, n_annotators if own_side else 0)
    border = total[:n_kept, n_kept:]
    if n_own:
        information -= (border @ solve_own @ border.T).toarray()
    try:
        kept = cho_solve(cho_factor(information), np.eye(n_kept))
    except LinAlgError:
        return None
    covariance = _centred(kept[:n, :n], group_i)
    deviation = np.sqrt(np.maximum(own + _border_variance(solve_own, border, kept), 0.0))
    return Uncertainty(
        covariance,
        deviation[n_own - n_annotators :],
        deviation[:n_sides] if own_side else np.sqrt(np.diag(kept)[n : n + n_sides]),
        float(np.sqrt(kept[-1, -1])) if system.with_ties else 0.0,
    )


def _jacobian(
    system: PairSystem, n_kept: int, n_own: int, n_annotators: int
) -> list[sparse.csr_array]:
    """How (d, delta, tau, log-odds) of every comparison depend on all parameters."""
    pairs, n = system.comparisons, system.n_items
    rows, size = np.arange(len(pairs)), n_kept + n_own
    ones = np.ones(len(pairs))

    def matrix(columns: AnyArray, weights: Floats = ones) -> sparse.csr_array:
        return sparse.csr_array((weights, (rows, columns)), shape=(len(pairs), size))

    nothing = sparse.csr_array((len(pairs), size))
    delta = nothing
    if system.n_sides:
        delta = matrix(system.side + (n_kept if system.position == "annotator" else n))
    return [
        matrix(pairs.left) - matrix(pairs.right),
        delta,
        matrix(np.full(len(pairs), n_kept - 1)) if system.with_ties else nothing,
        matrix(pairs.annotator + (size - n_annotators)) if n_annotators else nothing,
    ]


def _own_blocks(
    total: sparse.csr_array, n_kept: int, n_own: int, n_paired: int
) -> tuple[Floats, sparse.csr_array]:
    """The inverse of the annotators' own part, and its diagonal: blocks of one or two."""
    own = total[n_kept:, n_kept:].tocsr()
    diagonal = own.diagonal()
    if not n_paired:
        inverse = np.divide(1.0, diagonal, out=np.zeros(n_own), where=diagonal > 0)
        return inverse, sparse.diags_array(inverse).tocsr()
    first, second = diagonal[:n_paired], diagonal[n_paired:]
    cross = own[:n_paired, n_paired:].diagonal()
    determinant = first * second - cross**2
    inverse = sparse.block_array(
        [
            [sparse.diags_array(second / determinant), sparse.diags_array(-cross / determinant)],
            [sparse.diags_array(-cross / determinant), sparse.diags_array(first / determinant)],
        ],
        format="csr",
    )
    return inverse.diagonal(), inverse


def _border_variance(solve_own: sparse.csr_array, border: sparse.csr_array, kept: Floats) -> Floats:
    """What the uncertainty of the kept parameters adds to the variances of the annotators."""
    weights = (border @ solve_own).T.tocsr()  # (own, kept)
    return np.asarray(weights.multiply(weights @ kept).sum(axis=1)).ravel()


def _centred(covariance: Floats, group_i: Codes) -> Floats:
    """The covariance of scores minus the mean score of their group."""
    n_groups = int(group_i.max()) + 1
    member = np.zeros((len(group_i), n_groups))
    member[np.arange(len(group_i)), group_i] = 1.0
    mean = member / member.sum(axis=0)
    covariance = covariance - member @ (mean.T @ covariance)
    return np.asarray(covariance - (covariance @ mean) @ member.T)


def mixture_hessian(follows: Local, against: Local, share: Floats, chance: Floats) -> Floats:
    """The Hessian of the log-probability of every comparison by (d, delta, tau, log-odds).

    `share` is the posterior probability that the annotator followed the scores, `chance` the prior
    one, whose log-odds are the fourth parameter.
    """
    parts = [(follows, share, 1.0 - chance), (against, 1.0 - share, -chance)]
    n = len(share)
    mean, total = np.zeros((n, 4)), np.zeros((n, 4, 4))
    for local, weight, by_odds in parts:
        gradient = np.concatenate([local.gradient, by_odds[:, None]], axis=1)
        mean += weight[:, None] * gradient
        total += weight[:, None, None] * np.einsum("ni,nj->nij", gradient, gradient)
        total[:, :3, :3] += weight[:, None, None] * local.hessian
    total[:, 3, 3] -= chance * (1.0 - chance)
    return np.asarray(total - np.einsum("ni,nj->nij", mean, mean))
