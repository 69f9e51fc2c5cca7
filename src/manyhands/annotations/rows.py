"""A label table in file order, encoded but not yet cleaned."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from manyhands.annotations.grouping import (
    DUPLICATES,
    Duplicates,
    duplicated_pairs,
    mask_duplicates,
    pair_order,
)
from manyhands.annotations.labels import (
    EMPTY,
    INFINITE,
    OUTSIDE,
    USED,
    Kind,
    LabelColumn,
    MixedLabelsError,
    encode_labels,
)
from manyhands.annotations.set_cells import holds_collections
from manyhands.annotations.set_columns import encode_sets
from manyhands.annotations.source import Source
from manyhands.annotations.times import Times, joined_times
from manyhands.annotations.vocabulary import BLANK, Vocabulary, encode, join_names
from manyhands.core.arrays import AnyArray, Codes
from manyhands.core.errors import DataError, SettingError, SettingName
from manyhands.core.kernels import run_blocks
from manyhands.core.settings import require_choice


class Part(NamedTuple):
    """Rows of one of several files that were read one after the other."""

    source: str
    first_line: int | None
    n_rows: int


@dataclass(frozen=True)
class Rows:
    """Parallel columns of codes, one entry per row of the table.

    A matrix has one entry per label; `row_of` is the row of the matrix of each entry. `state`
    tells whether a label can be used (see `labels`). `parts` are the files of the rows, if they
    are of several.
    """

    item: Codes
    annotator: Codes
    label: AnyArray
    state: AnyArray
    items: Vocabulary
    annotators: Vocabulary
    classes: Vocabulary | None
    source: str = ""
    first_line: int | None = None
    row_of: AnyArray | None = None
    read_from: Source | None = None
    parts: Sequence[Part] = ()
    times: Times | None = None

    def __len__(self) -> int:
        return len(self.item)

    def place(self, row: int) -> str:
        """The file and line of a row, or its number."""
        return place(self.source, self.first_line, row, self.row_of, self.parts)

    def usable(self) -> AnyArray:
        """Positions of the rows whose three cells can be used."""
        named = (self.item >= 0) & (self.annotator >= 0)
        return np.flatnonzero(named & (self.state == USED))

    def only(self, kept: AnyArray) -> "Rows":
        """Some of the rows, by mask or by position; their places in the file are not kept."""
        return replace(
            self, item=self.item[kept], annotator=self.annotator[kept], label=self.label[kept],
            state=self.state[kept], times=self.times and self.times.only(kept),
        )  # fmt: skip

    def in_order(self, duplicates: Duplicates) -> "Rows":
        """The used rows, sorted by item and annotator; `duplicates` tells which repeats are kept.

        Where all are kept, sets of one item by one annotator are joined: rows may be parts of it.
        A cell that cannot be used raises a `DataError` with its place.
        """
        require_choice("duplicates", duplicates, DUPLICATES)
        self.require_usable()
        rows = self.only(np.flatnonzero(self.state == USED)) if self.state.any() else self
        order = pair_order(rows.item, rows.annotator, len(rows.items), len(rows.annotators))
        if order is not None:
            rows = rows.only(order)
        if duplicates == "keep" and rows.classes is not None and rows.classes.joins_repeats:
            return rows.joined()
        names = rows.items.names, rows.annotators.names
        kept = mask_duplicates(rows.item, rows.annotator, duplicates, *names)
        return rows if kept is None else rows.only(kept)

    def joined(self) -> "Rows":
        """One row for each of the sorted pairs of item and annotator: the union of its sets."""
        repeated = duplicated_pairs(self.item, self.annotator)
        if not repeated.any():
            return self
        sets: Any = self.classes
        group = np.cumsum(~repeated, dtype=np.int32) - 1
        label, classes = sets.joined(self.label, group, int(group[-1]) + 1)
        return replace(self.only(~repeated), label=label, classes=classes)

    def to_rows(self) -> "Rows":
        """These rows, as `Annotations.to_rows` gives those of annotations."""
        return self

    def extended(self, more: "Rows") -> "Rows":
        """These rows and more; known names keep their codes, new names get the next ones."""
        items = self.items.extended(more.items)
        annotators = self.annotators.extended(more.annotators)
        label, classes = more.label, self.classes
        if classes is not None and more.classes is not None:
            classes = classes.extended(more.classes)
            label = classes.codes_of(more.classes)[label]
        item = items.codes(more.items.names)[more.item]
        annotator = annotators.codes(more.annotators.names)[more.annotator]
        return Rows(
            np.concatenate([self.item, item]), np.concatenate([self.annotator, annotator]),
            np.concatenate([self.label, label]), np.concatenate([self.state, more.state]),
            items, annotators, classes,
            times=joined_times(self.times, len(self), more.times, len(more)),
        )  # fmt: skip

    def require_usable(self) -> None:
        """Raise a `DataError` with the place of the first cell that cannot be used."""
        if len(self) and min(self.item.min(), self.annotator.min()) >= 0 and not self.state.any():
            return
        for column, codes, names in (
            ("item", self.item, self.items),
            ("annotator", self.annotator, self.annotators),
        ):
            _refuse(self, codes == BLANK, f"the {column} is blank", "every label needs one")
            _refuse(self, codes < 0, f"this {column} is not among the {len(names)} listed")
        drop = ("drop such rows with ", SettingName("missing", ""))
        is_set = self.classes is not None and self.classes.joins_repeats
        blank = f"the label is blank{'; write [] for a set without classes' * is_set}"
        _refuse(self, self.state == EMPTY, blank, *drop)
        if self.classes is not None:
            known = f"they are {join_names(self.classes.class_names)}"
            _refuse(self, self.state == OUTSIDE, "the label is outside the classes", known)
        _refuse(self, self.state == INFINITE, "the label is infinite", "give a finite number")


def place(
    source: str,
    first_line: int | None,
    row: int,
    row_of: AnyArray | None = None,
    parts: Sequence[Part] = (),
) -> str:
    """The place of a row: its line if the file has one line per row, otherwise its number.

    >>> place("labels.csv", 2, 0), place("", None, 4)
    ('labels.csv, line 2', 'row 5')
    """
    row = row if row_of is None else int(row_of[row])
    for part in parts:
        if row < part.n_rows:
            return place(part.source, part.first_line, row)
        row -= part.n_rows
    where = f"row {row + 1}" if first_line is None else f"line {row + first_line}"
    return f"{source}, {where}" if source else where


def nested_columns(
    labels: Mapping[Any, Mapping[Any, Any]], *, sets: bool = False
) -> list[list[Any]]:
    """The columns item, annotator and label of {item: {annotator: label}}; `sets` may be lists.

    >>> nested_columns({"a": {"u": 1, "w": 2}, "b": {}})
    [['a', 'a'], ['u', 'w'], [1, 2]]
    """
    rows = [
        (i, a, label) for i, by_annotator in labels.items() for a, label in by_annotator.items()
    ]
    for item, annotator, label in rows:
        if isinstance(label, dict) or (isinstance(label, list) and not sets):
            raise DataError(
                f"item {item!r}: the label of {annotator!r} is {str(label)[:40]}, which is neither "
                "a class nor a number; expected {item: {annotator: label}}"
            )
    return [[row[column] for row in rows] for column in range(3)]


def encode_rows(
    item: Any,
    annotator: Any,
    label: Any,
    *,
    kind: Kind | None = None,
    items: Iterable[Any] | None = None,
    annotators: Iterable[Any] | None = None,
    classes: Iterable[Any] | None = None,
    missing: Iterable[Any] = (),
    source: str = "",
    first_line: int | None = None,
    row_of: AnyArray | None = None,
    parts: Sequence[Part] = (),
    separator: str | None = None,
) -> Rows:
    """Encode three columns; `items` and `annotators` list the names in code order."""
    if kind is None and holds_collections(label):
        if source:
            sets = SettingName("kind", "multilabel")
            raise DataError(f"{source}: labels are lists; read them as sets of classes with ", sets)
        kind = "multilabel"
    if separator is not None and kind != "multilabel":
        of_sets = SettingName("kind", "multilabel")
        raise SettingError(SettingName("separator"), " is for sets of classes: ", of_sets)
    for noun, column in (("item", item), ("annotator", annotator), ("label", label)):
        if getattr(column, "ndim", 1) != 1:
            raise DataError(f"{noun} must be one column; got an array of shape {column.shape}")
    if not len(item) == len(annotator) == len(label):
        raise DataError(
            "item, annotator and label differ in length: "
            f"{len(item)}, {len(annotator)}, {len(label)}"
        )
    try:
        work: list[Callable[[], Any]] = [
            lambda: _encode_labels(label, kind, classes, missing, separator),
            lambda: _encode_names(item, "item", items),
            lambda: _encode_names(annotator, "annotator", annotators),
        ]
        labels, (item_codes, item_names), (annotator_codes, annotator_names) = run_blocks(
            lambda encode_column: encode_column(), work
        )
    except MixedLabelsError as error:
        raise error.at(place(source, first_line, error.row, row_of, parts)) from None
    except DataError as error:
        raise (error.at(source) if source else error) from None
    return Rows(
        item_codes, annotator_codes, labels.values, labels.state,
        item_names, annotator_names, labels.classes, source, first_line, row_of, parts=parts,
    )  # fmt: skip


def _encode_labels(
    values: Any,
    kind: Kind | None,
    classes: Iterable[Any] | None,
    missing: Iterable[Any],
    separator: str | None,
) -> LabelColumn:
    if kind == "multilabel":
        return encode_sets(values, classes=classes, missing=missing, separator=separator)
    return encode_labels(values, kind=kind, classes=classes, missing=missing)


def _encode_names(values: Any, noun: str, given: Iterable[Any] | None) -> tuple[Codes, Vocabulary]:
    codes, found = encode(values, noun)
    if given is None:
        return codes, found
    names = Vocabulary.of(given, noun)
    recode = np.append(names.codes(found.names.tolist()), [BLANK, -1]).astype(np.int32)
    return recode[codes], names


def _refuse(rows: Rows, broken: AnyArray, what: str, *remedy: str | SettingName) -> None:
    bad = np.flatnonzero(broken)
    if len(bad):
        raise refusal(rows.place(int(bad[0])), len(bad), what, *remedy)


def refusal(where: str, n_rows: int, what: str, *remedy: str | SettingName) -> DataError:
    """The error for rows that cannot be used, the first of which is at `where`."""
    others = f" (and {n_rows - 1} more rows)" if n_rows > 1 else ""
    tail = ("; ", *remedy) if remedy else ()
    return DataError(f"{where}: {what}{others}", *tail)
