"""What a model is fitted to: labels and known truths; and what these say about annotators."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from scipy import special

from manyhands.aggregation.parts import Parts, PartState, resolved
from manyhands.annotations import Annotations, Truth, as_truths
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats, Offsets
from manyhands.core.errors import DataError, SettingName
from manyhands.core.kernels import kernel
from manyhands.evaluation.scores import LEVEL

_EQUAL = 1e-9  # probabilities that differ by less are equal
_MAX_LABEL = 1e70  # fourth powers of labels are summed
_FARTHEST = 1e6  # times the range of nine of ten labels
CROWD_LABELS = 2.0  # the weight of the crowd's average, in labels
T = TypeVar("T")


@dataclass(frozen=True)
class Evidence:
    """Annotations and known truths: class codes (-1 unknown), or numbers (NaN unknown).

    `known` is empty when no truth is known, so that kernels can skip the look-up. Labels that are
    in `parts` are not here: `annotations` then tells how many there are, and who gave them.
    """

    annotations: Annotations
    known: AnyArray
    parts: Parts | None = None

    def total(self, statistic: Callable[..., T], *arguments: Any) -> T:
        """`statistic(evidence, *arguments)`, a sum over items; over all parts if there are some."""
        if self.parts is None:
            return statistic(self, *arguments)
        return self.parts.total(statistic, *arguments)

    def of_items(self, function: Callable[..., Floats], *arguments: Any) -> Floats:
        """`function(evidence, *arguments)`, a row per item; of parts, how to compute it there."""
        if self.parts is None:
            return function(self, *arguments)
        return cast(Floats, _OfPart(function, arguments))

    @property
    def is_known(self) -> Bools:
        """Which items have a known truth."""
        if len(self.known) == 0:
            return np.zeros(self.annotations.n_items, dtype=bool)
        known: Bools = ~np.isnan(self.known) if self.known.dtype.kind == "f" else self.known >= 0
        return known

    def clamp(self, posterior_ik: Floats) -> Floats:
        """The posterior with probability 1 on known truths."""
        if len(self.known) == 0:
            return posterior_ik
        clamped = posterior_ik.copy()
        rows = np.flatnonzero(self.known >= 0)
        clamped[rows] = 0.0
        clamped[rows, self.known[rows]] = 1.0
        return clamped

    def known_by_name(self) -> dict[Any, Any]:
        """The known truths as {item: class name or number}."""
        ann, rows = self.annotations, np.flatnonzero(self.is_known)
        values = self.known[rows]
        names = ann.class_vocabulary
        truths = values if names is None else names.names[values]
        return dict(zip(ann.items[rows], truths, strict=True))

    def without_known(self, truth: Truth) -> Mapping[Any, Any]:
        """The truths of the items whose truth is not known here."""
        vocabulary, known = self.annotations.item_vocabulary, self.is_known
        truths = as_truths(truth, vocabulary)
        if not known.any():
            return truths
        pairs = zip(truths.items(), vocabulary.codes(truths), strict=True)
        others = {name: value for (name, value), code in pairs if code < 0 or not known[code]}
        if not others:
            raise DataError("all these truths were known beforehand; give others")
        return others


class _OfPart(NamedTuple):
    """A function of the evidence of a part that gives a row per item."""

    function: Callable[..., Floats]
    arguments: tuple[Any, ...]

    def __call__(self, evidence: Evidence) -> Floats:
        return self.function(evidence, *self.arguments)

    def of_part(self, load: Callable[[PartState], AnyArray]) -> "_OfPart":
        """The same with arguments for one part."""
        return _OfPart(self.function, tuple(resolved(each, load) for each in self.arguments))


def majority_posterior(evidence: Evidence, overall_k: Floats | None = None) -> Floats:
    """Label distributions of items, 1 for known truths: where iterative models start.

    An item without labels gets `overall_k`, by default the label distribution of the whole crowd.
    """
    counts_ik = evidence.annotations.label_counts()
    n_i = counts_ik.sum(axis=1, keepdims=True)
    np.divide(counts_ik, n_i, out=counts_ik, where=n_i > 0)
    without = n_i[:, 0] == 0
    if without.any():
        counts_ik[without] = label_distribution(evidence) if overall_k is None else overall_k
    return evidence.clamp(counts_ik)


def label_distribution(evidence: Evidence) -> Floats:
    """How often each class was said of all items together."""
    return evidence.total(count_labels) / max(evidence.annotations.n_annotations, 1)


def count_labels(evidence: Evidence) -> Floats:
    """The number of labels of each class."""
    counts_k = np.bincount(evidence.annotations.label, minlength=evidence.annotations.n_classes)
    return counts_k.astype(np.float64)


def most_probable(probabilities_ik: Floats, mean_k: Floats | None = None) -> tuple[Codes, Bools]:
    """The most probable class of every item, and whether another class is as probable.

    A tie goes to the class that is more probable over all items together (`mean_k`, if these are
    not all of them), and if these are equal too, to the first class.

    >>> codes, tied = most_probable(np.array([[0.5, 0.5], [0.1, 0.9]]))
    >>> codes.tolist(), tied.tolist()
    ([1, 1], [True, False])
    """
    top_i = probabilities_ik.max(axis=1, keepdims=True)
    among_ik = probabilities_ik >= top_i - _EQUAL
    tied = among_ik.sum(axis=1) > 1
    codes = probabilities_ik.argmax(axis=1).astype(np.int32)
    if tied.any():
        mass_k = np.round(probabilities_ik.mean(axis=0) if mean_k is None else mean_k, 9)
        codes[tied] = np.where(among_ik[tied], mass_k, -1.0).argmax(axis=1)
    return codes, tied


def nothing_known() -> AnyArray:
    """The `known` of an `Evidence` without known truths."""
    return np.zeros(0, dtype=np.int32)


def gather_evidence(annotations: Annotations, known: Truth | None = None) -> Evidence:
    """Evidence from names: `known` maps item names to class names or numbers."""
    known = {} if known is None else as_truths(known, annotations.item_vocabulary)
    if annotations.class_vocabulary is None:
        _require_one_scale(annotations)
    if not known:
        return Evidence(annotations, nothing_known())
    rows = annotations.item_vocabulary.codes(known)
    if np.any(rows < 0):
        unlabelled = list(known)[int(np.flatnonzero(rows < 0)[0])]
        raise DataError(f"known truth of item {unlabelled!r}, which nobody labelled; leave it out")
    values: AnyArray
    if annotations.class_vocabulary is None:
        values = np.full(annotations.n_items, np.nan)
        values[rows] = _as_numbers(known)
    else:
        classes = annotations.class_vocabulary.including(known.values())
        annotations = replace(annotations, class_vocabulary=classes)
        values = np.full(annotations.n_items, -1, dtype=np.int32)
        values[rows] = [classes.code(name) for name in known.values()]
    return Evidence(annotations, values)


def _require_one_scale(annotations: Annotations) -> None:
    """Raise a `DataError` for a number that is out of all proportion to the others.

    Squares of labels are summed: such a number would move every other item.
    """
    label_n = annotations.label

    def item_of(n: int) -> object:
        return annotations.items[annotations.item[n]]

    require_one_scale(label_n, item_of)


def require_one_scale(label_n: Floats, item_of: Callable[[int], object]) -> None:
    """The same of labels, or of a sample that has the smallest and the largest of them."""
    if len(label_n) == 0:
        return
    low, middle, high = np.quantile(label_n, [0.05, 0.5, 0.95])
    if max(abs(low), abs(high)) > _MAX_LABEL:
        raise DataError(f"labels are up to {high:g}; give numbers up to {_MAX_LABEL:g}")
    reach = _MAX_LABEL if high == low else min(_MAX_LABEL, _FARTHEST * (high - low))
    far = int(np.argmax(np.abs(label_n - middle)))
    if abs(label_n[far] - middle) > reach:
        raise DataError(
            f"the label {label_n[far]:g} of item {item_of(far)!s} is out of all proportion: nine "
            f"of ten labels are between {low:g} and {high:g}; correct it, or drop it with ",
            SettingName("missing", f"{label_n[far]:g}"),
        )  # fmt: skip


def _as_numbers(known: Mapping[Any, Any]) -> Floats:
    try:
        values = np.array([float(value) for value in known.values()])
    except (TypeError, ValueError):
        raise DataError("known truths must be numbers, as the labels are") from None
    if not np.isfinite(values).all():
        raise DataError("known truths must be finite numbers")
    return values


@dataclass(frozen=True, eq=False)
class Quality:
    """An estimate per annotator between 0 and 1, and its 95 % interval.

    `compute_interval` is called when the interval is first asked for, because it takes longer
    than the consensus itself in a large crowd. It must be picklable: a function of a module or a
    `functools.partial` of one.
    """

    value: Floats
    compute_interval: Callable[[], tuple[Floats, Floats]]

    @classmethod
    def from_interval(cls, value: Floats, low: Floats, high: Floats) -> "Quality":
        """A quality whose interval is known already."""
        return cls(value, partial(_pair, low, high))

    @cached_property
    def _interval(self) -> tuple[Floats, Floats]:
        low, high = self.compute_interval()
        return np.minimum(low, self.value), np.maximum(high, self.value)

    @property
    def low(self) -> Floats:
        """The lower end of the 95 % interval."""
        return self._interval[0]

    @property
    def high(self) -> Floats:
        """The upper end of the 95 % interval."""
        return self._interval[1]

    def with_unseen_annotators(self, n_new: int) -> "Quality":
        """The same with annotators appended: the mean quality, within the crowd's whole range."""
        if n_new == 0:
            return self
        value = np.append(self.value, np.full(n_new, self.value.mean()))
        return Quality(value, partial(_crowd_range, self, n_new))


def estimate_quality(evidence: Evidence, posterior_ik: Floats) -> Quality:
    """How often an annotator is right: the mean of a Beta posterior and its 95 % interval.

    A label counts as right with the consensus probability of its class. It counts only if another
    annotator labelled the item too or if the item's truth is known: a label that nothing can
    confirm tells nothing about its annotator. The prior is the crowd's average with the weight of
    two labels. The interval treats the consensus as given and ignores its own uncertainty.
    """
    return quality_of_counts(*count_confirmed(evidence, posterior_ik))


def count_confirmed(evidence: Evidence, posterior_ik: Floats) -> tuple[Floats, Floats]:
    """Expected right labels and all labels of each annotator that something can confirm."""
    ann = evidence.annotations
    return _count_confirmed(
        ann.item_offsets,
        ann.annotator,
        ann.label,
        evidence.is_known,
        posterior_ik,
        ann.n_annotators,
    )


def quality_of_counts(right_a: Floats, seen_a: Floats) -> Quality:
    """The quality of annotators; see `estimate_quality`."""
    crowd = float((right_a.sum() + 1.0) / (seen_a.sum() + 2.0))
    hits_a = right_a + CROWD_LABELS * crowd
    misses_a = np.maximum(seen_a - right_a, 0.0) + CROWD_LABELS * (1.0 - crowd)
    return Quality(hits_a / (hits_a + misses_a), partial(_beta_interval, hits_a, misses_a))


def _beta_interval(hits_a: Floats, misses_a: Floats) -> tuple[Floats, Floats]:
    tail = (1.0 - LEVEL) / 2.0
    low, high = (special.betaincinv(hits_a, misses_a, p) for p in (tail, 1.0 - tail))
    return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)


def _crowd_range(known: Quality, n_new: int) -> tuple[Floats, Floats]:
    return (
        np.append(known.low, np.full(n_new, known.low.min())),
        np.append(known.high, np.full(n_new, known.high.max())),
    )


def _pair(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    return low, high


@kernel
def _count_confirmed(
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    is_known: Bools,
    posterior: Floats,
    n_annotators: int,
) -> tuple[Floats, Floats]:
    """Expected right labels and all labels of each annotator that something can confirm."""
    right, seen = np.zeros(n_annotators), np.zeros(n_annotators)
    for i in range(len(offsets) - 1):
        begin, end = offsets[i], offsets[i + 1]
        # Labels of an item are sorted by annotator: compare the first annotator with the last.
        if begin == end or (annotator[begin] == annotator[end - 1] and not is_known[i]):
            continue
        for n in range(begin, end):
            right[annotator[n]] += posterior[i, label[n]]
            seen[annotator[n]] += 1.0
    return right, seen
