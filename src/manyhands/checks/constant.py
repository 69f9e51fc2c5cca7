"""Annotators who say the same whatever the item.

Saying one class always is honest where that class is always true. So the others are asked
whether the items of the annotator really differ: two other people who look at one item agree
that it is not class k more often than their habits explain only if some items are not k. With
c of m others saying "not k", mu the mean of c / m, and G the variance between items,

    G = mean of c (c - 1) / (m (m - 1)) - mu^2,

at least a share rho = g / (1 + g), g = G / (1 - mu)^2, of the items is not k, whoever errs how
often. Somebody who notices only half of these would hardly ever miss nearly all.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from manyhands.checks.chart import Chart
from manyhands.checks.finding import Finding
from manyhands.checks.others import count_of
from manyhands.checks.significance import by_worst, significant
from manyhands.core.arrays import AnyArray, Floats, Offsets

CONSTANT_SHARE = 0.95
LEAST_LABELS = 10
NOTICED = 0.5  # the part of the differing items that even a careless annotator notices
DOUBT = 2.5  # standard errors taken off G
DOUBT_OF_NUMBERS = 4.0
SMALL_VARIANCE = 0.02  # of the variance between items: a seventh of its deviation


@dataclass(frozen=True)
class Between:
    """Per annotator, over their items with two or more others: how far those items differ."""

    items_a: Floats
    mean_a: Floats
    variance_a: Floats
    error_a: Floats


def constant_annotator(chart: Chart) -> list[Finding]:
    """Annotators who say always or nearly always the same, where the items clearly differ."""
    found = constant_codes(chart)
    if len(found) == 0:
        return []
    n_a = chart.once.labels_per_annotator
    message = (
        f"{len(found)} of {np.count_nonzero(n_a)} annotators said always or nearly always the "
        f"same, though others see differences between the same items; they gave "
        f"{int(n_a[found].sum())} labels"
    )
    remedy = "leave their labels out: they tell nothing about the items"
    return [chart.about_annotators("warning", message, remedy, found)]


def constant_codes(chart: Chart) -> AnyArray:
    """The annotators who say always or nearly always the same without cause, the worst first."""
    return _constant_numbers(chart) if chart.rows.classes is None else _constant_classes(chart)


def top_share(chart: Chart) -> Floats:
    """The share of each annotator's labels that are their most frequent label."""
    _, count = _favourites(chart)
    return np.asarray(count / np.maximum(chart.once.labels_per_annotator, 1))


def _constant_classes(chart: Chart) -> AnyArray:
    ann, cells = chart.once, chart.cells
    favourite, count = _favourites(chart)
    n_a = ann.labels_per_annotator
    suspect = (n_a >= LEAST_LABELS) & (count >= CONSTANT_SHARE * n_a)
    others_n = (ann.labels_per_item - 1)[ann.item]
    at = np.flatnonzero(suspect[ann.annotator] & (others_n >= 2))
    item, who, others = ann.item[at], ann.annotator[at], others_n[at].astype(np.float64)
    differs = (ann.label[at] != favourite[who]).astype(np.float64)
    total = ann.labels_per_item[item] - count_of(cells, ann, item, favourite[who])
    not_k = total - differs
    pairs = not_k * (not_k - 1.0) / (others * (others - 1.0))
    between = _between(who, not_k / others, pairs, ann.n_annotators)
    least = np.maximum(between.variance_a - DOUBT * between.error_a, 0.0)
    odds = least / np.maximum(1.0 - between.mean_a, 1e-9) ** 2
    rate = NOTICED * odds / (1.0 + odds)
    said = np.bincount(who, weights=differs, minlength=ann.n_annotators)
    tested = np.flatnonzero(suspect & (between.items_a >= LEAST_LABELS))
    items = between.items_a[tested].astype(np.int64)
    p_value = np.asarray(special.bdtr(said[tested], items, rate[tested]), dtype=np.float64)
    guilty = significant(p_value)
    return by_worst(tested[guilty], p_value[guilty])


def _constant_numbers(chart: Chart) -> AnyArray:
    ann, rank = chart.once, chart.ranks
    others_n = (ann.labels_per_item - 1)[ann.item]
    at = np.flatnonzero(others_n >= 2)
    item, who, own, others = ann.item[at], ann.annotator[at], rank[at], others_n[at]
    sum_i = np.bincount(ann.item, weights=rank, minlength=ann.n_items)
    square_i = np.bincount(ann.item, weights=rank**2, minlength=ann.n_items)
    left, left_square = sum_i[item] - own, square_i[item] - own**2
    pairs = (left**2 - left_square) / (others * (others - 1.0))
    between = _between(who, left / others, pairs, ann.n_annotators)
    least = between.variance_a - DOUBT_OF_NUMBERS * between.error_a
    n = np.maximum(between.items_a, 1.0)
    mean = np.bincount(who, weights=own, minlength=ann.n_annotators) / n
    off = np.bincount(who, weights=(own - mean[who]) ** 2, minlength=ann.n_annotators) / n
    guilty = (between.items_a >= LEAST_LABELS) & (least > 0) & (off < SMALL_VARIANCE * least)
    found = np.flatnonzero(guilty)
    return by_worst(found, off[found] / least[found])


def _between(who: AnyArray, mean_n: Floats, pairs_n: Floats, n_annotators: int) -> Between:
    """G of the module's text per annotator, with its standard error."""

    def total(weight: Floats) -> Floats:
        return np.asarray(np.bincount(who, weight, n_annotators), dtype=np.float64)

    items = total(np.ones(len(who)))
    n = np.maximum(items, 1.0)
    mean = total(mean_n) / n
    variance = total(pairs_n) / n - mean**2
    influence_n = pairs_n - 2.0 * mean[who] * mean_n
    centred = influence_n - (total(influence_n) / n)[who]
    error = np.sqrt(total(centred**2)) / n
    return Between(items, mean, variance, error)


def _favourites(chart: Chart) -> tuple[Offsets, Offsets]:
    """Every annotator's most frequent label, as a code, and how often they said it."""
    ann = chart.once
    label: AnyArray = ann.label
    if chart.rows.classes is None:
        label = np.unique(ann.label, return_inverse=True)[1]
    n_labels = int(label.max(initial=0)) + 1
    key, count = np.unique(ann.annotator.astype(np.int64) * n_labels + label, return_counts=True)
    order = np.argsort(count, kind="stable")  # the last one written is the most frequent
    favourite, top = np.zeros((2, ann.n_annotators), dtype=np.int64)
    favourite[key[order] // n_labels] = key[order] % n_labels
    top[key[order] // n_labels] = count[order]
    return favourite, top
