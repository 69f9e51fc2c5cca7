"""Several ways of learning from the same crowd, several seeds each, in one ranked table."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from manyhands.aggregation import AGGREGATORS, Comparison, held_out_score, one_label_aside
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray
from manyhands.core.settings import require
from manyhands.estimators.classifier import CrowdClassifier
from manyhands.estimators.features import are_counts
from manyhands.evaluation import accuracy, log_loss, summarise_runs
from manyhands.training import METHODS, EndToEnd, Method

UNKNOWN, UNSAID = -1, -2
BY_TRUTH = "accuracy against the truth"
BY_LABELS = "mean log-probability of held-out labels (no truth was used)"


@dataclass(frozen=True)
class Trial:
    """What methods are compared on: a crowd with features, and truth for scores where it is known.

    `truth` and `test_truth` are class codes: `UNKNOWN` (-1) where the truth is not known,
    `UNSAID` (-2) where it is a class that nobody said, which no method can find. Items
    of `test_features` have no labels; without them the network is scored on the items it was
    trained on.
    """

    features: AnyArray
    annotations: Annotations
    truth: AnyArray | None = None
    test_features: AnyArray | None = None
    test_truth: AnyArray | None = None

    @property
    def has_truth(self) -> bool:
        """Whether anything can be scored against a truth."""
        return self.test_truth is not None or self.truth is not None


def compare_training(
    trial: Trial,
    methods: Sequence[str] | None = None,
    *,
    runs: int = 1,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    jobs: int = 1,
    done: Callable[[], None] = lambda: None,
) -> Comparison:
    """Train with every method `runs` times, with seeds `seed`, `seed` + 1 ..., and rank them.

    `accuracy` is of the network alone on the test items, `inferred` of network and labels
    together (or of an aggregator alone) on the labelled ones; the deviation is over runs. Without
    truth, `held_out` is the mean log-probability of labels taken away beforehand. `settings` go to
    `CrowdClassifier`; `done` is called after every run.
    """
    names = list(methods or _fitting(trial))
    for name in names:
        if name not in METHODS and name not in AGGREGATORS:
            METHODS[name]  # says which names it knows
    require(runs >= 1, "runs", ">= 1", runs)
    tasks = [(name, seed + run) for name in names for run in range(runs)]
    scored: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    made = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(_run)(trial, name, one, dict(settings or {})) for name, one in tasks
    )
    for name, scores in made:
        scored[name].append(scores)
        done()
    return _ranked(scored, trial.has_truth)


def n_runs(trial: Trial, methods: Sequence[str] | None, runs: int) -> int:
    """How many runs a comparison makes."""
    return len(methods or _fitting(trial)) * runs


def methods_for(features: Any) -> list[str]:
    """The methods for classes that these features suit: topic models only where they are counts."""
    counts = are_counts(features)
    classes = {name: each for name, each in METHODS.items() if "classes" in each.kinds}
    return [name for name, method in classes.items() if counts or not method.takes_counts]


def _fitting(trial: Trial) -> list[str]:
    whole = trial.truth is not None and bool((trial.truth >= 0).all())
    return [name for name in methods_for(trial.features) if whole or not METHODS[name].needs_truth]


def _run(
    trial: Trial, name: str, seed: int, settings: dict[str, Any]
) -> tuple[str, dict[str, float]]:
    began = time.perf_counter()
    if trial.has_truth and name in METHODS:
        scores = scores_of(trial, fit_to_trial(trial, name, seed, settings))
    elif trial.has_truth:
        posterior_ik = AGGREGATORS[name]().fit(trial.annotations).probabilities
        scores = {"inferred": _accuracy(trial.truth, posterior_ik)}
    elif name in METHODS:
        kept, held = one_label_aside(trial.annotations, seed)
        model = fit_to_trial(replace(trial, annotations=kept), name, seed, settings)
        scores = {"held_out": model.log_likelihood(trial.features, held)}
    else:
        scores = {"held_out": held_out_score(AGGREGATORS[name](), trial.annotations, seed=seed)}
    return name, scores | {"seconds": time.perf_counter() - began}


def fit_to_trial(
    trial: Trial, method: str | Method, seed: int, settings: dict[str, Any], **fit: Any
) -> CrowdClassifier:
    """A classifier trained on the labelled items of a trial; `fit` goes to its `fit`."""
    way = METHODS[method] if isinstance(method, str) else method
    model = CrowdClassifier(method=method, seed=seed, progress=False, **settings_for(way, settings))
    truth = None
    if way.needs_truth and trial.truth is not None:
        truth = trial.annotations.classes[trial.truth]
    return model.fit(trial.features, trial.annotations, truth=truth, **fit)


def settings_for(method: Method, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a method takes: without a noise model there is none to set."""
    left_out = () if isinstance(method, EndToEnd) else ("noise", "start")
    return {key: each for key, each in settings.items() if key not in left_out}


def scores_of(trial: Trial, model: CrowdClassifier) -> dict[str, float]:
    """A trained model against the truth: the network alone, and network and labels together."""
    tested = trial.test_features is not None
    where = trial.test_features if tested else trial.features
    wanted = trial.test_truth if tested else trial.truth
    found_ik = model.predict_proba(where)
    scores = {"accuracy": _accuracy(wanted, found_ik), "log_loss": _log_loss(wanted, found_ik)}
    if trial.truth is not None:
        together = model.infer(trial.features, trial.annotations)
        scores["inferred"] = _accuracy(trial.truth, together.probabilities)
    return scores


def _accuracy(truth: AnyArray | None, probabilities_ik: AnyArray | None) -> float:
    if truth is None or probabilities_ik is None or (truth == UNKNOWN).all():
        return float("nan")
    known = truth != UNKNOWN
    return accuracy(truth[known], probabilities_ik[known].argmax(axis=1))


def _log_loss(truth: AnyArray | None, probabilities_ik: AnyArray) -> float:
    if truth is None or (truth == UNKNOWN).all():
        return float("nan")
    known = truth != UNKNOWN
    # A class nobody said stands in a column of its own, which every method holds impossible.
    wide_ik = np.pad(probabilities_ik[known], ((0, 0), (0, 1)))
    return log_loss(np.where(truth[known] == UNSAID, -1, truth[known]), wide_ik)


def _ranked(scored: Mapping[str, list[dict[str, float]]], by_truth: bool) -> Comparison:
    key = "accuracy" if by_truth else "held_out"
    rows = [_row(name, runs, key, by_truth) for name, runs in scored.items()]
    rows.sort(key=lambda row: (np.isnan(row[key]), -row[key]))
    columns = {
        name: np.array([row[name] for row in rows], dtype=object if name == "method" else None)
        for name in rows[0]
    }
    return Comparison(columns, BY_TRUTH if by_truth else BY_LABELS)


def _row(name: str, runs: list[dict[str, float]], key: str, by_truth: bool) -> dict[str, Any]:
    def mean(score: str) -> float:
        return float(np.mean([run.get(score, np.nan) for run in runs]))

    values = [run.get(key, np.nan) for run in runs]
    summary = summarise_runs(values)
    row = {"method": name, key: summary.mean, "deviation": summary.deviation}
    row["lowest"] = float(np.min(values))
    if by_truth:
        row |= {"log_loss": mean("log_loss"), "inferred": mean("inferred")}
    return row | {"runs": len(runs), "seconds": mean("seconds")}
