"""The first pass over tables of labels: who gave them, what they say, which items there are.

Nothing is kept of items but a sample. A file that cannot be read is left out as a whole.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manyhands.annotations import Vocabulary
from manyhands.annotations.rows import refusal
from manyhands.annotations.vocabulary import WHOLE_NUMBER, as_arrow, name_to_text
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.io.batches import BatchedTable
from manyhands.scale.label_survey import LabelCodes, LabelReading, LabelSurvey
from manyhands.scale.words import Place, Words

_MAX_SAMPLE = 100_000  # items of a file


@dataclass
class ItemSurvey:
    """A sample of the items of a file, one for `stride` rows each, and how they are named."""

    whole: bool = True  # whether all names are whole numbers
    stride: int = 1
    sample: list[Any] = field(default_factory=list)
    n_blank: int = 0
    blank: Place | None = None

    def add(self, column: Any, begin: Place) -> None:
        """Look at the items of a batch whose first row is at `begin`."""
        cells = as_arrow(column)
        if pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_decode()
        empty = pc.is_null(cells)
        if not pa.types.is_integer(cells.type):
            empty = pc.or_kleene(empty, pc.equal(pc.utf8_trim_whitespace(cells), ""))
            matches = pc.match_substring_regex(cells, WHOLE_NUMBER) if self.whole else None
            self.whole = self.whole and bool(pc.all(matches).as_py() in (True, None))
        rows = np.flatnonzero(empty.to_numpy(zero_copy_only=False))
        if len(rows):
            self.blank = self.blank or Place(begin.file, begin.row + int(rows[0]))
            self.n_blank += len(rows)
        taken = np.arange(-begin.row % self.stride, len(cells), self.stride)
        self.sample += cells.take(pa.array(taken)).to_pylist()
        while len(self.sample) > _MAX_SAMPLE:
            self.sample, self.stride = self.sample[::2], 2 * self.stride


@dataclass
class FileSurvey:
    """What one file has."""

    labels: LabelSurvey
    items: ItemSurvey = field(default_factory=ItemSurvey)
    annotators: Words = field(default_factory=Words)
    n_rows: int = 0

    def add(self, columns: Sequence[Any], file: int) -> None:
        """Look at a batch."""
        begin = Place(file, self.n_rows)
        item, annotator, label = columns
        self.items.add(item, begin)
        self.annotators.add(annotator, begin)
        self.labels.add(label, begin)
        self.n_rows += len(item)


@dataclass(frozen=True)
class Source:
    """Long tables in files, and the names of their three columns.

    `titles` are names of annotators, if every file has one who is not in a column.
    """

    tables: tuple[BatchedTable, ...]
    names: tuple[str, str, str]
    titles: tuple[str, ...] | None = None

    def batches(self, file: int, n_rows: int) -> Iterator[tuple[Any, Any, Any]]:
        """The columns item, annotator and label of a file, in batches."""
        item, annotator, label = self.names
        named = (item, label) if self.titles is not None else self.names
        for columns in self.tables[file].batches(named, n_rows):
            if self.titles is not None:
                title = pa.array([self.titles[file]])
                index = pa.array(np.zeros(len(columns[item]), dtype=np.int32))
                columns[annotator] = pa.DictionaryArray.from_arrays(index, title)
            yield columns[item], columns[annotator], columns[label]

    def place(self, at: Place) -> str:
        """The file and line of a row, for an error."""
        return self.tables[at.file].place(at.row)

    def cells(self, at: Place) -> tuple[object, object]:
        """Annotator and label of a row."""
        row = at.row
        for _, annotator, label in self.batches(at.file, 1 << 16):
            if row < len(label):
                return annotator[row].as_py(), label[row].as_py()
            row -= len(label)
        raise DataError(f"{self.tables[at.file].path}: was changed while it was read")


@dataclass(frozen=True)
class Survey:
    """What all files have together: names, codes of labels, and a sample of items."""

    files: tuple[int, ...]  # those that can be read
    n_rows: int
    whole_items: bool
    annotators: Vocabulary
    labels: LabelCodes
    item_sample: AnyArray
    label_sample: AnyArray
    corrupt: Mapping[str, str]  # why other files cannot be read

    def with_labels(self, codes: LabelCodes) -> "Survey":
        """The same with other codes of labels."""
        return replace(self, labels=codes)


def survey_labels(source: Source, reading: LabelReading, n_rows: int, skip: bool) -> Survey:
    """Look at all files once; `skip` leaves out those that cannot be read."""
    found: dict[int, FileSurvey] = {}
    corrupt: dict[str, str] = {}
    for file, table in enumerate(source.tables):
        seen = FileSurvey(LabelSurvey(reading))
        try:
            for columns in source.batches(file, n_rows):
                seen.add(columns, file)
        except DataError as error:
            if not skip or len(source.tables) == 1:
                raise
            corrupt[str(table.path)] = str(error)
            continue
        if seen.n_rows:
            found[file] = seen
    if not found:
        raise DataError(next(iter(corrupt.values()), "there is not a single label"))
    return _joined(source, reading, found, corrupt)


def _joined(
    source: Source, reading: LabelReading, found: Mapping[int, FileSurvey], corrupt: dict[str, str]
) -> Survey:
    annotators, labels = Words(), LabelSurvey(reading)
    for seen in found.values():
        annotators.merge(seen.annotators)
        labels.merge(seen.labels)
    codes = labels.coded(source.place, source.cells)
    _require_names(source, found, annotators)
    whole = all(seen.items.whole for seen in found.values())
    sample = _item_sample([seen.items for seen in found.values()], whole)
    return Survey(
        tuple(found), sum(seen.n_rows for seen in found.values()), whole,
        annotators.vocabulary("annotator"), codes, sample,
        np.concatenate(labels.sample) if labels.sample else np.zeros(0), corrupt,
    )  # fmt: skip


def _require_names(source: Source, found: Mapping[int, FileSurvey], annotators: Words) -> None:
    blank = [seen.items.blank for seen in found.values() if seen.items.blank is not None]
    if blank:
        n = sum(seen.items.n_blank for seen in found.values())
        raise refusal(source.place(blank[0]), n, "the item is blank", "every label needs one")
    code = annotators.codes.get("")
    if code is not None:
        where, n = source.place(annotators.first[code]), annotators.counts[code]
        raise refusal(where, n, "the annotator is blank", "every label needs one")


def _item_sample(items: Sequence[ItemSurvey], whole: bool) -> AnyArray:
    """Sorted names, each for the same number of rows."""
    stride = max(each.stride for each in items)
    names = [name for each in items for name in each.sample[:: stride // each.stride]]
    return sorted_names(names, whole)


def sorted_names(names: Sequence[Any], whole: bool) -> AnyArray:
    """Names of items in their order, as whole numbers or as text."""
    if whole:
        return np.sort(np.array([int(name) for name in names], dtype=np.int64))
    return np.array(sorted(map(name_to_text, names)), dtype=object)
