"""The labels that an estimator is given, as annotations whose items are the rows of features."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from manyhands.annotations import (
    Annotations,
    Kind,
    Labels,
    Vocabulary,
    as_annotations,
    form_of,
    items_in_order,
    one_annotator,
    reindex_items,
)
from manyhands.annotations.vocabulary import join_names
from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError


class SingleAnnotatorWarning(UserWarning):
    """Labels are one per row, as if of one annotator: nothing is learnt about annotators."""


def labels_of_rows(
    labels: Labels, kind: Kind, n_rows: int, items: Iterable[Any] | None, features: Any = None
) -> Annotations:
    """Labels of a crowd, of this kind, whose items are the rows of the features in their order.

    One label per row is taken as those of one annotator. Images have names of their own, which are
    matched with the items (`Images.matched`). The items of a long frame are matched with
    the index of a pandas frame of features, if it has all of them.
    """
    if labels is None:
        raise DataError(
            "fit requires y to be passed, but the target y is None: give the labels of the crowd"
        )
    form = form_of(labels)
    if form == "column":
        return _one_per_row(labels, kind, n_rows)
    annotations = require_annotations(labels, kind)
    if items is None and getattr(features, "has_names", False):
        items = features.matched(_labelled(annotations)).items
    elif items is None and form == "frame":
        items = _index_names(features, annotations)
    by_order = items is None and annotations.n_items == n_rows
    if by_order and form == "frame" and not items_in_order(labels):
        raise DataError(
            "the items of the frame are not in the order of their names, so that it is not clear "
            "which row of features belongs to which item: give X_items, the item of every row"
        )
    return align_items(annotations, n_rows, items)


def images_to_learn(features: Any, labels: Labels, kind: Kind, *, everything: bool) -> Any:
    """Images named as the items of the labels; those without labels only with `everything`.

    Nothing is learnt from an image without labels, so that it need not be decoded. Other features
    stay as they are.
    """
    if not getattr(features, "has_names", False) or labels is None or form_of(labels) == "column":
        return features
    wanted = _labelled(require_annotations(labels, kind))
    features = features.matched(wanted)
    if everything:
        return features
    return features[Vocabulary.of(wanted).codes(features.items.tolist()) >= 0]


def _labelled(annotations: Annotations) -> list[Any]:
    """The names of the items that have labels."""
    names: list[Any] = annotations.items[annotations.labels_per_item > 0].tolist()
    return names


def require_annotations(labels: Labels, kind: Kind = "classes") -> Annotations:
    """The labels of a crowd, of this kind, or an error that says how to make them."""
    try:
        given = as_annotations(labels)
        return given.as_kind(kind)
    except DataError as error:
        if form_of(labels) == "annotations" and labels.kind == "multilabel":
            raise DataError(f"y: {error}; sets are learnt by CrowdMultilabelClassifier") from None
        raise error.at("y") from None


def align_items(annotations: Annotations, n_rows: int, items: Iterable[Any] | None) -> Annotations:
    """The annotations with the rows of the features as items, in their order.

    Rows without labels become items without labels; labels without a row are refused.
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


def item_weights(sample_weight: Any, annotations: Annotations) -> Floats | None:
    """The weights of the rows, scaled to be 1 on average over items with labels; None for None."""
    if sample_weight is None:
        return None
    weight_i = np.asarray(sample_weight, dtype=np.float64)
    if weight_i.shape != (annotations.n_items,):
        raise DataError(
            f"sample_weight has shape {weight_i.shape} where {annotations.n_items} rows of "
            "features need one number each"
        )
    if not (np.isfinite(weight_i).all() and (weight_i >= 0).all()):
        raise DataError("sample_weight must be finite numbers from 0 up")
    mean = float(weight_i[annotations.labels_per_item > 0].mean())
    if not mean > 0:
        raise DataError("sample_weight: the weight of every item with labels is zero")
    return np.asarray(weight_i / mean)


def _index_names(features: Any, annotations: Annotations) -> list[Any] | None:
    """The index of a pandas frame of features if it names every item, each once; else None."""
    index = getattr(features, "index", None)
    if index is None or not hasattr(index, "is_unique") or not index.is_unique:
        return None
    names = list(index)
    found = Vocabulary.of(names, "item").codes(annotations.items.tolist()) >= 0
    return names if found.all() else None


def _one_per_row(labels: Labels, kind: Kind, n_rows: int) -> Annotations:
    try:
        annotations = one_annotator(labels)
    except DataError as error:
        raise error.at("y") from None
    if kind == "classes" and annotations.kind == "numbers":
        try:
            annotations = annotations.as_kind(kind)
        except DataError as error:  # the words that scikit-learn's users know
            raise error.at("y: Unknown label type: continuous") from None
    if annotations.n_items != n_rows:
        raise DataError(
            f"y: {annotations.n_items} labels for {n_rows} rows of features; give one per row"
        )
    warnings.warn(
        "y has one label per row: they are taken as those of one annotator. If they are a majority "
        "of several, give the labels themselves",
        SingleAnnotatorWarning,
        stacklevel=5,
    )
    return require_annotations(annotations, kind)
