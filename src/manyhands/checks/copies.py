"""Pairs of annotators who agree far more than two people who only look at the same items.

Good annotators agree because both are right, so agreement alone accuses nobody. A pair must
stand out twice: against what each one's agreement with everybody else foretells (`one_factor`),
and against what their own habits foretell once it is known what the others said of each item
(`habits` for classes, `shared_errors` for numbers). Pairs come from items with at most 50 labels
(`agreement.pairwise`).
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from manyhands.agreement.pairwise import PairAgreement, PairMoments, pair_agreement, pair_moments
from manyhands.annotations import Annotations
from manyhands.checks.chart import Chart, first_rows, percent
from manyhands.checks.finding import Finding
from manyhands.checks.habits import chance_agreement, stands_against_habits
from manyhands.checks.one_factor import PairExcess, predicted_excess
from manyhands.checks.shared_errors import errors_alike, without_tails
from manyhands.checks.significance import significant
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats

LEAST_SHARED = 10
SAFETY = 1.0  # standard errors by which a prediction is raised before it is compared
CALIBRATED = 20  # pairs from which on the spread of all pairs is worth looking at
MOST_CONFIRMED = 5_000_000  # shared items that are looked at again, the worst pairs first


@dataclass(frozen=True)
class Suspicion:
    """Pairs that share enough items, how alike they are, and by how many deviations too much."""

    first: Codes
    second: Codes
    shared: Codes
    alike: Floats
    predicted: Floats
    z: Floats


def copies(chart: Chart) -> list[Finding]:
    """Pairs who agree more than their skill explains: one copies, or one person has two names.

    It takes four annotators or more: of three, any one may be the odd one out.
    """
    ann = chart.once
    seen = _suspect_classes(ann) if chart.rows.classes is not None else _suspect_numbers(ann)
    if len(seen.z) == 0:
        return []
    p_value = special.ndtr(-calibrated(seen.z))
    guilty = np.flatnonzero(significant(np.asarray(p_value)))
    guilty = guilty[np.argsort(p_value[guilty], kind="stable")]
    before = np.cumsum(seen.shared[guilty], dtype=np.int64) - seen.shared[guilty]
    guilty = guilty[before < MOST_CONFIRMED]
    pairs = seen.first[guilty], seen.second[guilty]
    if chart.rows.classes is not None:
        guilty = guilty[stands_against_habits(ann, chart.cells, *pairs)]
    else:
        guilty = guilty[errors_alike(ann, without_tails(ann.label), *pairs)]
    return [_finding(chart, seen, guilty)] if len(guilty) else []


def calibrated(z: Floats) -> Floats:
    """Deviations as measured by the spread of all pairs, where that is wider than it should be.

    Items of unequal difficulty, or schools of opinion, make all pairs stand out a little; only
    a pair that stands out among the pairs is suspicious.

    >>> calibrated(np.array([3.0])).tolist()
    [3.0]
    """
    if len(z) < CALIBRATED:
        return z
    middle, high = np.quantile(z, [0.5, 0.8413])  # 0 and 1 if all pairs were independent
    centre = max(middle, 0.0)
    return np.asarray((z - centre) / max(high - centre, 1.0))


def _suspect_classes(ann: Annotations) -> Suspicion:
    enough = pair_agreement(ann, min_shared=LEAST_SHARED)
    pairs = pair_agreement(ann, involving=_ends(ann, enough))
    chance = chance_agreement(ann, pairs.first, pairs.second)
    shared = pairs.shared.astype(np.float64)
    mean = pairs.agreed / np.maximum(shared, 1.0)
    overall = float(pairs.agreed.sum() / max(shared.sum(), 1.0))
    noise = np.full(len(shared), max(overall * (1.0 - overall), 0.01))
    excess = PairExcess(pairs.first, pairs.second, shared, mean - chance, noise, ann.n_annotators)
    predicted, error = predicted_excess(excess)
    at = pairs.shared >= LEAST_SHARED
    expected = chance[at] + predicted[at]
    most = np.clip(expected + SAFETY * error[at], 0.0, 1.0)
    # P(as many agreements or more); an exact binomial, for few are shared and few agree by chance.
    p_value = special.bdtrc(pairs.agreed[at] - 1.0, pairs.shared[at].astype(np.int64), most)
    z = -special.ndtri(np.clip(p_value, 1e-300, 1.0 - 1e-16))
    return Suspicion(pairs.first[at], pairs.second[at], pairs.shared[at], mean[at], expected, z)


def _suspect_numbers(ann: Annotations) -> Suspicion:
    value = _standardised(ann, without_tails(ann.label))
    enough = pair_moments(ann, value, min_shared=LEAST_SHARED)
    pairs = pair_moments(ann, value, involving=_ends(ann, enough))
    shared = pairs.shared.astype(np.float64)
    excess = PairExcess(
        pairs.first,
        pairs.second,
        shared,
        pairs.product / np.maximum(shared, 1.0),
        np.ones(len(shared)),
        ann.n_annotators,
    )
    predicted, error = predicted_excess(excess)
    at = pairs.shared >= LEAST_SHARED
    correlation = pairs.correlation()[at]
    most = np.clip(predicted[at] + SAFETY * error[at], -0.999, 0.999)
    z = np.arctanh(np.clip(correlation, -0.999999, 0.999999)) - np.arctanh(most)
    z *= np.sqrt(shared[at] - 3.0)
    return Suspicion(
        pairs.first[at], pairs.second[at], pairs.shared[at], correlation, predicted[at], z
    )


def _ends(ann: Annotations, pairs: PairAgreement | PairMoments) -> Bools:
    chosen = np.zeros(ann.n_annotators, dtype=bool)
    chosen[pairs.first] = True
    chosen[pairs.second] = True
    return chosen


def _standardised(ann: Annotations, value_n: Floats) -> Floats:
    """Numbers with every annotator's own mean and deviation taken out."""
    n_a = np.maximum(ann.labels_per_annotator, 1)
    mean_a = np.bincount(ann.annotator, weights=value_n, minlength=ann.n_annotators) / n_a
    off_n = value_n - mean_a[ann.annotator]
    spread_a = np.sqrt(np.bincount(ann.annotator, off_n**2, ann.n_annotators) / n_a)
    varies = spread_a > 1e-9
    scale_a = np.where(varies, 1.0 / np.where(varies, spread_a, 1.0), 0.0)
    return np.asarray(off_n * scale_a[ann.annotator])


def _finding(chart: Chart, seen: Suspicion, guilty: AnyArray) -> Finding:
    worst = guilty[0]
    names = chart.rows.annotators.names
    told = [f"{names[seen.first[pair]]} ~ {names[seen.second[pair]]}" for pair in guilty[:10]]
    if chart.rows.classes is None:
        alike, predicted = f"correlate {seen.alike[worst]:.2f} over", f"{seen.predicted[worst]:.2f}"
    else:
        alike = f"agree on {percent(seen.alike[worst], 1.0)} of"
        predicted = percent(max(seen.predicted[worst], 0.0), 1.0)
    message = (
        f"{len(guilty)} of {len(seen.z)} pairs of annotators agreed more than two people who "
        f"only look at the same items; {told[0]} {alike} {seen.shared[worst]} shared items, "
        f"where {predicted} was to be expected"
    )
    remedy = "find out whether one copies or both are one person; keep one of each pair"
    people = np.unique(np.concatenate([seen.first[guilty[:5]], seen.second[guilty[:5]]]))
    rows = first_rows(chart.rows.annotator, people)
    return chart.finding("warning", message, remedy, len(guilty), rows=rows, names=told)
