"""How small the error of any guess at the truth can be where people share mistakes: theorem 1."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import entr, rel_entr

from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.settings import require

_NEAR = 1e-6  # how far the sum of a distribution may be from 1


@dataclass(frozen=True, kw_only=True)
class CommonNoise:
    """All that theorem 1 of Chu, Ma and Wang (2021) takes as given; nothing of it is estimated.

    N items, R annotators, C classes. In the paper's letters:

    - `prior_ik` is rho_ic, the chance of each class of an item before it is labelled;
    - `common_kl` is pi^g, the confusion that all share, and `own_akl` holds everybody's own, pi^r;
    - annotation n is of item `item_n` by annotator `annotator_n`, and comes from the common
      confusion with probability `omega_n`, omega_i^r, else from the annotator's own.

    The theorem sums over all R annotators as if each labelled every item; a pair that was not
    labelled tells nothing, so here the sum goes over the annotations there are. Given the class,
    annotations are independent of each other and of the item's features.
    """

    prior_ik: Floats
    common_kl: Floats
    own_akl: Floats
    item_n: Codes
    annotator_n: Codes
    omega_n: Floats

    def __post_init__(self) -> None:
        n_items, n_classes = self.prior_ik.shape
        require(n_items >= 1 and n_classes >= 2, "prior_ik", "items x classes, two at least",
                self.prior_ik.shape)  # fmt: skip
        square = (n_classes, n_classes)
        require(self.common_kl.shape == square, "common_kl", f"of shape {square}",
                self.common_kl.shape)  # fmt: skip
        require(self.own_akl.shape[1:] == square, "own_akl", f"matrices of shape {square}",
                self.own_akl.shape)  # fmt: skip
        for name in ("prior_ik", "common_kl", "own_akl"):
            given = getattr(self, name)
            sound = bool((given >= 0).all() and (abs(given.sum(axis=-1) - 1) < _NEAR).all())
            require(sound, name, "rows of probabilities that sum to 1", given)
        holds = bool(((self.omega_n >= 0) & (self.omega_n <= 1)).all())
        require(holds, "omega_n", "probabilities in 0..1", self.omega_n)

    @property
    def n_classes(self) -> int:
        """C."""
        return int(self.prior_ik.shape[1])

    def mixed(self) -> Floats:
        """The confusion behind each annotation, omega pi^g + (1 - omega) pi^r; shape (n, k, l)."""
        omega = self.omega_n[:, None, None]
        return np.asarray(omega * self.common_kl + (1 - omega) * self.own_akl[self.annotator_n])

    def first(self, n_items: int) -> "CommonNoise":
        """The same with its first items only."""
        kept = self.item_n < n_items
        parts = {name: getattr(self, name)[kept] for name in ("item_n", "annotator_n", "omega_n")}
        return replace(self, prior_ik=self.prior_ik[:n_items], **parts)


def theorem_1(noise: CommonNoise) -> float:
    """The lower bound of the minimax error rate (eq. 2): sum_i F_i - log 2, over N^2 log C.

    For every estimate, the worst truth has an expected share of wrong items of at least this much;
    so has the average over truths drawn from the prior, of the best guess too. The numbers are in
    nats. A bound below 0 says nothing.

    Its source is Fano's inequality for all N classes at once, P(any item wrong) >=
    (sum_i F_i - log 2) / (N log C), of which a share 1 / N is the error rate. The bound therefore
    falls as 1 / N whatever the labels are like, from N = `falls_from` on.
    """
    terms_i = item_terms(noise)
    n_items = len(terms_i)
    return float((terms_i.sum() - np.log(2)) / (n_items**2 * np.log(noise.n_classes)))


def item_by_item(noise: CommonNoise) -> float:
    """Fano's inequality for each item alone, averaged: (sum_i F_i / N - log 2) / log C.

    Not in the paper, but its proof with N = 1 for every item. It does not fall with N, and of one
    item it is `theorem_1`.
    """
    return float((item_terms(noise).mean() - np.log(2)) / np.log(noise.n_classes))


def falls_from(noise: CommonNoise) -> float:
    """The number of items from which the bound falls (corollary 1.1): 2 log 2 / max_i F_i."""
    return float(2 * np.log(2) / item_terms(noise).max())


def item_terms(noise: CommonNoise) -> Floats:
    """F_i: what is left of the entropy of an item's class after its labels, at the least.

    F_i = H(rho_i) - sum_r sum_cc' rho_ic rho_ic' (omega_i^r KL(pi^g_c || pi^g_c')
    + (1 - omega_i^r) KL(pi^r_c || pi^r_c')).

    It is minus infinity where a label is possible under one class and impossible under another.
    """
    weight_nkm = _pairs(noise)
    common_n = _spread(weight_nkm, divergences(noise.common_kl))
    own_n = _spread(weight_nkm, divergences(noise.own_akl)[noise.annotator_n])
    told_n = _product(noise.omega_n, common_n) + _product(1 - noise.omega_n, own_n)
    return _entropy_left(noise, told_n)


def mixed_terms(noise: CommonNoise) -> Floats:
    """R_i (eq. 6): as F_i, with the divergence of the mixed confusions; never below F_i.

    F_i holds even for who is told which confusion each label came from, R_i for who is not: the
    divergence of mixtures is at most the mixture of divergences (eq. 7).
    """
    return _entropy_left(noise, _spread(_pairs(noise), divergences(noise.mixed())))


def best_guess(noise: CommonNoise, label_n: Codes) -> AnyArray:
    """The most probable class of every item, given its labels and all that the theorem knows."""
    with np.errstate(divide="ignore"):
        log_class_ik = np.log(noise.prior_ik)
        log_said_nk = np.log(noise.mixed()[np.arange(len(label_n)), :, label_n])
    np.add.at(log_class_ik, noise.item_n, log_said_nk)
    return np.asarray(log_class_ik.argmax(axis=1))


def divergences(confusion_kl: Floats) -> Floats:
    """KL(pi_c || pi_c') of every pair of rows, in nats; shape (..., k, k).

    >>> divergences(np.array([[0.5, 0.5], [1.0, 0.0]])).round(3).tolist()
    [[0.0, inf], [0.693, 0.0]]
    """
    return np.asarray(
        rel_entr(confusion_kl[..., :, None, :], confusion_kl[..., None, :, :]).sum(axis=-1)
    )


def _pairs(noise: CommonNoise) -> Floats:
    """rho_ic rho_ic' of the item of every annotation; shape (n, k, k)."""
    prior_nk = noise.prior_ik[noise.item_n]
    return np.asarray(prior_nk[:, :, None] * prior_nk[:, None, :])


def _spread(weight_nkm: Floats, divergence_km: Floats) -> Floats:
    return np.asarray(_product(weight_nkm, divergence_km).sum(axis=(1, 2)))


def _product(weight: Floats, divergence: Floats) -> Floats:
    """A product in which nothing times infinity is nothing."""
    return np.where(weight > 0, weight, 0) * np.where(weight > 0, divergence, 0)


def _entropy_left(noise: CommonNoise, told_n: Floats) -> Floats:
    told_i = np.zeros(len(noise.prior_ik))
    np.add.at(told_i, noise.item_n, told_n)
    return np.asarray(entr(noise.prior_ik).sum(axis=1) - told_i)
