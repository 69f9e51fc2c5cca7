"""Labels as a sparse count table: how often each item has each label.

Every coefficient is computed from this table, in time and memory that grow with the number of
labels. Labels are codes: of classes, of distinct numbers, or of distinct sets.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from manyhands.annotations import Annotations
from manyhands.annotations.grouping import duplicated_pairs, group_offsets
from manyhands.core.arrays import AnyArray, Codes, Floats, Offsets


@dataclass(frozen=True, eq=False)
class Sample:
    """How much every item and every annotator counts; all ones for the labels as they are.

    An item that is drawn twice is two items. An annotator who is drawn twice counts twice in every
    pair with another annotator, but is never paired with themself.
    """

    times_i: Floats  # how often an item was drawn
    mass_r: Floats  # labels of a run, each as often as its annotator was drawn
    labels_i: Floats  # labels of an item, likewise
    pairs_i: Floats  # ordered pairs of labels of two annotators, likewise
    squares_i: Floats  # squares of how often the annotators of an item were drawn

    @cached_property
    def is_paired_i(self) -> AnyArray:
        """Which items have labels of two annotators or more."""
        return np.asarray(self.pairs_i > 0.5)


@dataclass(frozen=True, eq=False)
class LabelRuns:
    """Runs of equal labels of one item; run r has the labels `starts[r]:starts[r + 1]`."""

    annotations: Annotations  # one label per item and annotator
    annotator_n: Codes  # sorted by item and then by code
    starts: Offsets
    item_r: Codes
    code_r: Codes
    n_codes: int

    @classmethod
    def of(cls, annotations: Annotations, code_n: AnyArray, n_codes: int) -> "LabelRuns":
        """The runs of labels that are given as codes, in the order of the annotations."""
        item_n = annotations.item.astype(np.int64)
        key_n = item_n * max(n_codes, 1) + code_n
        order = np.argsort(key_n, kind="stable")
        key_n = key_n[order]
        begins = np.flatnonzero(np.diff(key_n, prepend=-1))
        starts = np.append(begins, len(key_n)).astype(np.int64)
        item_r, code_r = np.divmod(key_n[begins], max(n_codes, 1))
        return cls(
            annotations, annotations.annotator[order], starts,
            item_r.astype(np.int32), code_r.astype(np.int32), n_codes,
        )  # fmt: skip

    @property
    def n_items(self) -> int:
        """Number of items, also of those without labels."""
        return self.annotations.n_items

    @cached_property
    def item_offsets(self) -> Offsets:
        """The runs of item i are `item_offsets[i]:item_offsets[i + 1]`."""
        return group_offsets(self.item_r, self.n_items)

    @cached_property
    def whole(self) -> Sample:
        """The labels as they are."""
        return self.sample()

    def sample(self, times_i: Any = None, times_a: Any = None) -> Sample:
        """Items and annotators drawn so many times; by default once."""
        given_i = np.ones(self.n_items) if times_i is None else times_i
        if times_a is None:
            mass_r = np.diff(self.starts).astype(np.float64)
            squares_i = self.sums(mass_r)
        else:
            weight_n = np.asarray(times_a, dtype=np.float64)[self.annotator_n]
            mass_r = self._run_sums(weight_n)
            squares_i = self.sums(self._run_sums(weight_n**2))
        labels_i = self.sums(mass_r)
        return Sample(given_i, mass_r, labels_i, labels_i**2 - squares_i, squares_i)

    def _run_sums(self, value_n: Floats) -> Floats:
        if len(value_n) == 0:
            return np.zeros(0)
        return np.asarray(np.add.reduceat(value_n, self.starts[:-1]))

    def sums(self, value_r: Floats) -> Floats:
        """The sum over the runs of every item."""
        sum_i = np.bincount(self.item_r, weights=value_r, minlength=self.n_items)
        return np.asarray(sum_i, dtype=np.float64)

    def margin(self, sample: Sample, weight_i: Floats) -> Floats:
        """How often every code is used, with a weight for the labels of every item."""
        weight_r = sample.mass_r * weight_i[self.item_r]
        count_k = np.bincount(self.code_r, weights=weight_r, minlength=self.n_codes)
        return np.asarray(count_k, dtype=np.float64)


def one_label_each(annotations: Annotations) -> Annotations:
    """The annotations with the last label of annotators who labelled an item several times."""
    repeated_n = duplicated_pairs(annotations.item, annotations.annotator)
    if not repeated_n.any():
        return annotations
    return annotations.only(~np.append(repeated_n[1:], False))


def same_labels(annotations: Annotations) -> Floats:
    """How many other labels of the item are the same, for every annotation of classes."""
    ann = annotations
    runs = LabelRuns.of(ann, ann.label, ann.n_classes)
    order = np.argsort(ann.item * np.int64(max(ann.n_classes, 1)) + ann.label, kind="stable")
    same_n = np.empty(len(order))
    same_n[order] = np.repeat(runs.whole.mass_r, np.diff(runs.starts)) - 1.0
    return same_n
