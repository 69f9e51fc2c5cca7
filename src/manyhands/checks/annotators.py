"""Check for annotators whose labels carry no information, or the wrong one.

Giving always the same label is legitimate if that label is always true. So the labels of the others
must show that the annotator's items differ: two other annotators of one item agree that it is not
class k more often than by chance only if some items are not k. With c of m others who give another
label than k, mu the mean of c / m, and G the variance between items,

    G = mean of c (c - 1) / (m (m - 1)) - mu^2,

at least a share rho = g / (1 + g), g = G / (1 - mu)^2, of the items is not k, whatever the error
rates. An annotator who notices only half of these items would hardly ever miss nearly all.
"""

import numpy as np
from scipy import special

from manyhands.checks.agreement_with_others import AgreementWithOthers, significant, sort_by_p_value
from manyhands.checks.label_table import Finding, LabelTable, Severity
from manyhands.core.arrays import AnyArray, Bools, Floats, Offsets

MIN_COMPARED = 10
ABOVE_CHANCE = 2.3  # standard deviations, p = 0.01: above it an annotator is not random
NEAR_CHANCE = 1.6  # standard deviations, p = 0.05: below it a note is given
SKILL_FRACTION = 1 / 3  # an annotator with less than this part of the crowd's skill is too weak
CLEAR = 5.0  # standard deviations of the crowd's skill above chance at which a test is conclusive

CONSTANT_SHARE = 0.95
MIN_LABELS = 10
NOTICED = 0.5  # the part of the differing items that even a careless annotator notices
MARGIN = 2.5  # standard errors subtracted from G
MARGIN_OF_NUMBERS = 4.0
SMALL_VARIANCE = 0.02  # of the variance between items: a seventh of its standard deviation


def below_chance(table: LabelTable) -> list[Finding]:
    """Annotators who disagree with the others more often than by chance: swapped or malicious.

    One-sided test of the excess of `AgreementWithOthers`, with Holm's correction over all
    annotators with enough labels that can be compared.
    """
    agreement = table.agreement
    tested = np.flatnonzero(_is_testable(agreement))
    p_value = special.ndtr(agreement.z_a[tested])
    worst = sort_by_p_value(tested, p_value, significant(p_value))
    if len(worst) == 0:
        return []
    skill = agreement.excess_a[worst[0]] / max(agreement.max_excess_a[worst[0]], 1e-12)
    message = (
        f"{len(worst)} of {len(tested)} annotators disagreed with the others more often than by "
        f"chance; the worst has skill {skill:+.2f} (1 is full agreement, 0 is chance, "
        f"the crowd has {agreement.skill:+.2f})"
    )
    remedy = "check whether they swapped the classes or the scale; otherwise leave them out"
    return table.about("annotator", worst, message, remedy)


def random_annotator(table: LabelTable) -> list[Finding]:
    """Annotators with many labels that do not differ from random labels.

    A warning needs both: the agreement is not above chance, and it is significantly below a third
    of the crowd's skill. A note needs only the first, if the crowd's skill would show clearly.
    `constant-annotator` reports annotators who nearly always give the same label.
    """
    agreement, n_a = table.agreement, table.first_labels.labels_per_annotator
    _, top_count = most_frequent_labels(table)
    varied = top_count / np.maximum(n_a, 1) < CONSTANT_SHARE
    varied[constant_annotators(table)] = False
    tested = np.flatnonzero(_is_testable(agreement) & varied)
    z, deviation = agreement.z_a[tested], np.sqrt(agreement.variance_a[tested])
    expected = agreement.skill * agreement.max_excess_a[tested]
    p_value = special.ndtr((agreement.excess_a[tested] - SKILL_FRACTION * expected) / deviation)
    certain = (np.abs(z) < ABOVE_CHANCE) & significant(p_value)
    possible = (np.abs(z) < NEAR_CHANCE) & ~certain & (expected > CLEAR * deviation)

    def about(chosen: Bools, words: str, remedy: str, severity: Severity) -> list[Finding]:
        worst = sort_by_p_value(tested, p_value, chosen)
        share = 100 * n_a[worst].sum() / max(n_a.sum(), 1)
        message = f"{len(worst)} of {len(tested)} annotators {words}"
        message += f"; they gave {share:.3g} % of the labels"
        return table.about("annotator", worst, message, remedy, severity)

    out = "leave their labels out, or use a method that weights annotators"
    look = "check some of their labels by hand; use a method that weights annotators"
    return [
        *about(certain, "labelled no better than by chance", out, "warning"),
        *about(possible, "do not differ clearly from chance", look, "note"),
    ]


def constant_annotator(table: LabelTable) -> list[Finding]:
    """Annotators who give always or nearly always the same label although the items differ."""
    constant = constant_annotators(table)
    n_a = table.first_labels.labels_per_annotator
    message = (
        f"{len(constant)} of {np.count_nonzero(n_a)} annotators always or nearly always gave the "
        f"same label, although the others show that the items differ; they gave "
        f"{int(n_a[constant].sum())} labels"
    )
    remedy = "leave their labels out: they carry no information about the items"
    return table.about("annotator", constant, message, remedy)


def _is_testable(agreement: AgreementWithOthers) -> Bools:
    return (agreement.n_compared_a >= MIN_COMPARED) & agreement.is_varied_a


def constant_annotators(table: LabelTable) -> AnyArray:
    """Annotators who give always or nearly always the same label, the worst first."""
    return _constant_numbers(table) if table.rows.classes is None else _constant_classes(table)


def _constant_classes(table: LabelTable) -> AnyArray:
    ann, counts = table.first_labels, table.item_class_counts
    favourite, count = most_frequent_labels(table)
    n_a = ann.labels_per_annotator
    suspect = (n_a >= MIN_LABELS) & (count >= CONSTANT_SHARE * n_a)
    others_n = (ann.labels_per_item - 1)[ann.item]
    at = np.flatnonzero(suspect[ann.annotator] & (others_n >= 2))
    item, owner, others = ann.item[at], ann.annotator[at], others_n[at].astype(np.float64)
    differs = (ann.label[at] != favourite[owner]).astype(np.float64)
    total = ann.labels_per_item[item] - counts.count_of(ann, item, favourite[owner])
    not_k = total - differs
    pairs = not_k * (not_k - 1.0) / (others * (others - 1.0))
    n_items_a, mean_a, variance_a, error_a = _variance_between(
        owner, not_k / others, pairs, ann.n_annotators
    )
    lower = np.maximum(variance_a - MARGIN * error_a, 0.0)
    odds = lower / np.maximum(1.0 - mean_a, 1e-9) ** 2
    rate = NOTICED * odds / (1.0 + odds)
    n_differs = np.bincount(owner, weights=differs, minlength=ann.n_annotators)
    tested = np.flatnonzero(suspect & (n_items_a >= MIN_LABELS))
    n_items = n_items_a[tested].astype(np.int64)
    p_value = np.asarray(special.bdtr(n_differs[tested], n_items, rate[tested]), dtype=np.float64)
    return sort_by_p_value(tested, p_value, significant(p_value))


def _constant_numbers(table: LabelTable) -> AnyArray:
    ann, rank = table.first_labels, table.ranks
    others_n = (ann.labels_per_item - 1)[ann.item]
    at = np.flatnonzero(others_n >= 2)
    item, owner, own, others = ann.item[at], ann.annotator[at], rank[at], others_n[at]
    sum_i = np.bincount(ann.item, weights=rank, minlength=ann.n_items)
    square_i = np.bincount(ann.item, weights=rank**2, minlength=ann.n_items)
    left, left_square = sum_i[item] - own, square_i[item] - own**2
    pairs = (left**2 - left_square) / (others * (others - 1.0))
    n_items_a, _, variance_a, error_a = _variance_between(
        owner, left / others, pairs, ann.n_annotators
    )
    lower = variance_a - MARGIN_OF_NUMBERS * error_a
    n = np.maximum(n_items_a, 1.0)
    mean = np.bincount(owner, weights=own, minlength=ann.n_annotators) / n
    own_variance = (
        np.bincount(owner, weights=(own - mean[owner]) ** 2, minlength=ann.n_annotators) / n
    )
    is_constant = (lower > 0) & (own_variance < SMALL_VARIANCE * lower)
    constant = np.flatnonzero((n_items_a >= MIN_LABELS) & is_constant)
    return constant[np.argsort(own_variance[constant] / lower[constant], kind="stable")]


def _variance_between(
    owner: AnyArray, mean_n: Floats, pairs_n: Floats, n_annotators: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """The number of items with two or more other labels, mu, G and the standard error of G."""

    def total(weight: Floats) -> Floats:
        return np.asarray(np.bincount(owner, weight, n_annotators), dtype=np.float64)

    n_items = total(np.ones(len(owner)))
    n = np.maximum(n_items, 1.0)
    mean = total(mean_n) / n
    variance = total(pairs_n) / n - mean**2
    influence_n = pairs_n - 2.0 * mean[owner] * mean_n
    centred = influence_n - (total(influence_n) / n)[owner]
    error = np.sqrt(total(centred**2)) / n
    return n_items, mean, variance, error


def most_frequent_labels(table: LabelTable) -> tuple[Offsets, Offsets]:
    """The most frequent label of every annotator, as a code, and its count."""
    ann = table.first_labels
    label: AnyArray = ann.label
    if table.rows.classes is None:
        label = np.unique(ann.label, return_inverse=True)[1]
    n_labels = int(label.max(initial=0)) + 1
    key, count = np.unique(ann.annotator.astype(np.int64) * n_labels + label, return_counts=True)
    order = np.argsort(count, kind="stable")  # the most frequent label is written last
    favourite, top = np.zeros((2, ann.n_annotators), dtype=np.int64)
    favourite[key[order] // n_labels] = key[order] % n_labels
    top[key[order] // n_labels] = count[order]
    return favourite, top
