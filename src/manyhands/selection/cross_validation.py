"""Class probabilities of items by classifiers that have not seen the labels of these items."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from manyhands.annotations import Annotations, Kind, Labels, Vocabulary, as_annotations
from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.core.settings import generator, require
from manyhands.engine.features import as_inputs
from manyhands.estimators import CrowdClassifier, CrowdMultilabelClassifier, estimator_for
from manyhands.estimators.labels import labels_of_rows


def out_of_sample(
    X: Any,
    annotations: Labels,
    *,
    X_items: Iterable[Any] | None = None,
    model: CrowdClassifier | CrowdMultilabelClassifier | None = None,
    folds: int = 5,
    seed: int = 0,
) -> tuple[Annotations, Floats]:
    """The labels with the rows of `X` as items, and class probabilities (i, k) of every row.

    The classifier is trained `folds` times, each time without the labels of a part of the items,
    and predicts that part. Rows without labels get the mean of all. `model` is the classifier,
    not fitted; by default a `CrowdClassifier`. A model that is fitted already is not trained again:
    its predictions are taken, and they should come from other labels.
    """
    given = as_annotations(annotations).kind
    kind: Kind = "multilabel" if given == "multilabel" else "classes"
    ann = labels_of_rows(annotations, kind, len(as_inputs(X)), X_items, X)
    if model is not None and hasattr(model, "classes_"):
        return ann, _in_order_of(ann, model, X)
    labelled = np.flatnonzero(ann.labels_per_item > 0)
    require(2 <= folds <= len(labelled), "folds", f"in 2..{len(labelled)}, the items", folds)
    part_i = np.full(ann.n_items, -1)
    part_i[generator(seed, "folds").permutation(labelled)] = np.arange(len(labelled)) % folds
    total_ik = np.zeros((ann.n_items, ann.n_classes))
    for part in range(folds):
        trained = estimator_for(kind)(seed=seed, progress=False) if model is None else model
        kept = ann.only(np.flatnonzero(part_i[ann.item] != part))
        p_ik = _in_order_of(ann, _fitted(trained, X, kept), X)
        total_ik += np.where(((part_i == part) | (part_i < 0))[:, None], p_ik, 0.0)
    if kind == "multilabel":  # the probability of each class by itself
        n_i = np.where(part_i < 0, folds, 1)
        return ann, total_ik / n_i[:, None]
    return ann, total_ik / total_ik.sum(axis=1, keepdims=True)


def _fitted(model: Any, X: Any, annotations: Annotations) -> Any:
    from sklearn.base import clone

    return clone(model).fit(X, annotations)


def _in_order_of(ann: Annotations, model: Any, X: Any) -> Floats:
    """The predictions of a model with a column for every class of the labels."""
    place_k = Vocabulary(ann.classes, "class").codes(model.classes_.tolist())
    if len(place_k) != ann.n_classes or np.any(place_k < 0):
        raise DataError(
            f"the model has the classes {', '.join(map(str, model.classes_))}, and the labels have "
            f"{', '.join(map(str, ann.classes))}: give all classes in the same order"
        )
    p_ik = np.empty((ann.n_items, ann.n_classes))
    p_ik[:, place_k] = model.predict_proba(X)
    return p_ik
