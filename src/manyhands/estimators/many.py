"""The same fit with many seeds: as one program where that is possible."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import torch
from sklearn.base import clone

from manyhands.annotations import Labels
from manyhands.core.errors import SettingError
from manyhands.estimators.base import CrowdEstimator
from manyhands.estimators.fitting import Fitting

MAX_TOGETHER = 64  # seeds whose weights and batches are in memory at the same time
Estimator = TypeVar("Estimator", bound=CrowdEstimator)


def fit_many(
    estimator: Estimator,
    X: Any,
    y: Labels,
    sample_weight: Any = None,
    *,
    seeds: Iterable[int],
    X_items: Iterable[Any] | None = None,
    truth: Any = None,
    together: bool | None = None,
) -> list[Estimator]:
    """Fit copies of an estimator that differ by their seed, and return them fitted.

    Small networks are trained as one program, with one step for all seeds, so that a GPU starts
    as many kernels as for one of them. Each copy has the weights, the epoch and the history that
    `fit` gives with its seed, but for rounding, which long training may enlarge. What cannot be
    trained as one program is fitted one by one; `why_separate` tells why.

    Arguments: `X`, `y`, `sample_weight`, `X_items` and `truth` are those of `fit`; `together` True
    raises a `SettingError` where one program is not possible, and False fits one by one.

    >>> import numpy as np
    >>> from manyhands import Annotations, CrowdClassifier
    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 0, 1]])
    >>> X = [[0.0, 1.0], [1.0, 0.1], [0.1, 0.9], [0.9, 0.0]]
    >>> clf = CrowdClassifier(method="speelfc", epochs=20, learning_rate=0.1)
    >>> models = fit_many(clf, X, ann, seeds=[0, 1, 2])
    >>> [model.seed for model in models], models[0].predict(X).tolist()
    ([0, 1, 2], [0, 1, 0, 1])
    """
    models = [clone(estimator).set_params(seed=seed) for seed in seeds]
    items = None if X_items is None else list(X_items)
    given = {"sample_weight": sample_weight, "X_items": items, "truth": truth}
    return fit_each(models, X, [y] * len(models), given, together=together)


def why_separate(
    estimator: CrowdEstimator,
    X: Any,
    y: Labels,
    sample_weight: Any = None,
    *,
    X_items: Iterable[Any] | None = None,
    truth: Any = None,
) -> str | None:
    """Why `fit_many` fits the seeds of an estimator one by one; None where it is one program."""
    given = {"sample_weight": sample_weight, "X_items": X_items, "truth": truth}
    return _prepared([estimator, estimator], X, [y, y], given)[0]


def gpu_trains(settings: Mapping[str, Any] | None = None) -> bool:
    """Whether an estimator with these settings is trained on a GPU, where many seeds gain most."""
    device = (settings or {}).get("device") or "auto"
    return device in ("auto", "cuda") and torch.cuda.is_available()


def fit_each(
    models: Sequence[Estimator],
    features: Any,
    labels: Sequence[Labels],
    given: Mapping[str, Any] | None = None,
    *,
    together: bool | None = None,
) -> list[Estimator]:
    """Fit every model to its labels of the same items; models differ by their seeds alone.

    `given` are other arguments of `fit`.
    """
    for start in range(0, len(models), MAX_TOGETHER):
        some = slice(start, start + MAX_TOGETHER)
        _fit_some(models[some], features, labels[some], given or {}, together)
    return list(models)


def _fit_some(
    models: Sequence[CrowdEstimator],
    features: Any,
    labels: Sequence[Labels],
    given: Mapping[str, Any],
    together: bool | None,
) -> None:
    reason: str | None = "there is one seed" if len(models) == 1 else None
    fittings: list[Fitting] = []
    if together is not False and reason is None:
        reason, fittings = _prepared(models, features, labels, given)
        if together and reason is not None:
            raise SettingError(f"together must not be True here: {reason}")
    if together is False or reason is not None:
        known = {name: each for name, each in given.items() if each is not None}
        for model, own in zip(models, labels, strict=True):
            model.fit(features, own, **known)
        return
    first = fittings[0]
    fits = first.method.fit_models(
        first.inputs, [each.problem for each in fittings], [each.plan for each in fittings]
    )
    for model, fitting, fit in zip(models, fittings, fits, strict=True):
        model._take(fitting, fit)


def _prepared(
    models: Sequence[CrowdEstimator],
    features: Any,
    labels: Sequence[Labels],
    given: Mapping[str, Any],
) -> tuple[str | None, list[Fitting]]:
    """Why models cannot be trained as one program, and what their method is given if they can."""
    if not models[0].fits_many:
        return "inputs are sentences, which differ in length", []
    named = {"items" if name == "X_items" else name: each for name, each in given.items()}
    first = models[0]._prepare(features, labels[0], **named)
    encoded = first.encoder, first.inputs
    others = [
        model._prepare(features, own, **named, encoded=encoded)
        for model, own in zip(models[1:], labels[1:], strict=True)
    ]
    # What is computed of the same labels is computed once.
    shared = [
        replace(each, problem=first.problem) if own is labels[0] else each
        for each, own in zip(others, labels[1:], strict=True)
    ]
    fittings = [first, *shared]
    reason = first.method.why_separate(
        first.inputs, [each.problem for each in fittings], [each.plan for each in fittings]
    )
    return reason, fittings
