"""One part of the labels on disk: arrays that are mapped into memory when they are used."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from manyhands.aggregation.evidence import Evidence, nothing_known
from manyhands.annotations import Annotations, Vocabulary
from manyhands.core.arrays import AnyArray, Offsets, read_only
from manyhands.core.errors import DataError

_ARRAYS = ("item", "annotator", "label", "offsets", "known")


@dataclass(frozen=True, eq=False, repr=False)
class PartAnnotations(Annotations):
    """The labels of one part; the offsets of items are known already."""

    offsets: Offsets | None = None

    @property
    def item_offsets(self) -> Offsets:
        """Item i has the annotations from `item_offsets[i]` up to `item_offsets[i + 1]`."""
        assert self.offsets is not None, "a part is made with its offsets"
        return self.offsets


@dataclass(frozen=True, eq=False, repr=False)
class PartedAnnotations(Annotations):
    """What is known of labels that are in parts: how many there are, and who gave them."""

    n_named: int = 0
    n_labels: int = 0
    per_annotator: Offsets | None = None

    @classmethod
    def of(
        cls,
        n_items: int,
        per_annotator: Offsets,
        annotators: Vocabulary,
        classes: Vocabulary | None,
    ) -> "PartedAnnotations":
        """Labels of so many items by these annotators."""
        codes = np.zeros(0, dtype=np.int32)
        label = codes if classes is not None else np.zeros(0)
        names = Vocabulary(np.zeros(0, dtype=object), "item")
        n_labels = int(per_annotator.sum())
        return cls(
            codes, codes, label, names, annotators, classes,
            n_named=n_items, n_labels=n_labels, per_annotator=per_annotator,
        )  # fmt: skip

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.n_named

    @property
    def n_annotations(self) -> int:
        """Number of labels."""
        return self.n_labels

    @property
    def labels_per_annotator(self) -> Offsets:
        """Number of labels of every annotator."""
        assert self.per_annotator is not None, "labels in parts are made with these numbers"
        return self.per_annotator


def write_part(folder: Path, annotations: Annotations, known: AnyArray) -> None:
    """Write the labels of a part to a new folder."""
    folder.mkdir()
    arrays: tuple[AnyArray, ...] = (
        annotations.item, annotations.annotator, annotations.label, annotations.item_offsets, known
    )  # fmt: skip
    for name, array in zip(_ARRAYS, arrays, strict=True):
        np.save(folder / f"{name}.npy", array)
    names = annotations.items
    if names.dtype == object:
        with pa.OSFile(str(folder / "items.arrow"), "wb") as sink:
            batch = pa.record_batch([pa.array(names.tolist(), pa.string())], names=["item"])
            with pa.ipc.new_file(sink, batch.schema) as writer:
                writer.write_batch(batch)
    else:
        np.save(folder / "items.npy", names)


def read_part(
    folder: Path, annotators: Vocabulary, classes: Vocabulary | None, *, with_names: bool = False
) -> Evidence:
    """The labels of a part; names of items are read if they are asked for."""
    try:
        item, annotator, label, offsets, known = (
            _mapped(folder / f"{name}.npy") for name in _ARRAYS
        )
        names = _names(folder) if with_names else np.empty(len(offsets) - 1, dtype=np.int8)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(
            f"{folder}: a part of the labels is missing or damaged ({error}); begin again with "
            "another folder"
        ) from None
    annotations = PartAnnotations(
        item, annotator, label, Vocabulary(names, "item"), annotators, classes, offsets=offsets
    )
    return Evidence(annotations, known if len(known) else nothing_known())


def _mapped(path: Path) -> AnyArray:
    if path.stat().st_size == 0:
        raise ValueError(f"{path.name} is empty")
    array: AnyArray = np.load(path, mmap_mode="r", allow_pickle=False)
    return read_only(np.asarray(array))


def _names(folder: Path) -> AnyArray:
    if (folder / "items.npy").exists():
        return read_only(np.load(folder / "items.npy", allow_pickle=False))
    with pa.memory_map(str(folder / "items.arrow")) as source:
        column = pa.ipc.open_file(source).read_all().column(0)
        return read_only(column.to_numpy(zero_copy_only=False).astype(object))


def write_names(path: Path, vocabulary: Vocabulary | None) -> None:
    """Write a vocabulary as JSON."""
    names: Any = None
    if vocabulary is not None:
        names = {"kind": vocabulary.names.dtype.kind, "names": vocabulary.names.tolist()}
    path.write_text(json.dumps(names, ensure_ascii=True))


def read_names(path: Path, noun: str) -> Vocabulary | None:
    """A vocabulary that `write_names` wrote."""
    found = json.loads(path.read_text())
    if found is None:
        return None
    types: dict[str, Any] = {"i": np.int64, "b": np.bool_, "O": object}
    return Vocabulary(read_only(np.array(found["names"], dtype=types[found["kind"]])), noun)
