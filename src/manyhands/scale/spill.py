"""The second pass over tables of labels: labels are divided by item into parts on disk.

A part holds the labels of a range of items, in the order of the files. Ranges come from a sample,
so that parts have about the same size. Parts are then coded and sorted one at a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from manyhands.aggregation.evidence import gather_evidence, nothing_known
from manyhands.annotations import Annotations, Vocabulary
from manyhands.annotations.grouping import Duplicates, duplicated_pairs, repeats_error, stable_order
from manyhands.annotations.labels import DROPPED, USED
from manyhands.annotations.rows import Rows
from manyhands.annotations.vocabulary import as_arrow, encode, name_to_text
from manyhands.core.arrays import AnyArray, Codes, Offsets
from manyhands.core.errors import DataError
from manyhands.scale.label_survey import LabelCodes
from manyhands.scale.part_file import write_part
from manyhands.scale.survey import Source, Survey
from manyhands.scale.words import WordCodes


@dataclass(frozen=True)
class PartCounts:
    """How many items a part has, and how many labels each annotator gave there."""

    n_items: int
    per_annotator: Offsets


@dataclass(frozen=True)
class Naming:
    """How labels of all parts are coded: what `Rows` need beside the codes of a part."""

    annotators: Vocabulary
    classes: Vocabulary | None
    whole_items: bool
    duplicates: Duplicates = "keep"

    def annotations(self, item: Any, annotator: Codes, label: AnyArray) -> Annotations:
        """The labels of one part; a label that is dropped is -1 or NaN, and its item stays.

        Repeats that are refused are kept here, to be counted.
        """
        codes, items = encode(item, "item", as_text=not self.whole_items)
        dropped = np.isnan(label) if self.classes is None else label < 0
        state = np.where(dropped, DROPPED, USED).astype(np.int8)
        rows = Rows(codes, annotator, label, state, items, self.annotators, self.classes)
        policy = "keep" if self.duplicates == "refuse" else self.duplicates
        return Annotations.from_rows(rows, duplicates=policy)


class RowCodes:
    """How the rows of a batch are coded: names of items, codes of annotators and of labels."""

    def __init__(self, annotators: Vocabulary, labels: LabelCodes, whole_items: bool) -> None:
        self._annotators, self._labels = WordCodes.of(annotators), labels
        self._whole_items = whole_items
        label_type = pa.float64() if labels.classes is None else pa.int32()
        item_type = pa.int64() if whole_items else pa.string()
        types = (item_type, pa.int32(), label_type)
        self.schema = pa.schema(list(zip(("item", "annotator", "label"), types, strict=True)))

    def __call__(self, item: Any, annotator: Any, label: Any) -> pa.RecordBatch:
        """The coded rows; a label that is dropped is -1 or NaN."""
        columns = [
            item_names(item, self._whole_items),
            pa.array(self._annotators(annotator)),
            pa.array(self._labels(label), self.schema.types[2]),
        ]
        return pa.record_batch(columns, schema=self.schema)


def spill_labels(
    source: Source, survey: Survey, folder: Path, n_parts: int, n_rows: int
) -> list[Path]:
    """Write the rows of every part to a file; the files of parts that have rows, in their order."""
    splits = split_items(survey.item_sample, n_parts)
    code = RowCodes(survey.annotators, survey.labels, survey.whole_items)
    paths = [folder / f"rows-{part:05d}.arrow" for part in range(len(splits) + 1)]
    writers: dict[int, Any] = {}
    try:
        for file in survey.files:
            for columns in source.batches(file, n_rows):
                for part, rows in divided(code(*columns), splits):
                    if part not in writers:
                        writers[part] = pa.ipc.new_stream(str(paths[part]), code.schema)
                    writers[part].write_batch(rows)
    finally:
        for writer in writers.values():
            writer.close()
    return [paths[part] for part in sorted(writers)]


def split_items(sample: AnyArray, n_parts: int) -> AnyArray:
    """Items of a sorted sample that divide the labels into parts of about the same size."""
    if len(sample) == 0:
        return sample
    return np.asarray(np.unique(sample[np.arange(1, n_parts) * len(sample) // n_parts]))


def item_names(column: Any, whole: bool) -> pa.Array:
    """Names of items as whole numbers or as text."""
    cells = as_arrow(column)
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    return cells.cast(pa.int64() if whole else pa.string())


def divided(batch: pa.RecordBatch, splits: AnyArray) -> list[tuple[int, pa.RecordBatch]]:
    """The rows of each part among some rows, in their order."""
    names = batch.column(0)
    if len(splits) == 0 or batch.num_rows == 0:
        return [(0, batch)] if batch.num_rows else []
    if pa.types.is_integer(names.type):
        part = np.searchsorted(splits, names.to_numpy(), side="right").astype(np.int32)
    else:
        coded = names.dictionary_encode()
        words = coded.dictionary.to_numpy(zero_copy_only=False)
        of_word = np.searchsorted(splits, words, side="right").astype(np.int32)
        part = of_word[coded.indices.to_numpy()]
    first, last = int(part.min()), int(part.max())
    if first == last:
        return [(first, batch)]
    order = stable_order(part - first, last - first + 1)
    ranked = batch.take(pa.array(order))
    ends = np.cumsum(np.bincount(part - first, minlength=last - first + 1))
    begins = np.concatenate([[0], ends[:-1]])
    return [
        (first + place, ranked.slice(begin, end - begin))
        for place, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True))
        if end > begin
    ]


class Refused:
    """Repeats of all parts where they are refused: the first pair, and their number."""

    def __init__(self) -> None:
        self.n_repeats = 0
        self._first: tuple[object, object] | None = None

    def look(self, annotations: Annotations) -> None:
        """Count the repeats of a part."""
        ann = annotations
        repeated = np.flatnonzero(duplicated_pairs(ann.item, ann.annotator))
        self.n_repeats += len(repeated)
        if len(repeated) and self._first is None:
            n = int(repeated[0])
            self._first = (ann.annotators[ann.annotator[n]], ann.items[ann.item[n]])

    def check(self) -> None:
        """Raise a `DataError` if there are any."""
        if self._first is not None:
            raise repeats_error(*self._first, self.n_repeats)


def code_parts(
    paths: list[Path], folder: Path, naming: Naming, known: Mapping[Any, Any]
) -> list[PartCounts]:
    """Code and sort the rows of every part; the files of rows are removed."""
    refused, counts = Refused(), []
    left = {name_to_text(item): truth for item, truth in known.items()}
    for part, path in enumerate(paths):
        with pa.memory_map(str(path)) as stream:
            table = pa.ipc.open_stream(stream).read_all()
        label = table.column(2).to_numpy().copy()
        annotations = naming.annotations(table.column(0), table.column(1).to_numpy().copy(), label)
        if naming.duplicates == "refuse":
            refused.look(annotations)
        write_part(folder / f"part-{part:05d}", annotations, known_codes(annotations, left))
        per_annotator = np.bincount(annotations.annotator, minlength=len(naming.annotators))
        counts.append(PartCounts(annotations.n_items, per_annotator))
        del table
        path.unlink()
    refused.check()
    if left:
        unlabelled = next(iter(left))
        raise DataError(f"known truth of item {unlabelled!r}, which nobody labelled; leave it out")
    return counts


def known_codes(annotations: Annotations, left: dict[str, Any]) -> AnyArray:
    """The known truths of the items of a part, which are taken out of those that are left."""
    if not left:
        return nothing_known()
    names = {name_to_text(name) for name in annotations.items.tolist()} & left.keys()
    if not names:
        return nothing_known()
    return gather_evidence(annotations, {name: left.pop(name) for name in sorted(names)}).known
