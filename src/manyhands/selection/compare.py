"""Several ways of learning from the same crowd, several seeds each, in one ranked table."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from manyhands.aggregation import AGGREGATORS, Comparison, leave_one_label_out, validation_score
from manyhands.core.errors import SettingError
from manyhands.core.settings import require
from manyhands.estimators.classifier import CrowdClassifier
from manyhands.estimators.features import are_counts
from manyhands.estimators.text_encoder import are_texts
from manyhands.evaluation import summarize_runs
from manyhands.methods import METHODS, EndToEnd, Method
from manyhands.selection.trial import UNKNOWN, UNSAID, Trial
from manyhands.selection.trial_scores import NONE, SCORES, Scores, scores_of

__all__ = [
    "UNKNOWN",
    "UNSAID",
    "Trial",
    "compare_training",
    "fit_to_trial",
    "methods_for",
    "n_runs",
    "require_methods",
    "scores_of",
    "settings_for",
    "trained_on",
]


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
    together (or of an aggregator alone) on the labelled ones; the deviation is over runs. For
    numbers it is `mae`, beside it `rmse` and `r2`; for tags `f1` of the entities, beside it
    `precision` and `recall`. Without truth, `held_out` is the mean log-probability of labels taken
    away beforehand, for numbers their log density. `settings` go to the estimator of what is
    learnt; `done` is called after every run.
    """
    names = list(methods or _fitting(trial))
    require_methods(names, trial.task)
    require(runs >= 1, "runs", ">= 1", runs)
    # Without a network the scores that rank are of what labels alone say of the labelled items.
    labels_only = trial.task != "classes" and METHODS.keys().isdisjoint(names)
    tasks = [(name, seed + run) for name in names for run in range(runs)]
    scored: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    made = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(_run)(trial, name, one, dict(settings or {}), labels_only) for name, one in tasks
    )
    told: set[str] = set()
    for name, scores, notes in made:
        scored[name].append(scores)
        told |= notes
        done()
    for note in sorted(told):  # what every run warns of is said once
        warnings.warn(note, UserWarning, stacklevel=2)
    return _ranked(scored, trial)


def n_runs(trial: Trial, methods: Sequence[str] | None, runs: int) -> int:
    """How many runs a comparison makes."""
    return len(methods or _fitting(trial)) * runs


def methods_for(features: Any, task: str = "classes") -> list[str]:
    """The methods that learn this and that these features suit.

    Topic models are only for counts; what has a network of its own, or models the features, is
    not for texts.
    """
    counts, texts = are_counts(features), are_texts(features)
    fitting = {name: each for name, each in METHODS.items() if task in each.task}
    return [
        name
        for name, method in fitting.items()
        if (counts or not method.takes_counts) and not (texts and _reads_numbers(method))
    ]


def require_methods(names: Sequence[str], task: str) -> None:
    """Refuse names that are not known, and methods for something else, with those that fit."""
    kind = SCORES[task].aggregators
    for name in names:
        if name in METHODS:
            fits = task in METHODS[name].task
        elif name in AGGREGATORS:
            fits = AGGREGATORS[name].kind == kind
        else:
            METHODS[name]  # says which names it knows
        if not fits:
            known = [one for one, method in METHODS.items() if task in method.task]
            known += [one for one, method in AGGREGATORS.items() if method.kind == kind]
            listed = ", ".join(dict.fromkeys(known))
            raise SettingError(f"method must be for {task}; got {name}; there are {listed}")


def _reads_numbers(method: Method) -> bool:
    return method.only_network is not None or method.task == ("classes",)


def _fitting(trial: Trial) -> list[str]:
    suited = methods_for(trial.features, trial.task)
    return [name for name in suited if trial.knows_all or not METHODS[name].needs_truth]


def _run(
    trial: Trial, name: str, seed: int, settings: dict[str, Any], labels_only: bool
) -> tuple[str, dict[str, float], set[str]]:
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        scores = _scored(trial, name, seed, settings, labels_only)
    notes = {str(each.message) for each in caught if each.category is UserWarning}
    return name, scores | {"seconds": time.perf_counter() - began}, notes


def _scored(
    trial: Trial, name: str, seed: int, settings: dict[str, Any], labels_only: bool
) -> dict[str, float]:
    how = SCORES[trial.task]
    if trial.has_truth and name in METHODS:
        return scores_of(trial, trained_on(trial, name, seed, settings))
    if trial.has_truth:
        known = trial.truth is not None
        found = how.of_consensus(trial, how.consensus(trial, name)) if known else {}
        return {"inferred": found.get(how.key, NONE)} | (found if labels_only else {})
    if name in METHODS:
        kept, held = leave_one_label_out(trial.annotations, seed)
        model = trained_on(replace(trial, annotations=kept), name, seed, settings)
        return {"held_out": model.log_likelihood(trial.features, held)}
    return {"held_out": validation_score(AGGREGATORS[name](), trial.annotations, seed=seed)}


def trained_on(
    trial: Trial, method: str | Method, seed: int, settings: dict[str, Any], **fit: Any
) -> Any:
    """A model of what the trial task, trained on its labelled items; `fit` goes to its `fit`."""
    way = METHODS[method] if isinstance(method, str) else method
    make = SCORES[trial.task].estimator
    model: Any = make(method=method, seed=seed, progress=False, **settings_for(way, settings))
    truth = trial.truth_to_learn() if way.needs_truth else None
    return model.fit(trial.features, trial.annotations, truth=truth, **fit)


def fit_to_trial(
    trial: Trial, method: str | Method, seed: int, settings: dict[str, Any], **fit: Any
) -> CrowdClassifier:
    """`trained_on` where classes are learnt: a classifier."""
    model = trained_on(trial, method, seed, settings, **fit)
    assert isinstance(model, CrowdClassifier), "labels are classes here"
    return model


def settings_for(method: Method, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a method takes: without a noise model there is none to set."""
    left_out = () if isinstance(method, EndToEnd) else ("noise", "init")
    return {key: each for key, each in settings.items() if key not in left_out}


def _ranked(scored: Mapping[str, list[dict[str, float]]], trial: Trial) -> Comparison:
    how, by_truth = SCORES[trial.task], trial.has_truth
    key, better = (how.key, how.better) if by_truth else ("held_out", 1)
    rows = [_row(name, runs, key, how, by_truth) for name, runs in scored.items()]
    rows.sort(key=lambda row: (np.isnan(row[key]), -better * row[key]))
    columns = {
        name: np.array([row[name] for row in rows], dtype=object if name == "method" else None)
        for name in rows[0]
    }
    return Comparison(columns, how.by_truth if by_truth else how.by_labels)


def _row(
    name: str, runs: list[dict[str, float]], key: str, how: Scores, by_truth: bool
) -> dict[str, Any]:
    def mean(score: str) -> float:
        return float(np.mean([run.get(score, np.nan) for run in runs]))

    values = [run.get(key, np.nan) for run in runs]
    summary = summarize_runs(values)
    row = {"method": name, key: summary.mean, "deviation": summary.deviation}
    less_is_better = by_truth and how.better < 0
    row[how.worst if by_truth else "lowest"] = float((np.max if less_is_better else np.min)(values))
    if by_truth:
        row |= {score: mean(score) for score in (*how.beside, "inferred")}
    return row | {"runs": len(runs), "seconds": mean("seconds")}
