"""Which row of the features belongs to which item."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from manyhands.annotations import Annotations, Kind, Vocabulary, reindex_items
from manyhands.annotations.vocabulary import join_names
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError


def require_annotations(labels: Any, kind: Kind = "classes") -> Annotations:
    """Labels of a crowd, of this kind, or an error that says how to make them."""
    if not isinstance(labels, Annotations):
        raise DataError(
            f"y must be Annotations; got {type(labels).__name__}: make them with "
            "mh.read_annotations, Annotations.from_frame or Annotations.from_dense"
        )
    return labels.as_kind(kind)


def aligned(annotations: Annotations, n_rows: int, items: Iterable[Any] | None) -> Annotations:
    """The annotations with the rows of the features as items, in their order.

    Rows without labels are items without labels; labels without a row are refused.
    """
    if items is None:
        if n_rows != annotations.n_items:
            raise DataError(
                f"{n_rows} rows of features for {annotations.n_items} items; row i belongs to "
                "item i: give X_items, the item of every row, when it does not"
            )
        return annotations
    names = Vocabulary.of(items, "item")
    if len(names) != n_rows:
        raise DataError(f"{n_rows} rows of features and {len(names)} names in X_items")
    row_i = names.codes(annotations.items.tolist())
    lost = (row_i < 0) & (annotations.labels_per_item > 0)
    if lost.any():
        raise DataError(
            f"{int(lost.sum())} items have labels but no features: "
            f"{join_names(annotations.items[lost])}; add their features or leave the labels out"
        )
    return reindex_items(annotations, names)


def require_learnable(annotations: Annotations) -> None:
    """Refuse labels from which nothing can be learnt."""
    if annotations.n_annotations == 0:
        raise DataError("there is not a single label; nothing can be learnt")
    if annotations.kind == "classes" and annotations.n_classes < 2:
        raise DataError(
            f"every label says {annotations.classes[0]!r}: with a single class there is nothing to "
            "tell apart; name the others with classes="
        )


def truth_codes(truth: Any, annotations: Annotations) -> AnyArray | None:
    """The class code of every item's truth, -1 where it is not given."""
    if truth is None:
        return None
    vocabulary = annotations.class_vocabulary
    assert vocabulary is not None, "labels are classes here"
    if not isinstance(truth, Mapping):
        names = list(truth)
        if len(names) != annotations.n_items:
            raise DataError(f"{len(names)} truths for {annotations.n_items} items")
        return np.array([vocabulary.code(name) for name in names])
    codes = np.full(annotations.n_items, -1)
    row = annotations.item_vocabulary.codes(truth)
    for place, name in zip(row, truth.values(), strict=True):
        if place >= 0:
            codes[place] = vocabulary.code(name)
    return codes


def truth_numbers(truth: Any, annotations: Annotations) -> Floats | None:
    """The number of every item's truth, NaN where it is not given."""
    if truth is None:
        return None
    if not isinstance(truth, Mapping):
        given = list(truth)
        if len(given) != annotations.n_items:
            raise DataError(f"{len(given)} truths for {annotations.n_items} items")
        return _numbers(given)
    values = np.full(annotations.n_items, np.nan)
    row, given_i = annotations.item_vocabulary.codes(truth), _numbers(list(truth.values()))
    values[row[row >= 0]] = given_i[row >= 0]
    return values


def _numbers(given: list[Any]) -> Floats:
    try:
        values = np.array([float(value) for value in given], dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("truths must be numbers, as the labels are") from None
    if np.isinf(values).any():
        raise DataError("truths must be finite numbers")
    return values
