"""Coefficients (observed - expected) / (1 - expected) of classes, for any number of annotators.

They share the observed agreement, the mean over items of the share of pairs of labels that agree,
and differ in the agreement by chance. Any item may lack labels (Gwet 2014). With shares p_k of the
classes (means over items), weights w_kl and T their sum::

    per cent          expected = 0
    Fleiss            expected = sum_kl w_kl p_k p_l
    Gwet AC1, AC2     expected = T / (K (K - 1)) sum_k p_k (1 - p_k)
    Brennan-Prediger  expected = T / K^2
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.agreement.distances import matrix_within
from manyhands.agreement.estimate import (
    UNDEFINED,
    IntervalKind,
    IntervalSettings,
    Parts,
    Statistic,
    find_ends,
)
from manyhands.agreement.kinds import class_labels
from manyhands.agreement.ordered import Weights, in_order, weight_matrix
from manyhands.agreement.result import Agreement
from manyhands.agreement.runs import LabelRuns, Sample, one_label_each
from manyhands.agreement.words import TITLES, describe
from manyhands.annotations import Labels
from manyhands.core.arrays import Floats
from manyhands.core.settings import require


def percent(
    labels: Labels,
    *,
    weights: Weights | None = None,
    order: Sequence[Any] | None = None,
    interval: IntervalKind = "analytic",
    confidence: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """The share of pairs of labels of an item that agree, mean over items, 0 to 1.

    >>> percent([[0, 0], [1, 1], [0, 1], [1, 1]]).value
    0.75

    The parameters are those of `fleiss`.
    """
    settings = IntervalSettings(interval, confidence, n_resamples, seed)
    return _coefficient("percent", labels, weights, order, settings)


def fleiss(
    labels: Labels,
    *,
    weights: Weights | None = None,
    order: Sequence[Any] | None = None,
    interval: IntervalKind = "analytic",
    confidence: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """Fleiss' kappa: chance is how often all annotators together use the classes.

    With two annotators who labelled the same items it is Scott's pi.

    Parameters
    ----------
    labels : Annotations, frame, matrix or dictionaries
        Labels that are classes. If an annotator labelled an item several times, the last counts.
    weights : {"linear", "quadratic", "ordinal"}
        How far two different classes agree, by their places in the order; by default not at all.
    order : list
        Classes from lowest to highest, for weights. By default the order of `classes`.
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
    >>> round(fleiss([[0, 0, 0], [1, 1, 1], [0, 0, 1]]).value, 3)
    0.55
    """
    settings = IntervalSettings(interval, confidence, n_resamples, seed)
    return _coefficient("fleiss", labels, weights, order, settings)


def gwet(
    labels: Labels,
    *,
    weights: Weights | None = None,
    order: Sequence[Any] | None = None,
    interval: IntervalKind = "analytic",
    confidence: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """Gwet's AC1, or AC2 with weights: stable where almost all labels are of one class.

    It depends on the number of classes, so list those that nobody used too (`classes`).

    >>> round(gwet([[0, 0, 0], [1, 1, 1], [0, 0, 1]]).value, 3)
    0.561

    The parameters are those of `fleiss`.
    """
    settings = IntervalSettings(interval, confidence, n_resamples, seed)
    return _coefficient("gwet", labels, weights, order, settings)


def brennan_prediger(
    labels: Labels,
    *,
    weights: Weights | None = None,
    order: Sequence[Any] | None = None,
    interval: IntervalKind = "analytic",
    confidence: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """The coefficient of Brennan and Prediger: all classes are equally probable by chance.

    It depends on the number of classes, so list those that nobody used too (`classes`).

    >>> round(brennan_prediger([[0, 0, 0], [1, 1, 1], [0, 0, 1]]).value, 3)
    0.556

    The parameters are those of `fleiss`.
    """
    settings = IntervalSettings(interval, confidence, n_resamples, seed)
    return _coefficient("brennan-prediger", labels, weights, order, settings)


def _coefficient(
    name: str,
    labels: Labels,
    weights: Weights | None,
    order: Sequence[Any] | None,
    settings: IntervalSettings,
) -> Agreement:
    annotations = class_labels(labels, name)
    require(order is None or weights is not None, "order", "left out without weights", order)
    single = one_label_each(annotations)
    runs = LabelRuns.of(single, in_order(single, order), single.n_classes)
    statistic = ChanceStatistic(runs, name, weight_matrix(weights, single.n_classes))
    parts = statistic.parts(runs.whole)
    ends = find_ends(statistic, parts.value, settings.checked())
    return describe(
        name, runs, parts, ends, settings, title=title_of(name, weights), of=annotations,
        order=() if weights is None else order or annotations.classes.tolist(),
    )  # fmt: skip


def title_of(name: str, weights: str | None) -> str:
    """The full name of a coefficient with its weights."""
    title = "Gwet's AC2" if name == "gwet" and weights else TITLES[name]
    return f"{title} ({weights} weights)" if weights else title


@dataclass(frozen=True, eq=False)
class ChanceStatistic(Statistic):
    """One of the coefficients of this module for a count table."""

    runs: LabelRuns
    name: str
    weight_kk: Floats | None  # None: classes agree only if they are equal

    @property
    def lowest(self) -> float:  # noqa: D102
        return 0.0 if self.name == "percent" else -1.0

    def parts(self, sample: Sample) -> Parts:  # noqa: D102
        is_paired_i = sample.is_paired_i
        n_paired = float(sample.times_i @ is_paired_i)
        if n_paired == 0:
            return UNDEFINED
        observed = float((sample.times_i * is_paired_i) @ self.agreement_of_items(sample))
        observed /= n_paired
        if self.name == "percent":
            return Parts(observed, observed)
        expected = self._expected(self._shares(sample))
        value = (observed - expected) / (1.0 - expected) if expected < 1.0 else float("nan")
        return Parts(value, observed, expected)

    def agreement_of_items(self, sample: Sample) -> Floats:
        """The share of the pairs of every item that agree; 0 without pairs."""
        if self.weight_kk is None:
            same_i = self.runs.sums(sample.mass_r**2)
        else:
            runs = self.runs
            same_i = matrix_within(runs.item_offsets, runs.code_r, sample.mass_r, self.weight_kk)
        return np.divide(
            same_i - sample.squares_i, sample.pairs_i,
            out=np.zeros(len(same_i)), where=sample.is_paired_i,
        )  # fmt: skip

    def influence(self) -> Floats:
        """Derivatives by items; labelled items without pairs tell how classes are used."""
        whole, runs = self.runs.whole, self.runs
        value, observed, expected = self.parts(whole)
        labelled_i = whole.labels_i > 0
        paired_i = whole.is_paired_i
        n_paired, n = paired_i.sum(), labelled_i.sum()
        deviation_i = paired_i * (self.agreement_of_items(whole) - observed) / n_paired
        if self.name == "percent":
            return np.asarray(deviation_i[paired_i])
        slope_k = self._slopes(self._shares(whole))
        share_r = whole.mass_r / whole.labels_i[runs.item_r]
        expected_i = runs.sums(share_r * slope_k[runs.code_r])
        expected_i = labelled_i * (expected_i - expected_i[labelled_i].mean()) / n
        slope_i = (deviation_i - (1.0 - value) * expected_i) / (1.0 - expected)
        return np.asarray(slope_i[labelled_i])

    def _shares(self, sample: Sample) -> Floats:
        """The mean over items of the shares of the classes."""
        is_labelled_i = sample.labels_i > 0
        weight_i = np.divide(
            sample.times_i, sample.labels_i, out=np.zeros(self.runs.n_items), where=is_labelled_i
        )
        share_k = self.runs.margin(sample, weight_i)
        return np.asarray(share_k / share_k.sum())

    def _agreeing(self, share_k: Floats) -> Floats:
        return share_k if self.weight_kk is None else np.asarray(self.weight_kk @ share_k)

    @property
    def _chance_scale(self) -> float:
        """The mean weight of all pairs of classes, 1 / K without weights."""
        n_classes = self.runs.n_codes
        return 1.0 / n_classes if self.weight_kk is None else float(self.weight_kk.mean())

    def _expected(self, share_k: Floats) -> float:
        if self.name == "fleiss":
            # shares of one class alone may sum to a little less than 1
            return float(share_k @ self._agreeing(share_k)) if share_k.max() < 1.0 else 1.0
        if self.runs.n_codes < 2:
            return 1.0
        if self.name == "gwet":
            n_classes = self.runs.n_codes
            spread = float(share_k @ (1.0 - share_k))
            return self._chance_scale * n_classes / (n_classes - 1.0) * spread
        return self._chance_scale

    def _slopes(self, share_k: Floats) -> Floats:
        """The derivatives of the expected agreement by the shares of the classes."""
        if self.name == "fleiss":
            return 2.0 * self._agreeing(share_k)
        if self.name == "gwet":
            n_classes = self.runs.n_codes
            return -2.0 * self._chance_scale * n_classes / (n_classes - 1.0) * share_k
        return np.zeros(len(share_k))
