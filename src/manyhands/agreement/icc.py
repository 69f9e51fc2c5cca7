"""Intraclass correlations: the share of the variance of numbers that is between items.

The cases are those of Shrout and Fleiss (1979):

- model 1: items get labels of different annotators; annotators are part of the error
- model 2: annotators are a sample of many, and their levels count as disagreement
- model 3: these annotators only, and their levels do not count (consistency)

Variances come from an analysis of variance (`variance.py`), also where labels are missing.
"""

from collections.abc import Iterable

import numpy as np
from scipy import special

from manyhands.agreement.estimate import (
    Ends,
    IntervalKind,
    IntervalSettings,
    Parts,
    bootstrap_ends,
)
from manyhands.agreement.kinds import number_labels
from manyhands.agreement.result import Agreement
from manyhands.agreement.runs import one_label_each
from manyhands.agreement.variance import ROUNDING, Components, Model, Ratings
from manyhands.agreement.words import TITLES, Facts, make_result, per_cent, uncertainty
from manyhands.annotations import Annotations, Labels
from manyhands.core.settings import generator, require

_WHAT = {
    1: "annotators are part of the error, since items have labels of different annotators",
    2: "differences between the levels of annotators count as disagreement",
    3: "annotators who rate higher or lower throughout count as agreeing",
}


def icc(
    labels: Labels,
    *,
    model: Model = 2,
    average: bool = False,
    interval: IntervalKind = "analytic",
    confidence: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """Intraclass correlation ICC(model, 1), or ICC(model, k) of the mean of an item's labels.

    Parameters
    ----------
    labels : Annotations, frame, matrix or dictionaries
        Labels that are numbers, or classes whose names are numbers. Items with one label are left
        out. If an annotator labelled an item several times, the last label counts.
    model : {1, 2, 3}
        1: other annotators for every item; 2: annotators are a sample of many, and their levels
        count; 3: these annotators only, and their levels do not count.
    average : bool
        The reliability of the mean of k labels, not of one label; k is the harmonic mean of the
        numbers of labels per item.
    interval : {"analytic", "items", "none"}
        From F distributions (Shrout and Fleiss 1979; approximate if labels are missing), or a
        bootstrap over items.
    confidence : float
        Probability that the interval is made for.
    n_resamples : int
        Number of bootstrap samples.
    seed : int
        Seed of the bootstrap.

    Examples
    --------
    >>> ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9],
    ...            [6, 2, 4, 7]]
    >>> [round(icc(ratings, model=model).value, 2) for model in (1, 2, 3)]
    [0.17, 0.29, 0.71]
    """
    require(model in (1, 2, 3), "model", "1, 2 or 3", model)
    settings = IntervalSettings(interval, confidence, n_resamples, seed).checked()
    require(
        interval != "annotators", "interval", "analytic, items or none for icc", interval,
        "the analytic interval of model 2 allows for the choice of annotators",
    )  # fmt: skip
    given = number_labels(labels, "icc")
    ann = one_label_each(given)
    facts = _facts(ann, given)
    table = Ratings.of(ann.only(ann.labels_per_item[ann.item] >= 2))
    value = table.icc(model, average)
    ends = _ends(table, model, average, value, settings)
    k = "k" if average else "1"
    words = _words(model, average, table, value, ends, facts)
    title = f"{TITLES['icc']}({model},{k})"
    return make_result("icc", title, Parts(value), ends, settings, facts, words)


def _facts(ann: Annotations, given: Annotations) -> Facts:
    n_i = ann.labels_per_item
    used_n = n_i[ann.item] >= 2
    return Facts(
        n_labelled=int((n_i > 0).sum()), n_items=int((n_i >= 2).sum()),
        n_annotators=len(np.unique(ann.annotator[used_n])), n_labels=int(used_n.sum()),
        n_repeated=given.n_annotations - ann.n_annotations,
    )  # fmt: skip


def _ends(
    table: Ratings, model: Model, average: bool, value: float, settings: IntervalSettings
) -> Ends:
    if settings.kind == "none" or np.isnan(value):
        return Ends()
    if settings.kind == "items":
        rng = generator(settings.seed, "bootstrap over items")
        values = [table.drawn(rng).icc(model, average) for _ in range(settings.n_resamples)]
        return bootstrap_ends(np.array(values), settings)
    found = table.one_way if model == 1 else table.two_way
    if found is None or found.error <= 0.0:
        return Ends(note="There is no interval: labels of an item do not differ.")
    tail = (1.0 - settings.confidence) / 2.0
    with np.errstate(all="ignore"):  # the next lines look for what is not finite
        ends = _random_ends(table, found, tail) if model == 2 else _fixed_ends(found, tail)
    if average:
        ends = [_stepped_up(end, table.labels_per_item) for end in ends]
    if not ends[0] - ROUNDING <= value <= ends[1] + ROUNDING:
        return Ends(note="There is no interval: the labels are too few for it.")
    note = "" if table.is_complete else "The interval is approximate, since labels are missing."
    return Ends(max(ends[0], -1.0), min(ends[1], 1.0), "analytic, from F distributions", note)


def _fixed_ends(found: Components, tail: float) -> list[float]:
    """The interval of models 1 and 3, from the F distribution of the mean squares."""
    ratio, k = found.square_items / found.error, found.size
    low = ratio / special.fdtri(found.df_items, found.df_error, 1.0 - tail)
    high = ratio * special.fdtri(found.df_error, found.df_items, 1.0 - tail)
    return [float((each - 1.0) / (each + k - 1.0)) for each in (low, high)]


def _random_ends(table: Ratings, found: Components, tail: float) -> list[float]:
    """The interval of model 2, with Satterthwaite's degrees of freedom."""
    k, n = found.size, found.size_annotators
    b, j, e = found.square_items, found.square_annotators, found.error
    value = min(max(table.icc(2, False), -0.999), 1.0 - 1e-9)
    of_annotators = k * value * j / e
    of_error = n * (1.0 + (k - 1.0) * value) - k * value
    spread = of_annotators**2 / found.df_annotators + of_error**2 / found.df_error
    df = (of_annotators + of_error) ** 2 / spread
    upper = special.fdtri(found.df_items, df, 1.0 - tail)
    lower = special.fdtri(df, found.df_items, 1.0 - tail)
    scale = k * j + (k * n - k - n) * e
    low = n * (b - upper * e) / (upper * scale + n * b)
    high = n * (lower * b - e) / (scale + n * lower * b)
    return [float(low), float(high)]


def _stepped_up(value: float, k: float) -> float:
    """The reliability of the mean of k labels (Spearman and Brown)."""
    below = 1.0 + (k - 1.0) * value
    return k * value / below if below > ROUNDING else -np.inf


def _words(
    model: Model, average: bool, table: Ratings, value: float, ends: Ends, facts: Facts
) -> Iterable[str]:
    if np.isnan(value):
        yield _why_undefined(model, table, facts)
        return
    of = f"the mean of {table.labels_per_item:.3g} labels" if average else "one label"
    if value >= 0:
        yield f"{per_cent(value)} of the variance of {of} is between items: {_WHAT[model]}."
    else:
        yield f"Labels of one item differ more than those of different items: {_WHAT[model]}."
    yield (
        "It depends on how much the items differ: the same annotators get a lower number on items "
        "that are alike."
    )
    yield from uncertainty(ends)
    yield from facts.caveats()


def _why_undefined(model: Model, table: Ratings, facts: Facts) -> str:
    if facts.n_items == 0:
        return facts.why_undefined()
    if not np.any(table.value_n):
        return "All labels are the same number, so that there is no variance to divide."
    if (table.one_way if model == 1 else table.two_way) is not None:
        return (
            "Labels of one item differ so much more than those of different items that no variance "
            "is left between items."
        )
    need = "two items with two labels each"
    if model != 1:
        need = "annotators who share more items, to tell their levels from the error"
    return f"The labels are too few: this needs {need}."
