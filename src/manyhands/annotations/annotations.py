"""Annotations: which annotator gave which label to which item, sparse and immutable."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from manyhands.annotations.annotator_choice import AnnotatorChoice
from manyhands.annotations.class_columns import choose_label_columns
from manyhands.annotations.columns import arrow_columns, make_frame, open_frame
from manyhands.annotations.dense import dense_cells, dense_matrix, require_codes, require_no_label
from manyhands.annotations.grouping import (
    Duplicates,
    ItemArray,
    group_offsets,
    run_indices,
    stable_order,
)
from manyhands.annotations.html import HtmlTable
from manyhands.annotations.label_kinds import labels_as_kind
from manyhands.annotations.labels import USED, Kind, as_list, declared_classes, with_levels
from manyhands.annotations.rows import Rows, encode_rows, nested_columns
from manyhands.annotations.set_views import SetViews
from manyhands.annotations.source import Source
from manyhands.annotations.times import Times, encode_times, find_times
from manyhands.annotations.vocabulary import Vocabulary
from manyhands.core.arrays import AnyArray, Codes, Floats, Offsets, read_only
from manyhands.core.errors import DataError


@dataclass(frozen=True, eq=False, repr=False)
class Annotations(SetViews, AnnotatorChoice, ItemArray, HtmlTable):
    """Parallel arrays `item`, `annotator`, `label`, sorted by item and then by annotator.

    Labels are class codes (`kind` is "classes"), codes of sets of classes ("multilabel") or real
    numbers ("numbers"). Ordinal labels are classes with an order (`ordered`), from the lowest level
    to the highest. The object behaves as an array of items: `len`, `shape` and indexing go by item,
    so scikit-learn's splitters accept it as `y`. Memory grows with the number of annotations, never
    with items x annotators.

    >>> ann = Annotations.from_arrays(["a", "a", "b"], ["u", "w", "u"], ["cat", "dog", "cat"])
    >>> len(ann), ann.n_annotators, ann[1:].items.tolist()
    (2, 2, ['b'])
    """

    item: Codes
    annotator: Codes
    label: AnyArray
    item_vocabulary: Vocabulary
    annotator_vocabulary: Vocabulary
    class_vocabulary: Vocabulary | None
    backend: str = "pandas"
    source: Source | None = None  # the file they were read from, and how
    times: Times | None = None  # when labels were given and how long they took, if it is known

    @classmethod
    def from_rows(cls, rows: Rows, *, duplicates: Duplicates = "keep") -> "Annotations":
        """From encoded rows; a cell that cannot be used raises a `DataError` with its place."""
        rows = rows.in_order(duplicates)
        columns = read_only(rows.item), read_only(rows.annotator), read_only(rows.label)
        names = rows.items, rows.annotators, rows.classes
        return cls(*columns, *names, source=rows.read_from, times=rows.times)

    @classmethod
    def from_arrays(
        cls,
        item: Any,
        annotator: Any,
        label: Any,
        *,
        kind: Kind | None = None,
        items: Iterable[Any] | None = None,
        annotators: Iterable[Any] | None = None,
        classes: Iterable[Any] | None = None,
        levels: Iterable[Any] | None = None,
        missing: Any = (),
        duplicates: Duplicates = "keep",
        seconds: Any = None,
        time: Any = None,
        separator: str | None = None,
    ) -> "Annotations":
        """From three columns of equal length.

        `items`, `annotators` and `classes` list all names in code order; some may have no label.
        `kind="ordinal"` gives classes an order; `levels` lists them from lowest to highest.
        `kind="multilabel"` reads sets: lists, or texts split at `separator` (see `encode_sets`).
        Rows whose label is one of `missing` are dropped. `seconds` and `time` are columns too: how
        long each label took, and when it was given.
        """
        kind, classes = with_levels(kind, classes, levels)
        names: Any = {"items": items, "annotators": annotators, "classes": classes}
        more: Any = {"missing": as_list(missing), "separator": separator}
        rows = encode_rows(item, annotator, label, kind=kind, **names, **more)
        times = encode_times(seconds, time, len(rows))
        return cls.from_rows(replace(rows, times=times), duplicates=duplicates)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        item: str | None = None,
        annotator: str | None = None,
        label: str | None = None,
        *,
        kind: Kind | None = None,
        classes: Iterable[Any] | None = None,
        levels: Iterable[Any] | None = None,
        missing: Any = (),
        duplicates: Duplicates = "keep",
        seconds: str | None = None,
        time: str | None = None,
        separator: str | None = None,
    ) -> "Annotations":
        """From a long table (pandas, polars, pyarrow ...); other columns are found as in files."""
        kind, classes = with_levels(kind, classes, levels)
        table = open_frame(frame)
        chosen = choose_label_columns(
            table.columns, arrow_columns(table), item, annotator, label, kind, classes
        )
        if classes is None and chosen.classes is None:
            classes = declared_classes(table.get_column(chosen.names[2]).to_native(), kind)
        more: Any = {"missing": as_list(missing), "separator": separator}
        rows = encode_rows(*chosen.cells, kind=kind, classes=chosen.classes or classes, **more)
        given: Any = {"taken": chosen.names, "seconds": seconds, "time": time}
        times, *taken = find_times(table.columns, arrow_columns(table), rows.item, **given)
        found = cls.from_rows(replace(rows, times=times), duplicates=duplicates)
        source = replace(chosen.source(), seconds=taken[0], time=taken[1])
        return replace(found, backend=str(table.implementation), source=source)

    @classmethod
    def from_dense(
        cls,
        matrix: Any,
        missing: Any = -1,
        *,
        kind: Kind | None = None,
        items: Sequence[Any] | None = None,
        annotators: Sequence[Any] | None = None,
        classes: Iterable[Any] | None = None,
        separator: str | None = None,
    ) -> "Annotations":
        """From a matrix with a row per item and a column per annotator; NaN is always missing.

        >>> Annotations.from_dense([[0, -1], [1, 1]]).n_annotations
        3
        """
        require_codes(matrix, codes := as_list(missing))
        cells = dense_cells(matrix, codes, items, annotators)
        rows = encode_rows(**cells, kind=kind, classes=classes, separator=separator)
        return cls.from_rows(rows)

    @classmethod
    def from_dicts(
        cls,
        labels: Mapping[Any, Mapping[Any, Any]],
        *,
        kind: Kind | None = None,
        classes: Iterable[Any] | None = None,
        missing: Any = (),
    ) -> "Annotations":
        """From {item: {annotator: label}}; an empty dictionary is an unlabelled item."""
        columns = nested_columns(labels, sets=kind == "multilabel")
        return cls.from_arrays(*columns, items=labels, kind=kind, classes=classes, missing=missing)

    @property
    def kind(self) -> Kind:
        """One of classes, multilabel and numbers; `ordered` tells whether classes are levels."""
        classes: Any = self.class_vocabulary
        return "numbers" if classes is None else cast(Kind, classes.kind)

    @property
    def ordered(self) -> bool:
        """Whether the classes are levels, from lowest to highest: ordinal labels."""
        return self.class_vocabulary is not None and self.class_vocabulary.ordered

    @property
    def n_items(self) -> int:
        """Number of items, including unlabelled ones."""
        return len(self.item_vocabulary)

    @property
    def n_annotators(self) -> int:
        """Number of annotators."""
        return len(self.annotator_vocabulary)

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 if labels are numbers."""
        return 0 if self.class_vocabulary is None else len(self.classes)

    @property
    def n_annotations(self) -> int:
        """Number of labels."""
        return len(self.item)

    @property
    def items(self) -> AnyArray:
        """Item names in code order."""
        return self.item_vocabulary.names

    @property
    def annotators(self) -> AnyArray:
        """Annotator names in code order."""
        return self.annotator_vocabulary.names

    @property
    def classes(self) -> AnyArray:
        """Class names in code order; empty if labels are numbers."""
        return np.zeros(0) if self.class_vocabulary is None else self.class_vocabulary.class_names

    @cached_property
    def item_offsets(self) -> Offsets:
        """Item i has the annotations from `item_offsets[i]` up to `item_offsets[i + 1]`."""
        return read_only(group_offsets(self.item, self.n_items))

    @cached_property
    def annotator_offsets(self) -> Offsets:
        """The offsets of the annotators in `annotator_order`."""
        return read_only(group_offsets(self.annotator, self.n_annotators))

    @cached_property
    def annotator_order(self) -> Codes:
        """Positions of the annotations sorted by annotator, then by item."""
        return read_only(stable_order(self.annotator, self.n_annotators))

    @property
    def labels_per_item(self) -> Offsets:
        """Number of labels of every item."""
        return np.diff(self.item_offsets)

    @property
    def labels_per_annotator(self) -> Offsets:
        """Number of labels of every annotator."""
        return np.diff(self.annotator_offsets)

    def __len__(self) -> int:
        return self.n_items

    def __getitem__(self, key: Any) -> "Annotations":
        """The annotations of some items; annotators and classes keep their codes."""
        chosen = self.positions(key)
        counts = self.labels_per_item[chosen]
        return replace(
            self.only(run_indices(self.item_offsets, chosen)),
            item=read_only(np.repeat(np.arange(len(chosen), dtype=np.int32), counts)),
            item_vocabulary=Vocabulary(read_only(self.items[chosen]), "item"),
        )

    def only(self, kept: AnyArray) -> "Annotations":
        """Some of the annotations, by mask or by position; items and annotators stay the same."""
        return replace(
            self,
            item=read_only(self.item[kept]),
            annotator=read_only(self.annotator[kept]),
            label=read_only(self.label[kept]),
            times=self.times and self.times.only(kept),
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """One value per item: the most frequent code (-1: no label), or the mean of numbers.

        Stratified splitters use these values.
        """
        if self.kind == "numbers":
            total = np.bincount(self.item, weights=self.label, minlength=self.n_items)
            with np.errstate(invalid="ignore"):
                value_i: AnyArray = total / self.labels_per_item
        else:
            counts = self.label_counts()
            value_i = np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), -1)
        return value_i.astype(dtype) if dtype is not None else value_i

    def __repr__(self) -> str:
        noun = "levels" if self.ordered else "classes"
        what = "numbers" if self.kind == "numbers" else f"{self.n_classes} {noun}"
        what = f"sets of {what}" if self.kind == "multilabel" else what
        return (
            f"Annotations({self.n_annotations} labels of {self.n_items} items "
            f"by {self.n_annotators} annotators, {what})"
        )

    def label_counts(self) -> Floats:
        """Number of labels of each class that each item has, shape (i, k)."""
        if self.class_vocabulary is None:
            raise DataError("labels are numbers: there are no classes to count")
        return self.class_vocabulary.counts(self.item, self.label, self.n_items)

    def label_names(self) -> AnyArray:
        """The name of every label; a set as it is written in a table."""
        classes = self.class_vocabulary
        return self.label if classes is None else classes.names[self.label]

    def to_columns(self, *, times: bool = False) -> dict[str, AnyArray]:
        """The columns item, annotator and label of a long table, as names.

        With `times` also the columns seconds and time, where these are known.
        """
        item, annotator = self.items[self.item], self.annotators[self.annotator]
        columns = {"item": item, "annotator": annotator, "label": self.label_names()}
        return columns | self.times.columns() if times and self.times else columns

    def _preview(self, n_rows: int) -> dict[str, AnyArray]:
        return self.only(np.arange(min(n_rows, self.n_annotations))).to_columns(times=True)

    def to_frame(self, *, times: bool = False) -> Any:
        """A long table as `to_columns` has it, of the library the data came from."""
        return make_frame(self.to_columns(times=times), self.backend)

    def to_dense(self, missing: Any = -1) -> AnyArray:
        """The (item, annotator) matrix of label names; it has n_items x n_annotators cells.

        If an annotator labelled an item more than once, the last label counts. `missing` must not
        be a label.
        """
        classes = self.class_vocabulary
        require_no_label(missing, self.label if classes is None else classes.names)
        names, shape = self.label_names(), (self.n_items, self.n_annotators)
        return dense_matrix(shape, self.item, self.annotator, names, missing)

    def as_kind(self, kind: Kind) -> "Annotations":
        """The same labels as classes or as numbers; a `DataError` if that would lose something.

        "ordinal" are classes with an order: that of numbers, or of a scale that is known.
        "multilabel" are sets: all classes that an annotator said of an item are one set.
        """
        if kind == self.kind or (kind == "ordinal" and self.ordered):
            return self
        label, classes = labels_as_kind(self.label, self.class_vocabulary, kind)
        found = replace(self, label=read_only(label), class_vocabulary=classes)
        return from_rows_like(found, found.to_rows()) if kind == "multilabel" else found

    def extended(self, more: "Annotations") -> "Annotations":
        """These annotations and more; known names keep their codes, new names get the next ones."""
        more = more.as_kind(self.kind)
        return from_rows_like(self, self.to_rows().extended(more.to_rows()))

    def to_rows(self) -> Rows:
        """The annotations as the rows of a table, all of them usable."""
        used = np.full(len(self.item), USED, dtype=np.int8)
        return Rows(
            self.item, self.annotator, self.label, used, self.item_vocabulary,
            self.annotator_vocabulary, self.class_vocabulary, times=self.times,
        )  # fmt: skip


def from_rows_like(annotations: Annotations, rows: Rows) -> Annotations:
    """The annotations of some rows, for frames of the same library as other annotations."""
    return replace(Annotations.from_rows(rows), backend=annotations.backend)
