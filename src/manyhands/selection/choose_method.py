"""Choosing a method without truth: by validation labels, which a model has not seen."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from manyhands.aggregation import Choice
from manyhands.aggregation.select import rank_by_predictions
from manyhands.annotations import Annotations, Labels
from manyhands.core.errors import DataError, SettingError
from manyhands.core.parallel import in_processes
from manyhands.core.settings import require
from manyhands.engine.batches import split_labels
from manyhands.engine.features import as_inputs
from manyhands.estimators import CrowdClassifier
from manyhands.estimators.labels import labels_of_rows
from manyhands.evaluation import CRITERIA, RANKS, LabelPredictions
from manyhands.methods import METHODS
from manyhands.selection.compare import methods_for, scores_of, settings_for
from manyhands.selection.trial import Trial

BASELINE = "two-stage-majority"
VALIDATION_FRACTION = 0.15
Candidates = Sequence[str] | Mapping[str, CrowdClassifier]
_Found = tuple[str, int, LabelPredictions, dict[str, float]]


@dataclass(frozen=True)
class Selection(Choice):
    """The result of `select`: the table, the winner, and whether majority voting is enough."""

    candidates: Mapping[str, CrowdClassifier]

    def model(self) -> CrowdClassifier:
        """The winner, not fitted: fit it to all labels, of which it has seen a part only."""
        model: CrowdClassifier = clone(self.candidates[self.winner])
        return model


def select(
    X: Any,
    annotations: Labels,
    candidates: Candidates | None = None,
    *,
    monitor: str = RANKS,
    validation_fraction: float = VALIDATION_FRACTION,
    runs: int = 1,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    inform: Callable[[CrowdClassifier], Mapping[str, float]] | None = None,
    jobs: int = 1,
    done: Callable[[], None] = lambda: None,
) -> Selection:
    """Choose among methods without truth.

    `candidates` are names of `METHODS`, or classifiers by names of your own, such as one method
    with several settings; None is every method that needs no truth. `two-stage-majority` is always
    among them, with the settings of the first classifier where classifiers are given.

    Each candidate is trained on the labels without a fraction `validation_fraction`, the same for
    all, and scored on these validation labels by a criterion of `CRITERIA`, or by "ranks", the
    average rank over all criteria. This is done `runs` times with seeds `seed`, `seed` + 1 ..., and
    the scores are averaged. `Choice` tells when majority voting is enough. `settings` go to the
    classifiers made from names. `inform` returns more numbers of every trained model for the table;
    they do not affect the choice.
    """
    CRITERIA[monitor]  # raises an error with the known names
    inside = 0 < validation_fraction < 1
    require(inside, "validation_fraction", "above 0 and below 1", validation_fraction)
    require(runs >= 1, "runs", ">= 1", runs)
    models = all_candidates(candidates, settings, X)
    network = next(iter(models.values())).network
    own_network = not (network is None or isinstance(network, str))
    inputs = as_inputs(X, keep_integers=own_network)
    ann = labels_of_rows(annotations, "classes", len(inputs), None)
    splits = [_split_labels(ann, validation_fraction, seed + run) for run in range(runs)]
    arguments = [
        (name, models[name], X, splits[run], run, seed + run, inform)
        for name in models
        for run in range(runs)
    ]
    results = in_processes(_run, arguments, jobs)
    found: dict[tuple[str, int], tuple[LabelPredictions, dict[str, float]]] = {}
    for name, run, predictions, others in results:
        found[name, run] = predictions, others
        done()
    choice = rank_by_predictions(
        {name: [found[name, run][0] for run in range(runs)] for name in models},
        BASELINE,
        monitor=monitor,
        extra={name: _mean([found[name, run][1] for run in range(runs)]) for name in models},
    )
    return Selection(**vars(choice), candidates=models)


def select_on_trial(trial: Trial, methods: Sequence[str] | None = None, **how: Any) -> Selection:
    """`select` on the labelled items of a trial, with accuracy in the table where it has truth.

    Items without labels are left out, so that the selection is the same with truth and without.
    """
    seen = np.flatnonzero(trial.annotations.labels_per_item > 0)
    part = replace(
        trial,
        features=trial.features[seen],
        annotations=trial.annotations[seen],
        truth=None if trial.truth is None else trial.truth[seen],
    )
    inform = partial(_accuracy, part) if part.has_truth else None
    return select(part.features, part.annotations, methods, inform=inform, **how)


def all_candidates(
    candidates: Candidates | None,
    settings: Mapping[str, Any] | None = None,
    features: Any = None,
) -> dict[str, CrowdClassifier]:
    """The classifiers that are compared, by name, with `two-stage-majority`.

    None stands for every method that suits these features and needs no truth.
    """
    if candidates is None:
        candidates = methods_for(features)
    require(len(candidates) > 0, "candidates", "at least one", candidates)
    if isinstance(candidates, Mapping):
        models = dict(candidates)
    else:
        models = {
            name: CrowdClassifier(method=name, **settings_for(METHODS[name], settings or {}))
            for name in [*candidates, BASELINE]
        }
    for name, model in models.items():
        if not isinstance(model, CrowdClassifier):
            raise SettingError(f"candidates must be classifiers by name; {name!r} is {model!r}")
        method = METHODS[model.method] if isinstance(model.method, str) else model.method
        if method.needs_truth:
            raise SettingError(f"the method {name!r} trains on the truth, so it is no candidate")
    if settings and isinstance(candidates, Mapping):
        raise SettingError("settings are for candidates by name; yours have their own")
    if BASELINE not in models:
        like = clone(next(iter(models.values())))
        models[BASELINE] = like.set_params(method=BASELINE, noise=None, init=None)
    return models


def _split_labels(
    annotations: Annotations, share: float, seed: int
) -> tuple[Annotations, Annotations]:
    """The labels to train on, and validation labels; repeats of training labels are left out."""
    if annotations.labels_per_item.max(initial=0) < 2:
        raise DataError(
            "no item has a second label to spare, so no method can be validated on labels it has "
            "not seen; some items need two labels or more"
        )
    kept, held = split_labels(annotations, share, seed)
    assert held is not None, "a fraction above 0 holds some out"
    seen = np.isin(_pairs(held), _pairs(kept))
    if seen.all():
        raise DataError("every label that could be held out is a repeat; nothing is unseen")
    return kept, held.only(~seen)


def _pairs(annotations: Annotations) -> Any:
    return annotations.item.astype(np.int64) * annotations.n_annotators + annotations.annotator


def _run(
    name: str,
    candidate: CrowdClassifier,
    features: Any,
    labels: tuple[Annotations, Annotations],
    run: int,
    seed: int,
    inform: Callable[[CrowdClassifier], Mapping[str, float]] | None,
) -> _Found:
    kept, held = labels
    began = time.perf_counter()
    model = clone(candidate).set_params(seed=seed, progress=False, checkpoint=None)
    model.fit(features, kept)
    beside = {"seconds": time.perf_counter() - began}
    if inform is not None:
        beside |= inform(model)
    return name, run, model.predict_labels(features, held), beside


def _mean(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}


def _accuracy(trial: Trial, model: CrowdClassifier) -> dict[str, float]:
    return {"accuracy": scores_of(trial, model)["accuracy"]}
