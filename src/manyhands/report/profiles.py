"""Profiles of annotators: quality, agreement, typical mistakes, bias, and flags with reasons."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from manyhands.aggregation import Consensus
from manyhands.agreement.annotator_classes import annotator_class_columns
from manyhands.agreement.tables import annotator_columns
from manyhands.annotations.columns import make_frame
from manyhands.checks import Flag, flag_annotators
from manyhands.checks.pace import Pace, annotator_pace
from manyhands.core.arrays import AnyArray, Bools, Floats
from manyhands.report.cells import NOTHING, ConfusionCells, class_names, confusion_cells
from manyhands.report.errors_of_numbers import errors_of_numbers
from manyhands.report.level_errors import LevelErrors, level_errors
from manyhands.report.shown import shown
from manyhands.report.trend import Trend, annotator_trend

UNTRUSTED = ("adversarial", "random", "constant")  # flags of labels that should be left out
MIN_MISTAKES = 3  # fewer are no habit
MIN_SHARED = 5  # items of a class from which on agreement on it is worth a word
NARROW = 0.8  # the scale below which numbers have a narrower range
BIAS_Z = 3.0  # standard deviations from which on the use of a label is a bias


@dataclass(frozen=True)
class Profiles:
    """What is known of every annotator; rows follow the annotators of the consensus.

    >>> import manyhands as mh
    >>> crowd = mh.SCENARIOS["spammers"](mh.simulation.CrowdSettings(lowest=0.6, share=0.2))
    >>> profiles = profile_annotators(mh.aggregate(crowd.annotations))
    >>> [flag.kind for flag in profiles.flags_of[0]]
    ['random']
    >>> profiles.columns()["flags"][0]
    'random'
    """

    consensus: Consensus
    flags: tuple[Flag, ...]
    agreement: Mapping[str, AnyArray]  # the columns of `agreement.by_annotator`
    pace: Pace | None = None  # seconds per label, if times are known
    trend: Trend | None = None  # quality over time, if it is known when labels were given

    @cached_property
    def flags_of(self) -> Mapping[int, list[Flag]]:
        """Flags by the code of the annotator."""
        found = defaultdict(list)
        for flag in self.flags:
            found[flag.annotator].append(flag)
        return found

    @cached_property
    def untrusted(self) -> AnyArray:
        """Which annotators have a flag that their labels should be left out."""
        mask = np.zeros(self.consensus.annotations.n_annotators, dtype=bool)
        mask[[flag.annotator for flag in self.flags if flag.kind in UNTRUSTED]] = True
        return mask

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs with a flag that one copies, each once."""
        found = [
            (min(flag.annotator, flag.other), max(flag.annotator, flag.other))
            for flag in self.flags
            if flag.other is not None
        ]
        return list(dict.fromkeys(found))

    @cached_property
    def copying(self) -> list[list[int]]:
        """Groups of annotators who are not independent, in each the one to keep first.

        That is the one with the most labels; annotators to remove are in no group.
        """
        n_a = self.consensus.annotations.labels_per_annotator
        pairs = [pair for pair in self.pairs if not self.untrusted[list(pair)].any()]
        groups = _connected(pairs, len(n_a))
        return [sorted(group, key=lambda a: (-n_a[a], a)) for group in groups]

    @cached_property
    def spare(self) -> Bools:
        """Annotators to leave out because one who is not independent of them is kept."""
        mask = np.zeros(self.consensus.annotations.n_annotators, dtype=bool)
        mask[[a for group in self.copying for a in group[1:]]] = True
        return mask

    @cached_property
    def left_out(self) -> Bools:
        """Annotators to remove, and all but one of those who are not independent."""
        return np.asarray(self.untrusted | self.spare)

    @cached_property
    def level_errors(self) -> LevelErrors | None:
        """How many levels annotators are off; None if classes have no order."""
        return level_errors(self.consensus)

    @cached_property
    def weak(self) -> Bools:
        """Annotators without a flag whose labels help little, such as those mostly wrong."""
        quality = self.consensus.annotator_quality
        if self.consensus.annotations.kind != "classes":
            return np.zeros(len(quality), dtype=bool)
        flagged = np.zeros(len(quality), dtype=bool)
        flagged[[flag.annotator for flag in self.flags if flag.other is None]] = True
        weak = quality < 0.5 if self.level_errors is None else self.level_errors.is_weak_a
        return np.asarray(weak & ~flagged)

    def why_weak(self, annotator: int | None = None) -> str:
        """What makes annotators weak; of one of them with numbers, if there are some."""
        if self.level_errors is None:
            return "expected to be wrong more often than right"
        if annotator is None:
            return "expected to be off by more than half as many levels as labels at random"
        return self.level_errors.text(annotator)

    @cached_property
    def worse(self) -> Bools:
        """Annotators whose later labels are right less often, who need not be removed."""
        if self.trend is None:
            return np.zeros(self.consensus.annotations.n_annotators, dtype=bool)
        return np.asarray(self.trend.is_significant_a & (self.trend.change_a < 0) & ~self.untrusted)

    @cached_property
    def cells(self) -> ConfusionCells | None:
        """Confusions with the consensus; None for numbers."""
        return None if self.consensus.probabilities is None else confusion_cells(self.consensus)

    @cached_property
    def class_agreement(self) -> Mapping[str, AnyArray] | None:
        """Agreement with the others by annotator and class, as codes; None for numbers."""
        ann = self.consensus.annotations
        return None if self.cells is None else annotator_class_columns(ann)

    @cached_property
    def lowest_class_a(self) -> AnyArray:
        """The row of `class_agreement` in which an annotator agrees least; -1 if it is unknown.

        Classes that the annotator gave to fewer items than `MIN_SHARED` do not count, nor does
        an annotator with one class only.
        """
        lowest_a = np.full(self.consensus.annotations.n_annotators, -1)
        if self.class_agreement is None:
            return lowest_a
        who, agreement = self.class_agreement["annotator"], self.class_agreement["agreement"]
        enough = np.flatnonzero(self.class_agreement["n_shared"] >= MIN_SHARED)
        order = enough[np.lexsort((agreement[enough], who[enough]))]
        people, first, count = np.unique(who[order], return_index=True, return_counts=True)
        lowest_a[people[count > 1]] = order[first[count > 1]]
        return lowest_a

    @cached_property
    def mistakes(self) -> list[str]:
        """The most frequent mistake of every annotator, in words; empty if there is none."""
        n = self.consensus.annotations.n_annotators
        if self.cells is None:
            return [""] * n
        return [_typical_mistake(self.cells, a, self._short_names) for a in range(n)]

    @cached_property
    def biases(self) -> list[str]:
        """What every annotator says too often, or how far numbers are off; empty if nothing."""
        n = self.consensus.annotations.n_annotators
        if self.cells is None:
            bias_a, errors = self.agreement["bias"], self.errors or {}
            rows = zip(bias_a.tolist(), errors["scale"].tolist(), strict=True)
            return [_offset(*row) for row in rows]
        return [_overused(self.cells, a, self._short_names) for a in range(n)]

    @cached_property
    def errors(self) -> dict[str, Floats] | None:
        """Bias, scale and noise of annotators who gave numbers; None for classes."""
        return errors_of_numbers(self.consensus)

    @cached_property
    def class_names(self) -> list[str]:
        """The names that `cells` are about."""
        return class_names(self.consensus)

    @cached_property
    def _short_names(self) -> list[str]:
        """The same as parts of a sentence."""
        return [shown(name, 40) for name in self.class_names]

    def columns(self) -> dict[str, AnyArray]:
        """One row per annotator: the columns of the annotators table, and the reasons."""
        columns = self.consensus.annotator_columns()
        columns |= {
            name: self.agreement[name]
            for name in ("agreement", "correlation", "bias")
            if name in self.agreement
        }
        columns |= {name: each for name, each in (self.errors or {}).items() if name != "bias"}
        rows = range(self.consensus.annotations.n_annotators)
        columns |= self._lowest_columns()

        def text(parts: Any) -> AnyArray:
            return np.array(list(parts), dtype=object)

        return columns | self._time_columns() | {
            "mistake": text(self.mistakes),
            "tendency": text(self.biases),
            "flags": text("; ".join(flag.kind for flag in self.flags_of[a]) for a in rows),
            "evidence": text("; ".join(self._evidence(flag) for flag in self.flags_of[a])
                             for a in rows),
        }  # fmt: skip

    def _lowest_columns(self) -> dict[str, AnyArray]:
        """The class on which an annotator agrees least with the others; empty for numbers."""
        if self.class_agreement is None:
            return {}
        row_a, known = self.lowest_class_a, self.lowest_class_a >= 0
        name_a = np.full(len(row_a), "", dtype=object)
        value_a = np.full(len(row_a), np.nan)
        name_a[known] = np.array(self.class_names, dtype=object)[
            self.class_agreement["class"][row_a[known]]
        ]
        value_a[known] = self.class_agreement["agreement"][row_a[known]]
        return {"lowest_class": name_a, "lowest_agreement": value_a}

    def _time_columns(self) -> dict[str, AnyArray]:
        """Seconds per label and the change over time, where these are known."""
        columns: dict[str, AnyArray] = {}
        if self.pace is not None:
            columns |= {
                "seconds": self.pace.median_a, "seconds_low": self.pace.low_a,
                "seconds_high": self.pace.high_a, "fast": self.pace.is_fast_a,
            }  # fmt: skip
        if self.trend is not None:
            columns |= {
                "change": self.trend.change_a, "change_low": self.trend.low_a,
                "change_high": self.trend.high_a, "changed": self.trend.is_significant_a,
            }  # fmt: skip
        return columns

    def _evidence(self, flag: Flag) -> str:
        with_whom = "" if flag.other is None else f"with {self._name(flag.other)}: "
        return with_whom + flag.evidence

    def _name(self, code: int) -> str:
        return str(self.consensus.annotations.annotators[code])

    def to_frame(self) -> Any:
        """The columns as a frame of the library that the labels came from."""
        return make_frame(self.columns(), self.consensus.annotations.backend)


def profile_annotators(
    consensus: Consensus, *, agreement: Mapping[str, AnyArray] | None = None
) -> Profiles:
    """The profile of every annotator, with flags and their evidence.

    Quality and its interval come from the consensus, agreement and flags from the labels alone.
    Words fit people, models and LLM judges alike. If the labels have times, the profile has the
    seconds per label and the change of the quality over time. `agreement` are the columns of
    `agreement.by_annotator`, if they were computed already.
    """
    ann = consensus.annotations
    columns = annotator_columns(ann) if agreement is None else agreement
    return Profiles(
        consensus,
        tuple(flag_annotators(ann)),
        columns,
        annotator_pace(ann),
        annotator_trend(consensus),
    )


def _connected(pairs: list[tuple[int, int]], n: int) -> list[list[int]]:
    """The groups that pairs of 0 ... n - 1 connect, without those who are alone."""
    if not pairs:
        return []
    one, two = np.array(pairs).T
    graph = sparse.coo_array((np.ones(len(pairs)), (one, two)), shape=(n, n))
    _, group_a = sparse.csgraph.connected_components(graph, directed=False)
    members: dict[int, list[int]] = {}
    for a in np.unique([one, two]).tolist():
        members.setdefault(int(group_a[a]), []).append(a)
    return list(members.values())


def _typical_mistake(cells: ConfusionCells, annotator: int, classes: list[str]) -> str:
    at = cells.of(annotator)
    believed, label, count = cells.consensus[at], cells.label[at], cells.count[at]
    wrong = np.where(believed == label, 0, count)
    if len(wrong) == 0 or wrong.max() < MIN_MISTAKES:
        return ""
    top = int(wrong.argmax())
    of = int(count[believed == believed[top]].sum())
    if classes[label[top]] == NOTHING and label[top] == len(classes) - 1:
        return f"misses “{classes[believed[top]]}”, {count[top]} of {of} times"
    if classes[believed[top]] == NOTHING and believed[top] == len(classes) - 1:
        return f"adds “{classes[label[top]]}”, {count[top]} times"
    return f"“{classes[label[top]]}” for “{classes[believed[top]]}”, {count[top]} of {of} times"


def _overused(cells: ConfusionCells, annotator: int, classes: list[str]) -> str:
    at = cells.of(annotator)
    count = cells.count[at].astype(np.float64)
    said = np.bincount(cells.label[at], count, len(classes))
    believed = np.bincount(cells.consensus[at], count, len(classes))
    total = float(count.sum())
    if total == 0:
        return ""
    share = np.clip((believed + 1.0) / (total + 2.0), 0.0, 1.0)
    z: Floats = (said - believed) / np.sqrt(total * share * (1.0 - share) + 1e-9)
    if classes[-1:] == [NOTHING]:
        z = z[:-1]
    top = int(z.argmax())
    if z[top] < BIAS_Z:
        return ""
    return (
        f"says “{classes[top]}” {said[top]:.0f} times; the consensus of these items is "
        f"“{classes[top]}” {believed[top]:.0f} times"
    )


def _offset(bias: float, scale: float) -> str:
    """How far numbers are off, and whether their range is another than that of the crowd.

    >>> _offset(0.5, 0.6)
    '+0.5 from the mean of the others; narrower range: 0.6 for every 1 of the consensus'
    """
    parts = [] if np.isnan(bias) else [f"{bias:+.2g} from the mean of the others"]
    if not np.isnan(scale) and not NARROW <= scale <= 1.0 / NARROW:
        range_ = "narrower" if scale < 1 else "wider"
        parts.append(f"{range_} range: {scale:.2g} for every 1 of the consensus")
    return "; ".join(parts)
