"""Whether the labels of two annotators depend on each other, given the labels of the others."""

import numpy as np

from manyhands.agreement.pairwise import shared_labels
from manyhands.annotations import Annotations
from manyhands.checks.agreement_with_others import ItemClassCounts, majority_without
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats, Offsets
from manyhands.core.kernels import kernel

STANDS_OUT = 3.0  # standard deviations above the expectation for independent annotators
TAIL = 4.0  # robust standard deviations from the median at which numbers are clipped


def expected_agreement(
    row_n: AnyArray, label_n: AnyArray, n_classes: int, row_one: AnyArray, row_two: AnyArray
) -> Floats:
    """sum_l p_l q_l of the label distributions of two rows; 1 if one of them has no labels."""
    cell, count = np.unique(row_n.astype(np.int64) * n_classes + label_n, return_counts=True)
    row, start, inverse = np.unique(cell // n_classes, return_index=True, return_inverse=True)
    share = count / np.bincount(inverse, weights=count)[inverse]
    one, two = (
        np.minimum(np.searchsorted(row, each), max(len(row) - 1, 0)) for each in (row_one, row_two)
    )
    known = (row[one] == row_one) & (row[two] == row_two)
    dots = _dots(np.append(start, len(cell)), cell % n_classes, share, one, two)
    return np.where(known, dots, 1.0)


def chance_agreement(ann: Annotations, first: Codes, second: Codes) -> Floats:
    """The expected agreement of two annotators who label at random with their class shares.

    >>> ann = Annotations.from_dense([[0, 0], [1, 0]])
    >>> chance_agreement(ann, np.array([0]), np.array([1])).tolist()
    [0.5]
    """
    return expected_agreement(ann.annotator, ann.label, max(ann.n_classes, 1), first, second)


def labels_depend(ann: Annotations, counts: ItemClassCounts, first: Codes, second: Codes) -> Bools:
    """Which pairs agree more than independent annotators would, given the labels of the others.

    Let y be the majority label of the other annotators of an item; "no others" and "tie" are values
    of y too. If the two are independent given y, they agree with probability
    sum_l p(a gives l | y) p(b gives l | y). Both distributions are estimated from the shared items
    alone, because annotators may change over time. A y that occurs once predicts the observed
    labels, so it cannot make a pair stand out.
    """
    n_given = max(ann.n_classes, 1) + 1
    pair, one, two = shared_labels(ann, first, second).T
    label_one, label_two = ann.label[one], ann.label[two]
    others = majority_without(
        counts.offsets, counts.label, counts.count, ann.item[one], label_one, label_two
    )
    row_one = pair * n_given + others + 1
    row_two = row_one + len(first) * n_given
    rows, labels = np.concatenate([row_one, row_two]), np.concatenate([label_one, label_two])
    expected = expected_agreement(rows, labels, n_given, row_one, row_two)
    same = label_one == label_two
    excess = np.bincount(pair, weights=same - expected, minlength=len(first)) - 0.5
    variance = np.bincount(pair, weights=expected * (1.0 - expected), minlength=len(first))
    return np.asarray(excess > STANDS_OUT * np.sqrt(np.maximum(variance, 0.0)))


def clip_tails(label_n: AnyArray) -> Floats:
    """Numbers clipped far from the median, so that a typing error causes no correlation.

    >>> clip_tails(np.array([1.0, 2.0, 3.0, 4.0, 900.0])).round(2).tolist()
    [1.0, 2.0, 3.0, 4.0, 8.93]
    """
    if len(label_n) == 0:
        return np.zeros(0)
    centre = float(np.median(label_n))
    limit = TAIL * 1.4826 * float(np.median(np.abs(label_n - centre)))
    if limit == 0.0:
        limit = TAIL * float(np.std(label_n))
    return np.clip(label_n, centre - limit, centre + limit).astype(np.float64)


def errors_correlate(ann: Annotations, value_n: Floats, first: Codes, second: Codes) -> Bools:
    """Which pairs have correlated errors, more than the uncertainty of the truth explains.

    Both are regressed on the mean of the others over their shared items, which removes bias and
    scale. The residuals e share the error of that mean, so even independent annotators have
    correlated residuals. The size of this covariance follows from the spread of the others and is
    subtracted:

        z = (sum e_a e_b - beta_a beta_b sum s^2 / m - n r) / sqrt(sum e_a^2 sum e_b^2 / n)

    with s^2 the variance of the m others of an item (of the crowd if m = 1), and r the variance of
    rounding, an error that independent annotators share.
    """
    pair, one, two = shared_labels(ann, first, second).T
    mean, variance = _mean_without(ann, value_n, one, two)
    known = ~np.isnan(mean)
    pair, own, partner = pair[known], value_n[one[known]], value_n[two[known]]
    mean, variance = mean[known], variance[known]

    def total(weight: AnyArray) -> Floats:
        return np.asarray(np.bincount(pair, weight, len(first)), dtype=np.float64)

    n = np.maximum(total(np.ones(len(pair))), 1.0)
    off = mean - (total(mean) / n)[pair]
    spread = np.maximum(total(off**2), 1e-300)

    def errors(value: AnyArray) -> tuple[Floats, Floats]:
        centred = value - (total(value) / n)[pair]
        slope = total(centred * off) / spread
        return centred - slope[pair] * off, slope

    (error_one, slope_one), (error_two, slope_two) = errors(own), errors(partner)
    expected = np.maximum(slope_one * slope_two, 0.0) * total(variance)
    expected = expected + n * rounding_variance(value_n)
    scale = np.sqrt(total(error_one**2) * total(error_two**2) / n)
    return total(error_one * error_two) - expected > STANDS_OUT * np.maximum(scale, 1e-12)


def rounding_variance(value_n: Floats) -> float:
    """The variance of the rounding error of numbers given in steps: step^2 / 12.

    >>> round(rounding_variance(np.array([1.0, 2.0, 3.0, 5.0, 4.0])), 3)
    0.083
    """
    steps = np.diff(np.unique(value_n))
    return float(np.median(steps)) ** 2 / 12.0 if len(steps) else 0.0


def _mean_without(
    ann: Annotations, value_n: Floats, one: AnyArray, two: AnyArray
) -> tuple[Floats, Floats]:
    """Mean of an item's labels without two of them, and the variance of that mean."""
    n_i = ann.labels_per_item
    sum_i = np.bincount(ann.item, weights=value_n, minlength=ann.n_items)
    off_n = value_n - (sum_i / np.maximum(n_i, 1))[ann.item]
    crowd = float((off_n**2).sum() / max(int((n_i - 1).clip(min=0).sum()), 1))
    square_i = np.bincount(ann.item, weights=value_n**2, minlength=ann.n_items)
    item = ann.item[one]
    left = sum_i[item] - value_n[one] - value_n[two]
    left_square = square_i[item] - value_n[one] ** 2 - value_n[two] ** 2
    m = (n_i[item] - 2).astype(np.float64)
    mean = np.where(m > 0, left / np.maximum(m, 1.0), np.nan)
    variance = np.maximum(left_square - m * mean**2, 0.0) / np.maximum(m - 1.0, 1.0)
    return mean, np.where(m > 1, variance, crowd) / np.maximum(m, 1.0)


@kernel
def _dots(
    offsets: Offsets, column: Offsets, value: Floats, first: Offsets, second: Offsets
) -> Floats:
    # Inner products of sparse rows whose columns are sorted.
    dots = np.zeros(len(first))
    for pair in range(len(first)):
        n, n_end = offsets[first[pair]], offsets[first[pair] + 1]
        m, m_end = offsets[second[pair]], offsets[second[pair] + 1]
        while n < n_end and m < m_end:
            if column[n] == column[m]:
                dots[pair] += value[n] * value[m]
                n += 1
                m += 1
            elif column[n] < column[m]:
                n += 1
            else:
                m += 1
    return dots
