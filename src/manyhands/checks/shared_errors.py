"""Whether two annotators err alike: in the same direction on the same items, by as much."""

import numpy as np

from manyhands.agreement.pairwise import shared_labels
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats

STANDS_OUT = 3.0
TAIL = 4.0  # robust deviations from the median at which numbers are cut off


def without_tails(label_n: AnyArray) -> Floats:
    """Numbers cut off far from the median, so that one typing error makes no correlation.

    >>> without_tails(np.array([1.0, 2.0, 3.0, 4.0, 900.0])).round(2).tolist()
    [1.0, 2.0, 3.0, 4.0, 8.93]
    """
    if len(label_n) == 0:
        return np.zeros(0)
    centre = float(np.median(label_n))
    reach = TAIL * 1.4826 * float(np.median(np.abs(label_n - centre)))
    if reach == 0.0:
        reach = TAIL * float(np.std(label_n))
    return np.clip(label_n, centre - reach, centre + reach).astype(np.float64)


def errors_alike(ann: Annotations, value_n: Floats, first: Codes, second: Codes) -> Bools:
    """Which pairs have errors that go together, more than the doubt about the truth explains.

    Both are regressed on the mean of the others over the items they share, which takes out bias
    and scale. The errors e that remain share the error of that mean, so even independent people
    show a correlation; its size follows from how much the others differ, and is taken off:

        z = (sum e_a e_b - beta_a beta_b sum s^2 / m - n r) / sqrt(sum e_a^2 sum e_b^2 / n)

    with s^2 the variance of the m others of an item, or the crowd's where there is but one, and
    r the variance of rounding, an error that honest people share.
    """
    pair, one, two = shared_labels(ann, first, second).T
    mean, doubt = _others(ann, value_n, one, two)
    known = ~np.isnan(mean)
    pair, own, partner = pair[known], value_n[one[known]], value_n[two[known]]
    mean, doubt = mean[known], doubt[known]

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
    honest = np.maximum(slope_one * slope_two, 0.0) * total(doubt) + n * rounding(value_n)
    scale = np.sqrt(total(error_one**2) * total(error_two**2) / n)
    return total(error_one * error_two) - honest > STANDS_OUT * np.maximum(scale, 1e-12)


def rounding(value_n: Floats) -> float:
    """The variance that rounding adds to numbers which are given in steps: step^2 / 12.

    >>> round(rounding(np.array([1.0, 2.0, 3.0, 5.0, 4.0])), 3)
    0.083
    """
    steps = np.diff(np.unique(value_n))
    return float(np.median(steps)) ** 2 / 12.0 if len(steps) else 0.0


def _others(
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
