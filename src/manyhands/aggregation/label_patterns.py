"""Patterns of classes that go together: a mixture of independent coins, and its E- and M-step."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from manyhands.aggregation.kernels.confusion_loops import TINY
from manyhands.core.arrays import Bools, Floats

_SURE = 0.9  # how much of an item belongs to its own part at the start


class Patterns(NamedTuple):
    """The log-weights of patterns, and log p(class k applies or not | pattern m), (m, k, z)."""

    log_weight_m: Floats
    log_applies_mkz: Floats


@dataclass(frozen=True, eq=False)
class PatternPosterior:
    """What is known of the patterns and classes of items, given log p(labels | class applies)."""

    pattern_im: Floats
    applies_imk: Floats
    both_mkz: Floats  # expected numbers of items, of each pattern, with and without a class
    log_likelihood: float

    @property
    def applies_ik(self) -> Floats:
        """The probability that a class applies to an item."""
        return np.asarray(np.einsum("im,imk->ik", self.pattern_im, self.applies_imk))

    def probability_of(self, members_ik: Bools) -> Floats:
        """The probability of one set of classes for each item."""
        right_imk = np.where(members_ik[:, None, :], self.applies_imk, 1.0 - self.applies_imk)
        return np.asarray(np.einsum("im,im->i", self.pattern_im, right_imk.prod(axis=2)))


def expect_patterns(log_p_ikz: Floats, patterns: Patterns) -> PatternPosterior:
    """The posterior of patterns and classes, and the log-likelihood of the labels."""
    joint_imkz = log_p_ikz[:, None, :, :] + patterns.log_applies_mkz[None]
    total_imk = np.logaddexp(joint_imkz[..., 0], joint_imkz[..., 1])
    log_im = patterns.log_weight_m[None] + total_imk.sum(axis=2)
    log_i = special.logsumexp(log_im, axis=1, keepdims=True)
    pattern_im = np.exp(log_im - log_i)
    applies_imk = np.exp(joint_imkz[..., 1] - total_imk)
    mass_mk = np.einsum("im,imk->mk", pattern_im, applies_imk)
    both_mkz = np.stack([pattern_im.sum(axis=0)[:, None] - mass_mk, mass_mk], axis=-1)
    return PatternPosterior(pattern_im, applies_imk, both_mkz, float(log_i.sum()))


def fit_patterns(mass_m: Floats, both_mkz: Floats, pseudo: float) -> tuple[Patterns, float]:
    """The most probable patterns for soft counts, and their log-prior.

    The prior has `pseudo` items in every pattern and as many with and without every class.
    """
    if np.isinf(pseudo):
        weight_m = np.full(len(mass_m), 1.0 / len(mass_m))
        return Patterns(np.log(weight_m), np.full(both_mkz.shape, np.log(0.5))), 0.0
    weight_m = (mass_m + pseudo) / (mass_m.sum() + pseudo * len(mass_m))
    log_weight_m = np.log(np.maximum(weight_m, TINY))
    raised_mkz = both_mkz + pseudo
    share_mkz = raised_mkz / np.maximum(raised_mkz.sum(axis=2, keepdims=True), TINY)
    log_applies_mkz = np.log(np.maximum(share_mkz, TINY))
    log_prior = pseudo * float(log_weight_m.sum() + log_applies_mkz.sum())
    return Patterns(log_weight_m, log_applies_mkz), log_prior


def split_items(applies_ik: Floats, n_patterns: int) -> Floats:
    """Soft membership of items in parts (i, m) that depends on neither names nor order.

    The part with the largest variance along its first principal direction is divided at its mean,
    until there are enough parts or no part varies.
    """
    part_i = np.zeros(len(applies_ik), dtype=np.int64)
    for new in range(1, n_patterns):
        found = [_spread(applies_ik[part_i == part]) for part in range(new)]
        widest = int(np.argmax([variance for variance, _ in found]))
        variance, direction_k = found[widest]
        if variance <= 1e-9:
            break
        rows = np.flatnonzero(part_i == widest)
        along_i = (applies_ik[rows] - applies_ik[rows].mean(axis=0)) @ direction_k
        part_i[rows[along_i > 0]] = new
    others = (1.0 - _SURE) / max(n_patterns - 1, 1)
    pattern_im = np.full((len(applies_ik), n_patterns), others if n_patterns > 1 else 0.0)
    pattern_im[np.arange(len(applies_ik)), part_i] = _SURE if n_patterns > 1 else 1.0
    return pattern_im


def _spread(rows_ik: Floats) -> tuple[float, Floats]:
    """The variance of all rows along the direction in which they vary most, times their number."""
    if len(rows_ik) < 2:
        return 0.0, np.zeros(rows_ik.shape[1])
    off_ik = rows_ik - rows_ik.mean(axis=0)
    value_d, vector_kd = np.linalg.eigh(off_ik.T @ off_ik)
    return float(value_d[-1]), vector_kd[:, -1]
