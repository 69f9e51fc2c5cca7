"""How far the errors of judges go together: correlations, and the number of effective judges.

The label of judge a on an item of true class k, as a 0/1 vector over classes, differs from its mean
by e_l - C[a, k]. Two judges who err independently given the truth have differences without
correlation. Intervals are jackknives over gold items.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Bools, Floats
from manyhands.evaluation import confusion_counts, normalize_counts
from manyhands.evaluation.scores import LEVEL
from manyhands.selection.judges.judge_labels import Gold

_Z = float(special.ndtri((1 + LEVEL) / 2))
_NOT_ONE = 1.0 - 1e-9  # correlations beyond this have no Fisher transform
_ROUNDING = 1e-12
_MAX_CELLS = 4_000_000  # gold items x pairs; with more, every second (third, ...) item is used


@dataclass(frozen=True)
class Estimate:
    """A number and its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True, eq=False)
class Dependence:
    """Correlations (a, b) of labels given the truth, with intervals, and effective judges.

    `shared` are gold items that both labelled. A judge without errors has no correlation: NaN, and
    it counts as 0.
    """

    correlation: Floats
    low: Floats
    high: Floats
    shared: AnyArray
    effective_judges: Estimate


def measure_dependence(ann: Annotations, gold: Gold) -> Dependence:
    """Correlations of all pairs of judges on the gold items.

    ::

        c_ab = sum_i r_ai . r_bi / sqrt(sum_i |r_ai|^2 sum_i |r_bi|^2),
        r_ai = label of a on i as a 0/1 vector - mean of such labels given the truth

    over the items that both labelled. With two classes it is the correlation of errors. The number
    of effective judges is n^2 / sum_ab c_ab, the number of independent judges whose mean label
    varies as little: n without correlation, 1 for copies.
    """
    gold = gold.every(-(-len(gold) * ann.n_annotators**2 // _MAX_CELLS))
    cross_gab, square_gab, shared_gab = _products(ann, gold)
    sums = [each.sum(axis=0) for each in (cross_gab, square_gab)]
    value_ab = _ratio(*sums)
    left_gab = _ratio(sums[0] - cross_gab, sums[1] - square_gab)
    low_ab, high_ab = _fisher_interval(value_ab, left_gab)
    shared_ab = shared_gab.sum(axis=0).astype(np.int64)
    effective = _effective(value_ab, left_gab, np.diagonal(shared_ab) > 0)
    return Dependence(value_ab, low_ab, high_ab, shared_ab, effective)


def _effective(value_ab: Floats, left_gab: Floats, known_a: Bools) -> Estimate:
    """The number of effective judges among those with labels of gold items, by the jackknife."""
    known_ab = np.ix_(known_a, known_a)
    n_judges = int(known_a.sum())
    value = _independent_number(value_ab[known_ab])
    left_g = np.array([_independent_number(each[known_ab]) for each in left_gab])
    error = _jackknife_error(np.log(left_g))
    low, high = (value * float(np.exp(sign * _Z * error)) for sign in (-1, 1))
    if n_judges > 1 and np.isnan(value_ab[known_ab][np.triu_indices(n_judges, 1)]).all():
        low = 1.0  # no pair of judges has errors to compare
    limits = np.clip([value, low, high], 1.0, n_judges)
    return Estimate(*(float(each) for each in limits))


def effective_number(correlation_ab: Floats) -> float:
    """n^2 / sum of correlations, between 1 and n; correlations that are NaN count as 0.

    >>> effective_number(np.eye(3)), effective_number(np.ones((3, 3)))
    (3.0, 1.0)
    """
    return float(np.clip(_independent_number(correlation_ab), 1.0, len(correlation_ab)))


def _independent_number(correlation_ab: Floats) -> float:
    """The same, which may exceed n where correlations are below 0: up to 10 n."""
    filled = np.nan_to_num(correlation_ab, nan=0.0)
    np.fill_diagonal(filled, 1.0)
    n = len(filled)
    return float(n**2 / max(filled.sum(), n / 10))


def _products(ann: Annotations, gold: Gold) -> tuple[Floats, Floats, Bools]:
    """r_a . r_b, |r_a|^2, and whether both labelled the item, each of shape (g, a, b)."""
    n_gold, n_judges = len(gold), ann.n_annotators
    label_ga = gold_labels(ann, gold)
    said_ga = label_ga >= 0
    place, judge = np.nonzero(said_ga)
    counts_akl = confusion_counts(
        judge.astype(np.int32), gold.truth_g[place], label_ga[said_ga], n_judges, ann.n_classes
    )
    mean_akl = normalize_counts(counts_akl)
    # r_a . r_b = [l_a = l_b] - C_a[k, l_b] - C_b[k, l_a] + C_a[k] . C_b[k]
    mean_gal = mean_akl[:, gold.truth_g].transpose(1, 0, 2)
    filled_ga = np.where(said_ga, label_ga, 0)
    of_other_gab = np.take_along_axis(
        mean_gal, np.broadcast_to(filled_ga[:, None, :], (n_gold, n_judges, n_judges)), axis=2
    )
    inner_gab = mean_gal @ mean_gal.transpose(0, 2, 1)
    same_gab = filled_ga[:, :, None] == filled_ga[:, None, :]
    cross_gab = same_gab - of_other_gab - of_other_gab.transpose(0, 2, 1) + inner_gab
    shared_gab = said_ga[:, :, None] & said_ga[:, None, :]
    cross_gab = np.where(shared_gab, cross_gab, 0.0)
    square_ga = np.einsum("gaa->ga", cross_gab)
    square_gab = np.where(shared_gab, square_ga[:, :, None], 0.0)
    return cross_gab, square_gab, shared_gab


def gold_labels(ann: Annotations, gold: Gold) -> AnyArray:
    """The label codes (g, a) of the gold items, -1 where a judge has none."""
    place_i = np.full(ann.n_items, -1)
    place_i[gold.row_g] = np.arange(len(gold))
    label_ga = np.full((len(gold), ann.n_annotators), -1)
    known_n = place_i[ann.item] >= 0
    label_ga[place_i[ann.item[known_n]], ann.annotator[known_n]] = ann.label[known_n]
    return label_ga


def _ratio(cross_ab: Floats, square_ab: Floats) -> Floats:
    scale = np.sqrt(np.maximum(square_ab, 0.0) * np.maximum(square_ab.swapaxes(-1, -2), 0.0))
    undefined = np.full_like(cross_ab, np.nan)
    ratio = np.divide(cross_ab, scale, out=undefined, where=scale > _ROUNDING)
    return np.asarray(np.clip(ratio, -1.0, 1.0))


def _fisher_interval(value_ab: Floats, left_gab: Floats) -> tuple[Floats, Floats]:
    """Intervals of correlations, by the jackknife of their Fisher transforms."""
    z_ab, z_gab = (np.arctanh(np.clip(each, -_NOT_ONE, _NOT_ONE)) for each in (value_ab, left_gab))
    error_ab = _jackknife_error(np.where(np.isnan(z_gab), z_ab, z_gab))
    return np.tanh(z_ab - _Z * error_ab), np.tanh(z_ab + _Z * error_ab)


def _jackknife_error(left_g: Floats) -> AnyArray:
    """The standard error of a statistic from its values without one item each."""
    n = len(left_g)
    off = left_g - left_g.mean(axis=0)
    return np.asarray(np.sqrt((n - 1) / n * (off**2).sum(axis=0)))
