"""An initial posterior for Dawid-Skene that does not rely on the majority (Zhang et al. 2016).

Annotators are divided into three groups. Given the true class the groups are independent, so the
moments of their average labels determine each group's confusion: E[Z_a Z_b'] = C_a' diag(pi) C_b,
and the third moment, whitened, has the classes as its orthogonal components.
"""

import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment

from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.confusion_loops import TINY
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass
from manyhands.core.arrays import AnyArray, Bools, Floats
from manyhands.core.settings import generator

_MAX_CLASSES = 50  # the third moment has the cube of this many cells
_GROUP_LABELS = 5.0  # weight of the group's confusion for an annotator, in labels
_MAX_CONDITION = 1e6


def spectral_posterior(evidence: Evidence, fallback_ik: Floats, seed: int) -> Floats:
    """Item posteriors under confusions estimated by the method of moments, shape (i, k).

    If the moments cannot be inverted (too few shared items, or classes that the labels do not
    separate), the function warns and returns `fallback_ik`.
    """
    ann = evidence.annotations
    if ann.n_classes < 2:
        return fallback_ik
    try:
        log_prior_k, log_confusion_alk = _moment_parameters(evidence, seed)
    except np.linalg.LinAlgError as error:
        warnings.warn(
            f"spectral initialisation failed ({error}); started from the majority", stacklevel=2
        )
        return fallback_ik
    return ConfusionPass(evidence)(log_prior_k, log_confusion_alk).posterior_ik.copy()


def _moment_parameters(evidence: Evidence, seed: int) -> tuple[Floats, Floats]:
    ann = evidence.annotations
    if ann.n_classes > _MAX_CLASSES:
        raise np.linalg.LinAlgError(f"more than {_MAX_CLASSES} classes")
    group_a = _three_groups(ann.labels_per_annotator)
    mean_gik, seen_gi = _group_means(evidence, group_a)
    shared_i = seen_gi.all(axis=0)
    if shared_i.sum() < ann.n_classes:
        raise np.linalg.LinAlgError("too few items are labelled by all three groups")
    mean_gsk = mean_gik[:, shared_i]
    rng = generator(seed, "spectral start")
    estimates = [
        _group_confusion(mean_gsk[(g + 1) % 3], mean_gsk[(g + 2) % 3], mean_gsk[g], rng)
        for g in range(3)
    ]
    prior_k = np.mean([weight_k for weight_k, _ in estimates], axis=0)
    confusion_gkl = np.array([confusion_kl for _, confusion_kl in estimates])
    confusion_akl = _annotator_confusions(evidence, group_a, mean_gik, prior_k, confusion_gkl)
    log_confusion_alk = np.log(np.maximum(confusion_akl, TINY)).transpose(0, 2, 1)
    return np.log(prior_k), np.ascontiguousarray(log_confusion_alk)


def _three_groups(labels_per_annotator: AnyArray) -> AnyArray:
    """Three groups of about equal size: annotators in turn, those with most labels first."""
    group_a = np.empty(len(labels_per_annotator), dtype=np.int64)
    group_a[np.argsort(-labels_per_annotator, kind="stable")] = (
        np.arange(len(labels_per_annotator)) % 3
    )
    return group_a


def _group_means(evidence: Evidence, group_a: AnyArray) -> tuple[Floats, Bools]:
    """The average one-hot label that each group gave each item, and where it gave any."""
    ann = evidence.annotations
    n_cells = ann.n_items * ann.n_classes
    cell_n = ann.item.astype(np.int64) * ann.n_classes + ann.label
    sums = [np.bincount(cell_n[group_a[ann.annotator] == g], minlength=n_cells) for g in range(3)]
    sum_gik = np.array(sums, dtype=np.float64).reshape(3, ann.n_items, ann.n_classes)
    count_gi1 = sum_gik.sum(axis=2, keepdims=True)
    return sum_gik / np.maximum(count_gi1, 1.0), count_gi1[..., 0] > 0


def _group_confusion(
    first_ik: Floats, second_ik: Floats, own_ik: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Class weights and the confusion (k, l) of the group whose labels are `own_ik`."""
    n_items = len(own_ik)
    own_second, first_second = own_ik.T @ second_ik, first_ik.T @ second_ik
    own_first = own_ik.T @ first_ik
    first_as_own = first_ik @ (own_second @ _inverse(first_second)).T
    second_as_own = second_ik @ (own_first @ _inverse(first_second.T)).T
    pairs = first_as_own.T @ second_as_own / n_items
    values, vectors = np.linalg.eigh((pairs + pairs.T) / 2)
    if values.min() <= values.max() / _MAX_CONDITION:
        raise np.linalg.LinAlgError("the labels do not separate all classes")
    whiten = vectors / np.sqrt(values)
    triple = np.einsum(
        "ia,ib,ic->abc",
        first_as_own @ whiten,
        second_as_own @ whiten,
        own_ik @ whiten,
        optimize=True,
    )
    strength_h, direction_hk = _components(triple / n_items, rng)
    column_hl = strength_h[:, None] * (direction_hk @ (vectors * np.sqrt(values)).T)
    column_hl = np.maximum(column_hl, 1e-3)
    column_hl /= column_hl.sum(axis=1, keepdims=True)
    _, h_of_class = linear_sum_assignment(-column_hl.T)  # class k: the component that says it most
    weight_k = 1.0 / np.maximum(strength_h[h_of_class] ** 2, 1.0)
    return weight_k / weight_k.sum(), column_hl[h_of_class]


def _components(tensor: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Orthogonal components of a symmetric tensor by power iteration and deflation."""
    n_classes = len(tensor)
    tensor = tensor.copy()
    strengths, directions = [], []
    for _ in range(n_classes):
        starts = rng.normal(size=(10 + 2 * n_classes, n_classes))
        for _ in range(50):
            starts /= np.linalg.norm(starts, axis=1, keepdims=True)
            starts = np.einsum("abc,sb,sc->sa", tensor, starts, starts, optimize=True)
        lengths = np.linalg.norm(starts, axis=1)
        direction = starts[lengths.argmax()] / lengths.max()
        strength = float(np.einsum("abc,a,b,c->", tensor, direction, direction, direction))
        strengths.append(strength)
        directions.append(direction)
        tensor -= strength * np.einsum("a,b,c->abc", direction, direction, direction)
    return np.array(strengths), np.array(directions)


def _annotator_confusions(
    evidence: Evidence,
    group_a: AnyArray,
    mean_gik: Floats,
    prior_k: Floats,
    confusion_gkl: Floats,
) -> Floats:
    """E[z_a Z_b'] = C_a' diag(pi) C_b solved for C_a, shrunk towards the annotator's group."""
    confusion_akl = confusion_gkl[group_a]
    count = ConfusionPass(evidence).count
    for g in range(3):
        other = (g + 1) % 3
        mine = group_a == g
        moments_alk = count(mean_gik[other]).counts_alk[mine]
        joint = moments_alk @ _inverse(prior_k[:, None] * confusion_gkl[other])
        own_akl = np.maximum(joint.transpose(0, 2, 1), 0.0)
        pooled = own_akl + _GROUP_LABELS * confusion_akl[mine]
        confusion_akl[mine] = pooled / pooled.sum(axis=2, keepdims=True)
    return confusion_akl


def _inverse(matrix: Floats) -> Floats:
    if np.linalg.cond(matrix) > _MAX_CONDITION:
        raise np.linalg.LinAlgError("the groups' labels do not separate all classes")
    return np.asarray(np.linalg.inv(matrix))
