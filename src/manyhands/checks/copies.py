"""Check for pairs of annotators who agree too much: one copies, or one has two names.

Good annotators agree because both are right, so agreement alone is no evidence. A reported pair
stands out in two ways: it agrees more than a one-factor model predicts from the agreement of the
two with all others, and more than the two would agree if they were independent given the labels
of the others (`pair_dependence`). Pairs come from items with at most 50 labels
(`agreement.pairwise`).

In the one-factor model, annotators agree only because they label the same items. The excess of a
pair's agreement over chance is then a product, c_ab = s_a s_b, whatever the error rates and the
truth. The s are fitted to all pairs by least squares. Pairs that stand out are left out and the
model is fitted again, so that copies do not confirm each other. The prediction for a pair does not
use its own agreement.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from manyhands.agreement.pairwise import PairAgreement, PairMoments, pair_agreement, pair_moments
from manyhands.annotations import Annotations
from manyhands.checks import pair_dependence
from manyhands.checks.agreement_with_others import significant, sort_by_p_value
from manyhands.checks.label_table import Finding, LabelTable, first_rows, percent
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats

MIN_SHARED = 10
MARGIN = 1.0  # standard errors added to a prediction before the comparison
MIN_PAIRS = 20  # number of pairs from which on the spread of all pairs is used
MAX_SHARED_LABELS = 5_000_000  # shared labels in the second test, the worst pairs first

N_ITERATIONS = 12
CROWD_WEIGHT = 20.0  # shared items that the prior of a pair is worth
STANDS_OUT = 4.0  # standard errors from which on a pair is left out of the fit


@dataclass(frozen=True)
class PairTests:
    """Pairs that share enough items: agreement, predicted agreement and the test statistic."""

    first: Codes
    second: Codes
    shared: Codes
    agreement: Floats
    predicted: Floats
    z: Floats


def copies(table: LabelTable) -> list[Finding]:
    """Pairs who agree more than their accuracies explain: one copies, or one has two names.

    The check needs four annotators or more.
    """
    tests, suspect = suspect_pairs(table)
    return [_finding(table, tests, suspect)] if len(suspect) else []


def suspect_pairs(table: LabelTable) -> tuple[PairTests, AnyArray]:
    """All pairs that were tested, and which of them stand out in both ways, the worst first."""
    ann = table.first_labels
    tests = _test_numbers(ann) if table.rows.classes is None else _test_classes(ann)
    if len(tests.z) == 0:
        return tests, np.zeros(0, dtype=np.int64)
    p_value = special.ndtr(-calibrate(tests.z))
    suspect = sort_by_p_value(np.arange(len(p_value)), p_value, significant(p_value))
    before = np.cumsum(tests.shared[suspect], dtype=np.int64) - tests.shared[suspect]
    suspect = suspect[before < MAX_SHARED_LABELS]
    pairs = tests.first[suspect], tests.second[suspect]
    if table.rows.classes is None:
        values = pair_dependence.clip_tails(ann.label)
        return tests, suspect[pair_dependence.errors_correlate(ann, values, *pairs)]
    return tests, suspect[pair_dependence.labels_depend(ann, table.item_class_counts, *pairs)]


def calibrate(z: Floats) -> Floats:
    """Standardize z by the spread of all pairs, if the spread is larger than it should be.

    Items of different difficulty and groups of opinion raise the statistics of all pairs. Only a
    pair that stands out from the other pairs is suspicious.

    >>> calibrate(np.array([3.0])).tolist()
    [3.0]
    """
    if len(z) < MIN_PAIRS:
        return z
    middle, high = np.quantile(z, [0.5, 0.8413])  # 0 and 1 for independent pairs
    centre = max(middle, 0.0)
    return np.asarray((z - centre) / max(high - centre, 1.0))


def _test_classes(ann: Annotations) -> PairTests:
    enough = pair_agreement(ann, min_shared=MIN_SHARED)
    pairs = pair_agreement(ann, involving=_members(ann, enough))
    chance = pair_dependence.chance_agreement(ann, pairs.first, pairs.second)
    shared = pairs.shared.astype(np.float64)
    mean = pairs.agreed / np.maximum(shared, 1.0)
    overall = float(pairs.agreed.sum() / max(shared.sum(), 1.0))
    noise = np.full(len(shared), max(overall * (1.0 - overall), 0.01))
    predicted, error = predict_excess(
        PairExcess(pairs.first, pairs.second, shared, mean - chance, noise, ann.n_annotators)
    )
    at = pairs.shared >= MIN_SHARED
    expected = chance[at] + predicted[at]
    upper = np.clip(expected + MARGIN * error[at], 0.0, 1.0)
    # P(as many agreements or more), an exact binomial test.
    p_value = special.bdtrc(pairs.agreed[at] - 1.0, pairs.shared[at].astype(np.int64), upper)
    z = -special.ndtri(np.clip(p_value, 1e-300, 1.0 - 1e-16))
    return PairTests(pairs.first[at], pairs.second[at], pairs.shared[at], mean[at], expected, z)


def _test_numbers(ann: Annotations) -> PairTests:
    value = _standardize(ann, pair_dependence.clip_tails(ann.label))
    enough = pair_moments(ann, value, min_shared=MIN_SHARED)
    pairs = pair_moments(ann, value, involving=_members(ann, enough))
    shared = pairs.shared.astype(np.float64)
    mean, noise = pairs.product / np.maximum(shared, 1.0), np.ones(len(shared))
    predicted, error = predict_excess(
        PairExcess(pairs.first, pairs.second, shared, mean, noise, ann.n_annotators)
    )
    at = pairs.shared >= MIN_SHARED
    correlation = pairs.correlation()[at]
    upper = np.clip(predicted[at] + MARGIN * error[at], -0.999, 0.999)
    z = np.arctanh(np.clip(correlation, -0.999999, 0.999999)) - np.arctanh(upper)
    z *= np.sqrt(shared[at] - 3.0)
    return PairTests(
        pairs.first[at], pairs.second[at], pairs.shared[at], correlation, predicted[at], z
    )


def _members(ann: Annotations, pairs: PairAgreement | PairMoments) -> Bools:
    """Which annotators belong to one of the pairs."""
    chosen = np.zeros(ann.n_annotators, dtype=bool)
    chosen[pairs.first] = True
    chosen[pairs.second] = True
    return chosen


def _standardize(ann: Annotations, value_n: Floats) -> Floats:
    """Numbers standardized by the mean and the standard deviation of their annotator."""
    n_a = np.maximum(ann.labels_per_annotator, 1)
    mean_a = np.bincount(ann.annotator, weights=value_n, minlength=ann.n_annotators) / n_a
    off_n = value_n - mean_a[ann.annotator]
    spread_a = np.sqrt(np.bincount(ann.annotator, off_n**2, ann.n_annotators) / n_a)
    varies = spread_a > 1e-9
    scale_a = np.where(varies, 1.0 / np.where(varies, spread_a, 1.0), 0.0)
    return np.asarray(off_n * scale_a[ann.annotator])


def _finding(table: LabelTable, tests: PairTests, suspect: AnyArray) -> Finding:
    worst = suspect[0]
    names = table.rows.annotators.names
    pairs = [f"{names[tests.first[pair]]} ~ {names[tests.second[pair]]}" for pair in suspect[:10]]
    if table.rows.classes is None:
        agreement = f"correlate {tests.agreement[worst]:.2f} over"
        predicted = f"{tests.predicted[worst]:.2f}"
    else:
        agreement = f"agree on {percent(tests.agreement[worst], 1.0)} of"
        predicted = percent(max(tests.predicted[worst], 0.0), 1.0)
    message = (
        f"{len(suspect)} of {len(tests.z)} pairs of annotators agreed more than independent "
        f"annotators would; {pairs[0]} {agreement} {tests.shared[worst]} shared items, "
        f"where {predicted} was expected"
    )
    remedy = "find out whether one copies or both are one annotator; keep one of each pair"
    members = np.unique(np.concatenate([tests.first[suspect[:5]], tests.second[suspect[:5]]]))
    rows = first_rows(table.rows.annotator, members)
    return table.finding("warning", message, remedy, len(suspect), rows=rows, names=pairs)


@dataclass(frozen=True)
class PairExcess:
    """Pairs, their number of shared items, and their mean excess of agreement over chance."""

    first: Codes
    second: Codes
    shared: Floats
    excess: Floats
    noise: Floats  # variance of the excess on one item
    n_annotators: int

    def sums(self, weight_first: Floats, weight_second: Floats) -> Floats:
        """Sums over the pairs of each annotator, with a weight for each end of a pair."""
        one = np.bincount(self.first, weights=weight_first, minlength=self.n_annotators)
        two = np.bincount(self.second, weights=weight_second, minlength=self.n_annotators)
        return np.asarray(one + two, dtype=np.float64)


def predict_excess(pairs: PairExcess) -> tuple[Floats, Floats]:
    """The excess of each pair that its other pairs predict, and its standard error."""
    strength, _, _ = _fit(pairs, np.ones(len(pairs.first), dtype=bool))
    product = strength[pairs.first] * strength[pairs.second]
    kept = pairs.excess - product < STANDS_OUT * np.sqrt(pairs.noise / pairs.shared)
    strength, numerator, denominator = _fit(pairs, kept)

    def end(code: AnyArray, partner: AnyArray) -> tuple[Floats, Floats]:
        own = pairs.shared * kept * strength[partner]
        rest = denominator[code] - own * strength[partner]
        return (numerator[code] - own * pairs.excess) / rest, pairs.noise / rest

    first, first_variance = end(pairs.first, pairs.second)
    second, second_variance = end(pairs.second, pairs.first)
    error = np.sqrt(second**2 * first_variance + first**2 * second_variance)
    return first * second, error


def _fit(pairs: PairExcess, kept: Bools) -> tuple[Floats, Floats, Floats]:
    """The s of every annotator, and the two sums whose ratio is the next least-squares step."""
    weight = pairs.shared * kept
    total = weight * pairs.excess
    mean = float(total.sum() / max(float(weight.sum()), 1.0))
    crowd = float(np.sqrt(max(mean, 1e-6)))
    strength = np.full(pairs.n_annotators, crowd)
    for step in range(N_ITERATIONS + 1):
        first, second = strength[pairs.first], strength[pairs.second]
        numerator = pairs.sums(total * second, total * first) + CROWD_WEIGHT * crowd**3
        denominator = pairs.sums(weight * second**2, weight * first**2) + CROWD_WEIGHT * crowd**2
        if step < N_ITERATIONS:  # half a step: full steps oscillate around the solution
            strength = (strength + numerator / denominator) / 2.0
    return strength, numerator, denominator
