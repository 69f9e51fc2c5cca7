"""How often annotators are right about each class, shrunk to their own average, in closed form.

Annotator a is right about class k with probability t_akz, z = 1 where the class applies
(sensitivity) and z = 0 where it does not (specificity). m_az is what is usual for the annotator,
c_z for the crowd. With h right and f wrong labels, the most probable t and m maximise::

    sum_k h log t + f log(1 - t) - class_strength sum_k KL(m || t_k) - strength KL(m || c)

KL is the divergence of two coins. For a given m the maximum is t = (h + class_strength m) /
(h + f + class_strength), and the derivative by logit m of what is left falls everywhere: there is
one best m, and Newton's method finds it.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from manyhands.aggregation.kernels.set_pass import count_said
from manyhands.annotations import Annotations
from manyhands.annotations.label_sets import set_members
from manyhands.core.arrays import Floats

CLASS_STRENGTH, PRIOR_STRENGTH = 20.0, 10.0  # the defaults of models of sets, in labels
_MARGIN = 1e-9  # keeps probabilities off 0 and 1, where logits are infinite
_STEPS, _LONGEST = 12, 2.0  # of Newton's method


class Profiles(NamedTuple):
    """Probabilities of being right by class, what is usual for the annotator, and the log-prior."""

    right_akz: Floats
    usual_az: Floats
    log_prior: float


def estimate_set_confusions(annotations: Annotations, applies_ik: Floats) -> Floats:
    """How annotators label p(y | z), shape (a, k, z, y), where beliefs about classes are given.

    >>> ann = Annotations.from_arrays([1, 2], ["u", "u"], [{"cat"}, {"cat", "dog"}])
    >>> estimate_set_confusions(ann, ann.members.astype(float)).shape
    (1, 2, 2, 2)
    """
    counts_akzy = count_said(
        annotations.item_offsets, annotations.annotator, annotations.label,
        set_members(annotations), np.ascontiguousarray(applies_ik), annotations.n_annotators,
    )  # fmt: skip
    crowd_z = crowd_rates(counts_akzy, PRIOR_STRENGTH)
    found = fit_profiles(counts_akzy, crowd_z, None, CLASS_STRENGTH, PRIOR_STRENGTH)
    absent = np.stack([found.right_akz[..., 0], 1.0 - found.right_akz[..., 0]], axis=-1)
    applies = np.stack([1.0 - found.right_akz[..., 1], found.right_akz[..., 1]], axis=-1)
    return np.stack([absent, applies], axis=-2)


def fit_profiles(
    counts_akzy: Floats,
    crowd_z: Floats,
    before_az: Floats | None,
    class_strength: float,
    strength: float,
) -> Profiles:
    """The most probable profiles for soft counts; never worse than with the usual rates before."""
    hit_akz = np.einsum("akzz->akz", counts_akzy)
    n_akz = counts_akzy.sum(axis=3)
    if class_strength == 0:
        pooled_az = _raw_rates(hit_akz.sum(axis=1), n_akz.sum(axis=1), crowd_z)
        return Profiles(_raw_rates(hit_akz, n_akz, crowd_z), pooled_az, 0.0)
    usual_az = _best_usual(hit_akz, n_akz, crowd_z, before_az, class_strength, strength)
    if before_az is not None:
        gain_az = _objective(hit_akz, n_akz, crowd_z, usual_az, class_strength, strength)
        gain_az -= _objective(hit_akz, n_akz, crowd_z, before_az, class_strength, strength)
        usual_az = np.where(gain_az >= 0, usual_az, before_az)
    right_akz = _rates(hit_akz, n_akz, usual_az, class_strength)
    log_prior = -class_strength * float(divergence(usual_az[:, None, :], right_akz).sum())
    log_prior -= strength * float(divergence(usual_az, crowd_z).sum())
    return Profiles(right_akz, usual_az, log_prior)


def crowd_rates(counts_akzy: Floats, strength: float) -> Floats:
    """How often an average annotator is right, for z = 0 and 1: a mean over annotators.

    Annotators with few labels have less weight, as in `crowd_confusion`.
    """
    hit_az = np.einsum("akzz->az", counts_akzy)
    n_az = counts_akzy.sum(axis=(1, 3))
    weight_az = 1.0 / (n_az + max(strength, 1.0))
    rate_z = ((hit_az * weight_az).sum(axis=0) + 0.5e-3) / ((n_az * weight_az).sum(axis=0) + 1e-3)
    return np.asarray(np.clip(rate_z, 0.01, 0.99))


def divergence(one: Floats, two: Floats) -> Floats:
    """KL(one || two) of coins that show heads with these probabilities.

    >>> divergence(np.array([0.5, 0.9]), np.array([0.5, 0.5])).round(3).tolist()
    [0.0, 0.368]
    """
    return np.asarray(special.rel_entr(one, two) + special.rel_entr(1.0 - one, 1.0 - two))


def _rates(hit_akz: Floats, n_akz: Floats, usual_az: Floats, class_strength: float) -> Floats:
    return np.asarray((hit_akz + class_strength * usual_az[:, None, :]) / (n_akz + class_strength))


def _best_usual(
    hit_akz: Floats,
    n_akz: Floats,
    crowd_z: Floats,
    before_az: Floats | None,
    class_strength: float,
    strength: float,
) -> Floats:
    """The root of the derivative by logit m, from the usual rates before or the crowd's."""
    target_z = special.logit(crowd_z)
    start_az = _crowd_rows(n_akz, crowd_z) if before_az is None else before_az
    logit_az = special.logit(start_az)
    for _ in range(_STEPS):
        m_az = np.clip(special.expit(logit_az), _MARGIN, 1.0 - _MARGIN)
        t_akz = _rates(hit_akz, n_akz, m_az, class_strength)
        pull_az = class_strength * (special.logit(t_akz) - logit_az[:, None, :]).sum(axis=1)
        slope_akz = class_strength * (m_az * (1.0 - m_az))[:, None, :]
        slope_akz = slope_akz / ((n_akz + class_strength) * t_akz * (1.0 - t_akz))
        fall_az = class_strength * (1.0 - slope_akz).sum(axis=1) + strength
        step_az = (pull_az + strength * (target_z - logit_az)) / np.maximum(fall_az, 1e-12)
        logit_az = logit_az + np.clip(step_az, -_LONGEST, _LONGEST)
    return np.asarray(np.clip(special.expit(logit_az), _MARGIN, 1.0 - _MARGIN))


def _objective(
    hit_akz: Floats,
    n_akz: Floats,
    crowd_z: Floats,
    usual_az: Floats,
    class_strength: float,
    strength: float,
) -> Floats:
    t_akz = _rates(hit_akz, n_akz, usual_az, class_strength)
    fit_akz = special.xlogy(hit_akz, t_akz) + special.xlogy(n_akz - hit_akz, 1.0 - t_akz)
    fit_akz = fit_akz - class_strength * divergence(usual_az[:, None, :], t_akz)
    return np.asarray(fit_akz.sum(axis=1) - strength * divergence(usual_az, crowd_z))


def _raw_rates(hit_akz: Floats, n_akz: Floats, crowd_z: Floats) -> Floats:
    """Rates without a prior; those of the crowd where there is no label."""
    rows = np.broadcast_to(crowd_z, hit_akz.shape).copy()
    return np.asarray(np.divide(hit_akz, n_akz, out=rows, where=n_akz > 0))


def _crowd_rows(n_akz: Floats, crowd_z: Floats) -> Floats:
    return np.tile(crowd_z, (len(n_akz), 1))
