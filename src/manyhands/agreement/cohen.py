"""Kappas of pairs of annotators: Cohen's, with the classes that each uses, and Scott's pi.

With shares p_k and q_k of the classes of the two annotators on the items that both labelled, and
weights w_kl: Cohen expects sum_kl w_kl p_k q_l. Scott takes (p + q) / 2 for both.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from manyhands.agreement.chance import title_of
from manyhands.agreement.estimate import (
    Ends,
    IntervalKind,
    IntervalSettings,
    analytic_ends,
    bootstrap_ends,
)
from manyhands.agreement.kinds import class_labels
from manyhands.agreement.ordered import Weights, in_order, weight_matrix
from manyhands.agreement.pair_table import PairTable
from manyhands.agreement.result import Agreement
from manyhands.agreement.runs import LabelRuns, one_label_each
from manyhands.agreement.words import describe, name_in_words
from manyhands.annotations import Annotations, Labels
from manyhands.core.arrays import Codes
from manyhands.core.settings import generator, require

FEW_SHARED = 20  # common items per pair below which the mean over pairs is told to be too low


def cohen(
    labels: Labels,
    *,
    pair: Sequence[Any] | None = None,
    weights: Weights | None = None,
    order: Sequence[Any] | None = None,
    interval: IntervalKind = "analytic",
    confidence: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """Cohen's kappa of two annotators, or the mean over all pairs of annotators.

    The mean weights every pair by the items that both labelled; if all labelled the same items it
    is Light's kappa. Pairs whose kappa is undefined, because both used one class only, are left
    out of the mean.

    Parameters
    ----------
    labels : Annotations, frame, matrix or dictionaries
        Labels that are classes. If an annotator labelled an item several times, the last counts.
    pair : (annotator, annotator)
        Names of two annotators; by default all pairs.
    weights, order, interval, confidence, n_resamples, seed
        As those of `fleiss`.

    Examples
    --------
    >>> round(cohen([[0, 0], [1, 1], [0, 1], [1, 1]]).value, 3)
    0.5
    """
    settings = IntervalSettings(interval, confidence, n_resamples, seed)
    return _pairwise("cohen", labels, pair, weights, order, settings)


def scott(
    labels: Labels,
    *,
    pair: Sequence[Any] | None = None,
    weights: Weights | None = None,
    order: Sequence[Any] | None = None,
    interval: IntervalKind = "analytic",
    confidence: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """Scott's pi of two annotators, or the mean over all pairs of annotators.

    For one number over more than two annotators at once see `fleiss`.

    >>> round(scott([[0, 0], [1, 1], [0, 1], [1, 1]]).value, 3)
    0.467

    The parameters are those of `cohen`.
    """
    settings = IntervalSettings(interval, confidence, n_resamples, seed)
    return _pairwise("scott", labels, pair, weights, order, settings)


def _pairwise(
    name: str,
    labels: Labels,
    pair: Sequence[Any] | None,
    weights: Weights | None,
    order: Sequence[Any] | None,
    settings: IntervalSettings,
) -> Agreement:
    settings.checked()
    require(order is None or weights is not None, "order", "left out without weights", order)
    given = class_labels(labels, name)
    if pair is not None:
        given = given.only(np.isin(given.annotator, _codes_of(given, pair)))
    single = one_label_each(given)
    weight_kk = weight_matrix(weights, single.n_classes)
    table = PairTable.of(single, in_order(single, order), weight_kk, pooled=name == "scott")
    parts = table.mean(table.once)
    ends = _ends(table, parts.value, settings)
    runs = LabelRuns.of(single, in_order(single, order), single.n_classes)
    return describe(
        name, runs, parts, ends, settings, title=_title(name, weights, table, single), of=given,
        order=() if weights is None else order or given.classes.tolist(),
        notes=[*table.notes, *_few_shared(table)],
    )  # fmt: skip


def _few_shared(table: PairTable) -> list[str]:
    """A sentence if pairs share so few items that their kappas are too low.

    Chance is estimated from the items that it is taken from, and pairs that agree on the few items
    they share have used one class only, so that they are left out.
    """
    n_pairs = len(table.first)
    if n_pairs < 2 or len(table.pair_t) >= FEW_SHARED * n_pairs:
        return []
    n_lost = int(np.isnan(table.usual.value).sum())
    lost = (
        f" {n_lost:,} of {n_pairs:,} pairs gave all their common items the same label: their kappa "
        "is undefined, and they do not count."
    ) * (n_lost > 0)
    return [
        f"Two annotators share {len(table.pair_t) / n_pairs:.1f} items on average.{lost} A mean "
        "of kappas of so few items is too low; use alpha or Fleiss' kappa."
    ]


def _title(name: str, weights: str | None, table: "PairTable", ann: Annotations) -> str:
    title = title_of(name, weights)
    if len(table.first) == 1:
        one, two = ann.annotators[[table.first[0], table.second[0]]]
        return f"{title} of {name_in_words(one)} and {name_in_words(two)}"
    return f"{title}, mean of {len(table.first)} pairs" if len(table.first) else title


def _codes_of(annotations: Annotations, pair: Sequence[Any]) -> Codes:
    codes = annotations.annotator_vocabulary.codes(list(pair))
    known = len(codes) == 2 and codes[0] != codes[1] and bool((codes >= 0).all())
    require(known, "pair", "the names of two annotators", tuple(pair))
    return codes


def _ends(table: PairTable, value: float, settings: IntervalSettings) -> Ends:
    if settings.kind == "none" or np.isnan(value):
        return Ends()
    if settings.kind == "analytic":
        influence_i = table.influence()
        # for one pair this is the variance of Fleiss, Cohen and Everitt (1969)
        return analytic_ends(value, float(influence_i @ influence_i), len(influence_i), settings)
    rng = generator(settings.seed, f"bootstrap over {settings.kind}")
    by_item = settings.kind == "items"
    drawn = np.unique(table.item_t if by_item else np.append(table.first, table.second))
    value_b = np.empty(settings.n_resamples)
    for b in range(settings.n_resamples):
        times = np.bincount(rng.choice(drawn, len(drawn)), minlength=int(drawn[-1]) + 1)
        if by_item:
            times_t = times[table.item_t]
        else:
            times_t = (times[table.first] * times[table.second])[table.pair_t]
        value_b[b] = table.mean(times_t.astype(np.float64)).value
    return bootstrap_ends(value_b, settings)
