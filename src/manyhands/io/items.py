"""A file of labels of items, or of comparisons of items, by its name."""

from collections.abc import Iterable
from typing import Any, Literal, overload

from manyhands.annotations import Annotations, Comparisons, Kind
from manyhands.annotations.grouping import Duplicates
from manyhands.annotations.labels import with_levels
from manyhands.io.comparisons import PairFile, require_pair_settings
from manyhands.io.labels import ItemFile
from manyhands.io.opening import Paths


@overload
def read_annotations(
    path: Paths,
    *,
    kind: Literal["pairs"],
    format: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    missing: Any = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
) -> Comparisons: ...


@overload
def read_annotations(
    path: Paths,
    *,
    format: str | None = None,
    layout: str | None = None,
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    kind: Literal["classes", "numbers", "ordinal", "multilabel"] | None = None,
    classes: Iterable[Any] | None = None,
    levels: Iterable[Any] | None = None,
    missing: Any = None,
    duplicates: Duplicates = "keep",
    encoding: str = "utf-8",
    sheet: str | None = None,
    seconds: str | None = None,
    time: str | None = None,
    separator: str | None = None,
) -> Annotations: ...


def read_annotations(
    path: Paths,
    *,
    format: str | None = None,
    layout: str | None = None,
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    kind: Kind | None = None,
    classes: Iterable[Any] | None = None,
    levels: Iterable[Any] | None = None,
    missing: Any = None,
    duplicates: Duplicates = "keep",
    encoding: str = "utf-8",
    sheet: str | None = None,
    seconds: str | None = None,
    time: str | None = None,
    separator: str | None = None,
) -> Annotations | Comparisons:
    """Read a file of labels, or several.

    The suffix decides the format (.csv .tsv .parquet .jsonl: tables; .txt .npy: a dense matrix;
    .json: {item: {annotator: label}}) unless `format` is given. A table is long: one row per label,
    and three columns that are found by their names or given. `layout="wide"` means one row per item
    and one column per annotator, `layout="dense"` the same without a header.

    In a long table a blank label is an error unless `missing` lists what to drop ("" for blank).
    In a matrix -1, "?" and blank mean "no label" unless `missing` is given.

    `seconds` and `time` are the columns of how long each label took and when it was given. By
    default they are found by their names, such as lead_time and created_at.

    `kind="pairs"` reads comparisons of two items (see `read_comparisons`, which takes more
    settings); `label` is then the column of the winner, and the result is `Comparisons`.

    `kind="ordinal"` reads classes that have an order: numbers by their value, words of a scale that
    is known (bad, fair, good), or the `levels` that are listed, from lowest to highest.
    `kind="multilabel"` reads sets of classes: cells with lists or with names between separators
    (`separator`; by default ; | or ,), a column of 0 and 1 per class, or several rows per set.

    The file may be packed (.gz .bz2 .xz .zst .zip) or an Excel workbook, of which `sheet` names a
    sheet; `path` may name several files (see `read`).
    """
    if kind == "pairs":
        require_pair_settings(
            item=item, layout=layout, classes=classes, levels=levels, seconds=seconds, time=time,
            separator=separator,
        )  # fmt: skip
        return PairFile(
            path, format, annotator=annotator, winner=label, missing=missing, encoding=encoding,
            sheet=sheet,
        ).read()  # fmt: skip
    kind, classes = with_levels(kind, classes, levels)
    file = ItemFile(
        path, format, layout, item, annotator, label, kind, classes, missing, encoding, sheet,
        seconds, time, separator,
    )  # fmt: skip
    return Annotations.from_rows(file.rows(), duplicates=duplicates)
