"""Features of items: numbers or texts of a file, images of a folder."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manyhands.annotations.columns import is_candidate
from manyhands.annotations.vocabulary import (
    join_names,
    normalize_names,
    repeated,
)
from manyhands.core.arrays import AnyArray, object_array
from manyhands.core.errors import DataError, SettingError, SettingName
from manyhands.io.image_columns import image_column, images_of_column
from manyhands.io.images import Images, is_image_path, read_images
from manyhands.io.mapped_tables import map_numbers
from manyhands.io.tables import SUFFIXES, Table, format_of
from manyhands.io.text_columns import TEXT, TEXT_PAIR, pair_column, text_cells, text_column
from manyhands.io.texts import existing, read_texts

FEATURE_SUFFIXES = SUFFIXES | {".npy": "npy", ".npz": "npz", ".txt": "txt"}
_LEAVE_OUT = "leave the row out"


@dataclass(frozen=True)
class Features:
    """One row per item: `values` (i, ...) are numbers, (i,) texts, or `Images`; `items` the names.

    Pairs of texts are tuples.

    `names` are the names of the columns of numbers, if they have names, and `unused` those of
    columns beside a text or an image. `kind` tells what the values are: "numbers", "texts" or
    "images".
    """

    items: AnyArray
    values: Any
    names: list[str] | None = None
    unused: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    @property
    def kind(self) -> str:
        """What the features are: "numbers", "texts" or "images"."""
        if hasattr(self.values, "matched"):
            return "images"
        return "texts" if self.values.ndim == 1 else "numbers"

    @property
    def are_texts(self) -> bool:
        """Whether the features are texts."""
        return self.kind == "texts"

    @property
    def naming(self) -> str:
        """How images name their items (`Images.naming`); "" for other features."""
        return str(getattr(self.values, "naming", ""))

    def matched(self, items: Iterable[Any]) -> "Features":
        """The same features; images are named as these items are (`Images.matched`)."""
        return self if self.kind != "images" else self._of(self.values.matched(items))

    def named(self, naming: str) -> "Features":
        """The same features; images are named in this way (`Images.named`)."""
        return self if self.kind != "images" else self._of(self.values.named(naming))

    def _of(self, images: Images) -> "Features":
        return replace(self, items=images.items, values=images)

    @property
    def X(self) -> Any:  # noqa: N802
        """The features as estimators take them: a frame where the columns have names."""
        if self.names is None:
            return self.values
        from pandas import DataFrame

        return DataFrame(self.values, columns=self.names, copy=False)


def read_features(
    path: str | Path,
    *,
    item: str | None = None,
    text: str | None = None,
    text_pair: str | None = None,
    image: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
    mmap: bool = False,
) -> Features:
    """Read features of items; the suffix decides the format unless `format` is given.

    A table (.csv .tsv .parquet .jsonl) has a column of items, found by its name or given by `item`,
    and numbers in all other columns. If it has a column called text, or `text` names one, the
    features are these texts; with a column called text_pair, or named by `text_pair`, they are
    pairs (text, text_pair). If it has a column such as path, image or filename with names of image
    files, or `image` names one, the features are these images; paths are relative to the folder of
    the table. A folder is one of images (`read_images`). An array (.npy) has a row per item, and
    the items are 0, 1, 2 ...; an archive (.npz) holds such an array, and perhaps the names of its
    rows as `items`. The lines of a .txt file are texts of the items 0, 1, 2 ... An item with two
    rows is refused. The file may be packed (.gz .bz2 .xz .zst .zip) or an Excel workbook, of which
    `sheet` names a sheet. With `mmap` an array (.npy) that is not packed is mapped into memory:
    its rows are read when they are used. So are those of a Parquet table of numbers, which is
    copied into a temporary array, and whose columns then have no names.
    """
    if Path(path).is_dir():
        _require_no_column(path, text=text, text_pair=text_pair, image=image)
        images = read_images(path)
        return Features(images.items, images)
    if is_image_path(str(path)) and format is None:
        raise DataError(f"{path}: is one image; name the folder of the images")
    found = existing(path, sheet)
    kind = format_of(found, format, FEATURE_SUFFIXES)
    if kind == "npy":
        return _from_array(found, _load(found, mmap=mmap and not found.is_temporary))
    if kind == "npz":
        return _from_archive(found)
    if kind == "txt":
        _require_no_column(found, text=text, text_pair=text_pair, image=image)
        texts = read_texts(found, encoding=encoding)
        return Features(np.arange(len(texts)), texts)
    named = text is not None or text_pair is not None or image is not None
    if mmap and kind == "parquet" and not named:
        mapped = map_numbers(found, item)
        if mapped is not None:
            return _mapped_numbers(found, *mapped)
    return _of_table(Table(found, kind, encoding), item, text, text_pair, image)


def _mapped_numbers(path: Path, cells: list[Any], rows: AnyArray) -> Features:
    items = normalize_names(cells)
    _require_distinct(path, items)
    return Features(items, rows)


def _of_table(
    table: Table, item: str | None, text: str | None, text_pair: str | None, image: str | None
) -> Features:
    if text is not None and image is not None:
        raise SettingError("name either ", SettingName("text"), " or ", SettingName("image"))
    column = None if image is not None else text_column(table, text)
    if column is not None:
        return _texts(table, column, pair_column(table, column, text_pair), item)
    if text_pair is not None:
        raise SettingError(
            SettingName("text_pair"), " is the second text of a pair; name the first with ",
            SettingName("text", ...),
        )  # fmt: skip
    column = image_column(table, image, item)
    return _numbers(table, item) if column is None else _images(table, column, item)


def _require_no_column(path: str | Path, **columns: str | None) -> None:
    for name, given in columns.items():
        if given is not None:
            raise SettingError(SettingName(name), f" is a column of a table; {path} is none")


def _texts(table: Table, column: str, pair: str | None, item: str | None) -> Features:
    others = [name for name in table.columns if name not in (column, pair)]
    key = table.find_column("item", item, among=others) if others else None
    columns = table.select([name for name in (column, pair, key) if name is not None])
    texts = text_cells(table, TEXT, column, columns)
    if pair is not None:
        both = zip(texts, text_cells(table, TEXT_PAIR, pair, columns), strict=True)
        texts = list(both)
    items = np.arange(len(texts)) if key is None else _distinct(table, columns[key])
    unused = tuple(name for name in table.columns if name not in {column, pair, key})
    return Features(items, object_array(texts), unused=unused)


def _images(table: Table, column: str, item: str | None) -> Features:
    others = [name for name in table.columns if name != column]
    item = None if item == column else item
    named = item is not None or any(is_candidate(name, "item") for name in others)
    key = table.find_column("item", item, among=others) if named else None
    columns = table.select([name for name in (column, key) if name is not None])
    items = None if key is None else _distinct(table, columns[key])
    images = images_of_column(table, column, columns[column].to_pylist(), items)
    unused = tuple(name for name in table.columns if name not in {column, key})
    return Features(images.items, images, unused=unused)


def _numbers(table: Table, item: str | None) -> Features:
    key = table.find_column("item", item)
    names = [name for name in table.columns if name != key]
    if not names:
        raise DataError(f"{table.path}: has a column of items and no features")
    twice = repeated(names)
    if twice:
        raise DataError(f"{table.path}: the column {twice[0]!r} appears more than once")
    columns = table.select([key, *names])
    items = _distinct(table, columns[key])
    values = np.empty((len(items), len(names)))
    for position, name in enumerate(names):
        values[:, position] = _number_column(table, name, columns[name])
    return Features(items, values, names)


def _items(table: Table, column: Any) -> AnyArray:
    return normalize_names(table.filled("item", column, _LEAVE_OUT))


def _distinct(table: Table, column: Any) -> AnyArray:
    items = _items(table, column)
    _require_distinct(table.path, items)
    return items


def _require_distinct(path: Path, items: AnyArray) -> None:
    twice = repeated(items.tolist())
    if twice:
        raise DataError(
            f"{path}: more than one row for {join_names(map(repr, twice))}; an item has one row of "
            "features"
        )


def _number_column(table: Table, name: str, column: Any) -> AnyArray:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        numbers = pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        numbers = np.array([_number(cell) for cell in column.to_pylist()])
    except pa.ArrowNotImplementedError:
        raise DataError(f"{table.path}: column {name!r} holds {column.type}, not numbers") from None
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        cell = column[int(bad[0])].as_py()
        where = f"{table.place(int(bad[0]))}, column {name!r}: {cell!r} is"
        if is_image_path(cell):
            raise DataError(
                f"{where} no number; if it is an image, say so with ", SettingName("image", name)
            )
        raise DataError(
            f"{where} not a finite number; fill it in, or leave out the row or the column"
        )
    return np.asarray(numbers)


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return np.nan


def _from_archive(path: Path) -> Features:
    with _load(path) as archive:
        arrays = [name for name in archive.files if name != "items"]
        if len(arrays) != 1:
            listed = ", ".join(archive.files)
            raise DataError(
                f"{path}: expected one array of features, and perhaps `items`; it holds {listed}"
            )
        features = _from_array(path, _member(path, archive, arrays[0]))
        if "items" not in archive.files:
            return features
        names = _member(path, archive, "items")
    if names.ndim != 1 or names.dtype.kind not in "biufU":
        raise DataError(f"{path}: `items` must be names or numbers, one per row; got {names.dtype}")
    items = normalize_names(names.tolist())
    if len(items) != len(features.values):
        raise DataError(f"{path}: {len(items)} items for {len(features.values)} rows")
    _require_distinct(path, items)
    return Features(items, features.values)


def _from_array(path: Path, values: AnyArray) -> Features:
    if values.ndim < 2 or values.dtype.kind not in "biuf":
        raise DataError(
            f"{path}: expected an array of numbers with a row per item; got {values.dtype} of "
            f"shape {values.shape}"
        )
    return Features(np.arange(len(values)), values)


def _load(path: Path, *, mmap: bool = False) -> Any:
    try:
        return np.load(path, allow_pickle=False, mmap_mode="r" if mmap else None)
    except Exception:  # numpy, zip and zlib raise many kinds, and suggest to load pickles
        raise DataError(f"{path}: not a numpy file of numbers, or cut short") from None


def _member(path: Path, archive: Any, name: str) -> AnyArray:
    """An array of an archive, which is read only now."""
    try:
        return np.asarray(archive[name])
    except Exception:
        raise DataError(f"{path}: {name!r} is no array of numbers, or cut short") from None
