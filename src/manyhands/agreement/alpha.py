"""Krippendorff's alpha: 1 - observed / expected disagreement, for any level of measurement."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from manyhands.agreement.distances import Interval, Level, Matrix, Nominal, Ordinal, Ratio
from manyhands.agreement.estimate import (
    UNDEFINED,
    IntervalKind,
    IntervalSettings,
    Parts,
    Statistic,
    find_ends,
)
from manyhands.agreement.kinds import default_level, number_labels
from manyhands.agreement.ordered import in_order
from manyhands.agreement.result import Agreement
from manyhands.agreement.runs import LabelRuns, Sample, one_label_each
from manyhands.agreement.sets import as_sets, masi_distances
from manyhands.agreement.words import describe
from manyhands.annotations import Annotations, Labels, as_annotations
from manyhands.annotations.label_sets import set_members
from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError, SettingName
from manyhands.core.settings import require, require_choice

LevelName = Literal["nominal", "ordinal", "interval", "ratio", "sets"]
LEVELS = ("nominal", "ordinal", "interval", "ratio", "sets")


def alpha(
    labels: Labels,
    *,
    level: LevelName | None = None,
    order: Sequence[Any] | None = None,
    separator: str | None = None,
    interval: IntervalKind = "analytic",
    confidence: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """Krippendorff's alpha; any number of annotators, any items may lack labels.

    1 is full agreement, 0 is what labels at random would give. Items with one label are left out.
    If an annotator labelled an item several times, the last label counts, except for sets.

    Parameters
    ----------
    labels : Annotations, frame, matrix or dictionaries
        The labels.
    level : {"nominal", "ordinal", "interval", "ratio", "sets"}
        How two labels differ. By default "nominal" for classes, "ordinal" for levels, "sets" for
        sets of classes and "interval" for numbers.
        "sets" are several classes per item and annotator, compared by MASI.
    order : list
        Classes from lowest to highest, for "ordinal". By default the order of `classes`.
    separator : str
        For "sets": what separates the classes in a label such as a|b. Without it, all labels that
        an annotator gave to an item are one set.
    interval : {"analytic", "items", "annotators", "none"}
        The delta method over items, or a bootstrap over items or annotators.
    confidence : float
        Probability that the interval is made for.
    n_resamples : int
        Number of bootstrap samples.
    seed : int
        Seed of the bootstrap.

    Examples
    --------
    >>> ratings = [[1, 1, 2], [3, 3, 3], [2, 2, 3], [5, 4, 5]]
    >>> round(alpha(ratings).value, 3), round(alpha(ratings, level="ordinal").value, 3)
    (0.4, 0.859)
    """
    settings = IntervalSettings(interval, confidence, n_resamples, seed).checked()
    annotations = as_annotations(labels)
    chosen = level or default_level(annotations)
    statistic = alpha_statistic(annotations, chosen, order, separator)
    parts = statistic.parts(statistic.runs.whole)
    ends = find_ends(statistic, parts.value, settings)
    ordered = order or annotations.classes.tolist() if chosen == "ordinal" else ()
    return describe(
        "alpha", statistic.runs, parts, ends, settings, level=chosen, of=annotations, order=ordered
    )


@dataclass(frozen=True, eq=False)
class AlphaStatistic(Statistic):
    """Alpha of a count table.

    With m_i labels and P_i pairs of item i, n labels and differences d::

        observed = sum_i m_i (sum of d within i) / P_i / n,   expected = mean of d over all pairs
    """

    runs: LabelRuns
    level: Level

    def parts(self, sample: Sample) -> Parts:  # noqa: D102
        weight_i = sample.times_i * sample.is_paired_i
        n = float(weight_i @ sample.labels_i)
        n_pairs = n**2 - float(weight_i @ sample.squares_i)
        if n == 0:
            return UNDEFINED
        margin_k = self.runs.margin(sample, weight_i)
        within_i = self.level.within(self.runs, sample.mass_r, margin_k)
        share_i = np.divide(
            sample.labels_i, sample.pairs_i, out=np.zeros(len(weight_i)), where=sample.is_paired_i
        )
        observed = float((weight_i * share_i) @ within_i) / n
        expected = float(margin_k @ self.level.between(margin_k)) / n_pairs
        value = 1.0 - observed / expected if expected > 0 else float("nan")
        return Parts(value, observed, expected)

    def influence(self) -> Floats:
        """Derivatives of 1 - (n - 1) W / B: W sums items, B sums pairs of labels."""
        whole, runs = self.runs.whole, self.runs
        paired_i = whole.is_paired_i.astype(np.float64)
        margin_k = runs.margin(whole, paired_i)
        n = margin_k.sum()
        scale_i = np.divide(
            whole.labels_i, whole.pairs_i, out=np.zeros(runs.n_items), where=whole.is_paired_i
        )
        within_i = scale_i * self.level.within(runs, whole.mass_r, margin_k)
        between_k = self.level.between(margin_k)
        within, between = within_i.sum(), margin_k @ between_k
        drift_within, drift_between = self.level.drift(runs, scale_i, margin_k)
        change_k = np.zeros(runs.n_codes) + drift_within
        change_within_i = within_i + runs.sums(whole.mass_r * change_k[runs.code_r])
        change_k = 2.0 * between_k + drift_between
        change_between_i = runs.sums(whole.mass_r * change_k[runs.code_r])
        slope_i = (
            whole.labels_i * within / between
            + (n - 1.0) * change_within_i / between
            - (n - 1.0) * within * change_between_i / between**2
        )
        return np.asarray(-slope_i[whole.is_paired_i])


def alpha_statistic(
    annotations: Annotations,
    level: str,
    order: Sequence[Any] | None = None,
    separator: str | None = None,
) -> AlphaStatistic:
    """Alpha of some labels at a level of measurement."""
    require_choice("level", level, LEVELS)
    require(order is None or level == "ordinal", "order", "left out unless level is ordinal", order)
    fits = separator is None or level == "sets"
    require(fits, "separator", "left out unless level is sets", separator)
    if level == "sets":
        sets = as_sets(annotations, separator)
        member_sk = set_members(sets)
        runs = LabelRuns.of(sets, sets.label, len(member_sk))
        return AlphaStatistic(runs, Matrix(masi_distances(member_sk)))
    single = one_label_each(annotations)
    if level in ("nominal", "ordinal") and single.kind == "classes":
        code_n = in_order(single, order) if level == "ordinal" else single.label
        runs = LabelRuns.of(single, code_n, single.n_classes)
        return AlphaStatistic(runs, Ordinal() if level == "ordinal" else Nominal())
    require(order is None, "order", "left out where labels are numbers", order)
    single = number_labels(single, f"alpha of the level {level}")
    value_k, code_n = np.unique(single.label, return_inverse=True)
    runs = LabelRuns.of(single, code_n, len(value_k))
    return AlphaStatistic(runs, _numeric_level(level, value_k))


def _numeric_level(level: str, value_k: Floats) -> Level:
    if level == "ratio":
        if len(value_k) and value_k[0] < 0:
            raise DataError(
                SettingName("level", "ratio"),
                f" needs numbers of 0 or more, and the lowest label is {value_k[0]:g}; use ",
                SettingName("level", "interval"),
            )
        return Ratio(value_k)
    levels: dict[str, Level] = {
        "nominal": Nominal(), "ordinal": Ordinal(), "interval": Interval(value_k)
    }  # fmt: skip
    return levels[level]
