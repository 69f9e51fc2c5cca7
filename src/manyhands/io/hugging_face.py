"""Datasets of the package `datasets` of Hugging Face, told by what they can do."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from manyhands.annotations.vocabulary import join_names
from manyhands.core.errors import DataError
from manyhands.io.images import Images
from manyhands.io.text_columns import TEXT, TEXT_PAIR

_NUMBERS = ("int", "uint", "float", "bool")
_TENSORS = ("torch", "custom")  # formats whose entries are dictionaries of tensors


def is_hugging_face(features: Any) -> bool:
    """Whether features are a dataset, or a dictionary of its splits, of Hugging Face."""
    return all(hasattr(features, name) for name in ("column_names", "with_format", "map"))


def gives_tensors(features: Any) -> bool:
    """Whether the entries of a dataset are dictionaries of tensors, by its format or transform."""
    form = getattr(features, "format", None)
    return isinstance(form, Mapping) and form.get("type") in _TENSORS


def features_of(dataset: Any) -> Any:
    """The features in a dataset of Hugging Face: its images, its texts, or its numbers.

    A dataset with the format "torch", or with a transform, stays as it is. Of other datasets the
    column of images is taken, else the column of texts, else all columns if they are numbers. The
    columns text and text_pair make pairs of texts.
    """
    if isinstance(dataset, Mapping):
        raise DataError(
            f"features: a dictionary of splits ({join_names(dataset)}); give one of them, such as "
            f"X[{next(iter(dataset), 'train')!r}]"
        )
    if not hasattr(dataset, "__len__"):
        raise DataError("features: a dataset must have a length; streamed ones do not")
    if len(dataset) == 0:
        raise DataError("features: the dataset has no rows")
    if gives_tensors(dataset):
        return dataset
    kinds = {str(name): _kind(dataset, str(name)) for name in dataset.column_names}
    images, texts = ([name for name in kinds if kinds[name] == kind] for kind in ("image", "text"))
    if not images and {TEXT, TEXT_PAIR} <= set(texts):
        return list(zip(_texts(dataset, TEXT), _texts(dataset, TEXT_PAIR), strict=True))
    texts = [TEXT] if TEXT in texts and len(texts) > 1 else texts
    if len(images) + len(texts) > 1:
        raise DataError(
            f"features: several columns may be the features: {join_names([*images, *texts])}; "
            f"choose one, such as X.select_columns([{[*images, *texts][0]!r}])"
        )
    if images:
        return _images(dataset, images[0])
    if texts:
        return _texts(dataset, texts[0])
    others = [name for name, kind in kinds.items() if kind != "numbers"]
    if others:
        raise DataError(
            f"features: the columns {join_names(others)} are neither images, texts nor numbers; "
            'leave them out, or give X.with_format("torch")'
        )
    return dataset.to_pandas()


def _texts(dataset: Any, column: str) -> list[str]:
    return ["" if text is None else str(text) for text in dataset[column]]


def _images(dataset: Any, column: str) -> Images:
    alone = dataset.select_columns([column])
    return Images.from_list([partial(_cell, alone, column, row) for row in range(len(alone))])


def _cell(dataset: Any, column: str, row: int) -> Any:
    return dataset[row][column]


def _kind(dataset: Any, name: str) -> str:
    """What a column holds: by its declared type, or by its first cell."""
    declared = getattr(dataset, "features", None) or {}
    feature = declared.get(name)
    if type(feature).__name__ == "Image":
        return "image"
    kind = str(getattr(feature, "dtype", ""))
    if kind in ("string", "large_string"):
        return "text"
    if kind.startswith(_NUMBERS):
        return "numbers"
    first = dataset[0][name]
    if hasattr(first, "convert") and hasattr(first, "size"):
        return "image"
    if isinstance(first, str):
        return "text"
    is_list = isinstance(first, Sequence)
    return "other" if is_list or not isinstance(first, int | float) else "numbers"
