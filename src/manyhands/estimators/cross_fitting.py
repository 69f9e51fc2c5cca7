"""Cross-fitting: every item judged by a model that was trained without its labels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from manyhands.aggregation import Consensus, Quality
from manyhands.annotations import Annotations, Vocabulary
from manyhands.core.arrays import AnyArray, Bools, Codes, read_only
from manyhands.core.errors import DataError, SettingError
from manyhands.core.settings import generator, require
from manyhands.engine.encoders import known_features
from manyhands.engine.task import NEEDS_FEATURES
from manyhands.estimators.base import CrowdEstimator
from manyhands.estimators.many import fit_each

FOLDS = 5  # of `cross_fit=True`
_MOSTLY = 0.5  # of the items; labels of new items that have the same names may be equal by chance


def n_folds(cross_fit: bool | int) -> int:
    """The number of folds that a value of `cross_fit` stands for; 0 for none."""
    if isinstance(cross_fit, bool | np.bool_):
        return FOLDS if cross_fit else 0
    whole = isinstance(cross_fit, int | np.integer)
    rule = "True, False or a number of folds from 2 up"
    require(whole and cross_fit >= 2, "cross_fit", rule, cross_fit)
    return int(cross_fit)


def draw_folds(is_labelled_u: Bools, n: int, seed: int) -> Codes:
    """The fold of every unit, an item or a sentence: drawn by the seed, equal in labelled units.

    >>> draw_folds(np.array([True, True, False, True, True]), 2, seed=0).tolist()
    [1, 0, 0, 0, 1]
    """
    rng = generator(seed, "folds")
    n_labelled = int(is_labelled_u.sum())
    if n_labelled < n:
        raise DataError(
            f"cross_fit is {n}, and {n_labelled} items, or sentences, have labels; each fold needs "
            "one: give a smaller number"
        )
    groups = np.flatnonzero(is_labelled_u), np.flatnonzero(~is_labelled_u)
    order = np.concatenate([rng.permutation(units) for units in groups])
    fold_u = np.empty(len(order), dtype=np.int32)
    fold_u[order] = np.arange(len(order)) % n
    return fold_u


def cross_fitted_posterior(
    estimator: CrowdEstimator,
    features: Any,
    annotations: Annotations,
    fold_i: Codes,
    items: Iterable[Any] | None = None,
) -> Consensus:
    """The consensus of network and labels, with a model of its own for the items of every fold.

    Each model is a copy of the estimator, trained on the labels of the other folds: neither the
    network nor the annotators have seen a label of the items that they judge. `annotations` have
    an item for every row of the features. An annotator without labels in the other folds is taken
    as an average one. Where the estimator has a checkpoint, each fold has a folder in it, and
    training continues from there.
    """
    if estimator._resolve_method().needs_truth:
        raise SettingError("cross_fit is for methods that learn from labels; this one needs truth")
    n = int(fold_i.max()) + 1
    fold_n = fold_i[annotations.item]
    models = [_copy(estimator, number) for number in range(n)]
    given = None if items is None else list(items)
    fit_each(
        models, features, [_active(annotations.only(fold_n != number)) for number in range(n)],
        {"X_items": given, "resume": estimator.checkpoint is not None or None},
    )  # fmt: skip
    # A model also judges items of other folds here, whose labels it has learnt: they are left out.
    parts = [model._posterior(*model._encode(features, annotations, given)) for model in models]
    return _joined(annotations, parts, fold_i)


def n_rows(features: Any) -> int:
    """The number of rows of features in any form that estimators take."""
    features = known_features(features)
    if isinstance(features, Mapping):  # tensors by name
        features = next(iter(features.values()))
    return int(features.shape[0]) if hasattr(features, "shape") else len(features)


def count_trained(annotations: Annotations, trained: Annotations) -> tuple[int, int]:
    """How many of the labelled items have only labels that a model was trained on, and of how many.

    >>> trained = Annotations.from_arrays([0, 0, 1], ["u", "v", "u"], ["a", "b", "b"])
    >>> count_trained(trained[1:], trained), count_trained(trained.only([0, 1]), trained[1:])
    ((1, 1), (0, 1))
    """
    item_n = trained.item_vocabulary.codes(annotations.items.tolist())[annotations.item]
    names = annotations.annotators.tolist()
    annotator_n = trained.annotator_vocabulary.codes(names)[annotations.annotator]
    _, label_m = np.unique(
        np.concatenate([trained.label_names(), annotations.label_names()]).astype(str),
        return_inverse=True,
    )
    label_m = label_m.astype(np.int64)
    sizes = trained.n_annotators, int(label_m.max(initial=0)) + 1

    def key(item: AnyArray, annotator: AnyArray, label: AnyArray) -> AnyArray:
        return np.asarray((item.astype(np.int64) * sizes[0] + annotator) * sizes[1] + label)

    n_trained = trained.n_annotations
    known = key(trained.item, trained.annotator, label_m[:n_trained])
    is_new_n = (item_n < 0) | (annotator_n < 0)
    is_new_n |= ~np.isin(key(item_n, annotator_n, label_m[n_trained:]), known)
    n_new_i = np.bincount(annotations.item[is_new_n], minlength=annotations.n_items)
    labelled = annotations.labels_per_item > 0
    return int((n_new_i[labelled] == 0).sum()), int(labelled.sum())


def with_warning(
    found: Consensus, annotations: Annotations, trained: Annotations | None
) -> Consensus:
    """The consensus of a model; it says so if most items are those that the model has learnt."""
    if trained is None:
        return found
    n_same, n_labelled = count_trained(annotations, trained)
    if n_same <= _MOSTLY * n_labelled:
        return found
    text = (
        f"the network was trained on the labels of {n_same} of these {n_labelled} items, and may "
        "repeat their mistakes: infer(X, annotations, cross_fit=True) judges every item by a model "
        "that was trained without its labels"
    )
    return replace(found, warnings=(*found.warnings, text))


def _copy(estimator: CrowdEstimator, number: int) -> CrowdEstimator:
    model: CrowdEstimator = clone(estimator)
    if estimator.checkpoint is not None:
        model.set_params(checkpoint=str(Path(estimator.checkpoint) / f"fold-{number}"))
    return model


def _active(annotations: Annotations) -> Annotations:
    """The annotations with only those annotators who gave labels."""
    kept_a = annotations.labels_per_annotator > 0
    code_a = np.cumsum(kept_a, dtype=np.int32) - 1
    names = Vocabulary(read_only(annotations.annotators[kept_a]), "annotator")
    return replace(
        annotations,
        annotator=read_only(code_a[annotations.annotator].astype(np.int32)),
        annotator_vocabulary=names,
    )


def _joined(annotations: Annotations, parts: Sequence[Consensus], fold_i: Codes) -> Consensus:
    """The consensus of every fold in its own items; annotators are the means over the folds."""
    rows = np.arange(annotations.n_items)
    code_p = [part.annotations.annotator_vocabulary.codes(annotations.annotators) for part in parts]

    def mean(values: Iterable[Any]) -> AnyArray:
        placed = [each[code_a] for each, code_a in zip(values, code_p, strict=True)]
        return np.asarray(np.mean(placed, axis=0))

    traits = {
        name: mean(part.annotator_traits[name] for part in parts)
        for name in parts[0].annotator_traits
    }
    if parts[0].probabilities is not None:
        return type(parts[0]).from_probabilities(  # of sets of classes it is a `SetConsensus`
            annotations,
            np.stack([part.probabilities for part in parts])[fold_i, rows],  # type: ignore[misc]
            confusion=mean(part.confusion for part in parts),
            annotator_traits=traits,
            cannot_continue=NEEDS_FEATURES,
        )
    values, spread = (
        np.stack([getattr(part, name) for part in parts])[fold_i, rows]
        for name in ("values", "spread")
    )
    quality = (
        mean(getattr(part.quality, name) for part in parts) for name in ("value", "low", "high")
    )
    return Consensus.from_values(
        annotations,
        values,
        spread**2,
        between=float(np.var(values) + np.mean(spread**2)),
        quality=Quality.from_interval(*quality),
        annotator_traits=traits,
        cannot_continue=NEEDS_FEATURES,
    )
