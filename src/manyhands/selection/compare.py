"""Several methods on the same crowd, with several seeds each, in one ranked table."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from manyhands.aggregation import (
    AGGREGATORS,
    Comparison,
    aggregate_tokens,
    aggregators_for,
    leave_one_label_out,
    validation_score,
)
from manyhands.annotations import Annotations
from manyhands.core.errors import SettingError
from manyhands.core.parallel import in_processes
from manyhands.core.settings import require
from manyhands.engine.features import is_count, is_text
from manyhands.engine.task import NOT_SCORED, VALIDATION, Metrics, Scores
from manyhands.engine.tasks import TASKS
from manyhands.estimators import ESTIMATORS
from manyhands.estimators.many import fit_each, gpu_trains
from manyhands.evaluation import ranked_probability_score, summarize_runs
from manyhands.methods import METHODS, Method
from manyhands.selection.trial import Trial

RPS = "rps"  # the ranked probability score of ordinal labels, beside the scores of classes


def compare_training(
    trial: Trial,
    methods: Sequence[str] | None = None,
    *,
    runs: int = 1,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    jobs: int = 1,
    together: bool | None = None,
    done: Callable[[], None] = lambda: None,
) -> Comparison:
    """Train with every method `runs` times, with seeds `seed`, `seed` + 1 ..., and rank them.

    `accuracy` is that of the network alone on the test items, `inferred` that of network and labels
    together (or of an aggregator alone) on the labelled items; the deviation is over runs. Ordinal
    labels have the ranked probability score `rps` of the network too. For
    regression the key is `mae`, with `rmse` and `r2`; for tagging it is the `f1` of entities, with
    `precision` and `recall`. Without truth, `validation` is the mean log-probability of labels that
    were held out, or their log density. `settings` go to the estimator; `done` is called after
    every run. Seeds of small networks are trained as one program (`fit_many`) if `together` is
    True, and by default where there is a GPU.
    """
    names = list(methods or _suitable(trial))
    require_methods(names, trial.task)
    require(runs >= 1, "runs", ">= 1", runs)
    # Without a network the scores that rank are those of the aggregators on the labelled items.
    labels_only = trial.task != "classification" and METHODS.keys().isdisjoint(names)
    scored: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    messages: set[str] = set()
    given, seeds = dict(settings or {}), list(range(seed, seed + runs))

    def make(tasks: list[tuple[str, list[int]]]) -> None:
        arguments = [(trial, name, some, given, labels_only) for name, some in tasks]
        for name, found, notes in in_processes(_run, arguments, jobs):
            scored[name] += found
            messages.update(notes)
            for _ in found:
                done()

    if runs > 1 and (gpu_trains(given) if together is None else together):
        make([(name, seeds) for name in names if name in METHODS])
    make([(name, [one]) for name in names if not scored[name] for one in seeds])
    for message in sorted(messages):  # a warning of every run is shown once
        warnings.warn(message, UserWarning, stacklevel=2)
    return _ranked(scored, trial)


def n_runs(trial: Trial, methods: Sequence[str] | None, runs: int) -> int:
    """The number of runs of a comparison."""
    return len(methods or _suitable(trial)) * runs


def methods_for(
    features: Any,
    task: str = "classification",
    *,
    with_truth: bool = False,
    ordered: bool = False,
) -> list[str]:
    """The methods for this task that suit these features; `with_truth` those that learn from one.

    Topic models need counts. Methods with a network of their own, and methods that model the
    features, are not for texts. Methods for levels need classes that are `ordered`.
    """
    counts, texts = is_count(features), is_text(features)

    def suits(method: Method) -> bool:
        needs_numbers = method.required_network is not None or method.models_features
        return not (
            (method.needs_counts and not counts)
            or (method.needs_order and not ordered)
            or (needs_numbers and texts)
            or (method.needs_truth and not with_truth)
        )

    return [name for name, each in METHODS.items() if task in each.tasks and suits(each)]


def require_methods(names: Sequence[str], task: str) -> None:
    """Raise an error for unknown names and for methods of other tasks, with those that fit."""
    kind = TASKS[task].kind
    for name in names:
        if name in METHODS:
            fits = task in METHODS[name].tasks
        elif name in AGGREGATORS:
            fits = (AGGREGATORS[name].kind == "numbers") == (kind == "numbers")
        else:
            METHODS[name]  # raises an error with the known names
        if not fits:
            known = [one for one, method in METHODS.items() if task in method.tasks]
            known += aggregators_for("ordinal" if kind == "classes" else kind)
            listed = ", ".join(dict.fromkeys(known))
            raise SettingError(f"method must be for {task}; got {name}; known: {listed}")


def trained_on(
    trial: Trial, method: str | Method, seed: int, settings: Mapping[str, Any], **fit: Any
) -> Any:
    """An estimator of the trial's task, fitted to its labelled items; `fit` goes to its `fit`."""
    way = METHODS[method] if isinstance(method, str) else method
    truth = trial.truth_to_learn() if way.needs_truth else None
    model = _new_model(trial, method, seed, settings)
    return model.fit(trial.features, trial.annotations, truth=truth, **fit)


def _new_model(trial: Trial, method: str | Method, seed: int, settings: Mapping[str, Any]) -> Any:
    way = METHODS[method] if isinstance(method, str) else method
    make: Any = ESTIMATORS[trial.task]
    return make(method=method, seed=seed, progress=False, **settings_for(way, settings))


def train_seeds_on(
    trial: Trial,
    method: str | Method,
    seeds: Sequence[int],
    settings: Mapping[str, Any],
    labels: Sequence[Annotations] | None = None,
) -> list[Any]:
    """`trained_on` for several seeds as one program, with labels of their own if given.

    A `SettingError` says why they cannot be trained as one program.
    """
    way = METHODS[method] if isinstance(method, str) else method
    models = [_new_model(trial, method, seed, settings) for seed in seeds]
    given = {"truth": trial.truth_to_learn()} if way.needs_truth else {}
    labels = labels or [trial.annotations] * len(models)
    return fit_each(models, trial.features, labels, given, together=True)


def scores_of(trial: Trial, model: Any) -> dict[str, float]:
    """The scores of a fitted model: the network alone, and network and labels together."""
    task, tested = trial.task_object, trial.test_features is not None
    features = trial.test_features if tested else trial.features
    truth = trial.scored_truth(trial.test_truth if tested else trial.truth)
    predicted = model.scored_predictions(features)
    scores = task.score(truth, predicted, features) | _level_scores(trial, truth, predicted)
    if trial.truth is not None:
        together = model.infer(trial.features, trial.annotations)
        scores["inferred"] = _consensus_scores(trial, together)[task.metrics.key]
    return {name: float(score) for name, score in scores.items()}


def settings_for(method: Method, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a method takes.

    A method without a noise model takes none of it, and one with a network of its own none of that.
    """
    left_out: tuple[str, ...] = () if method.takes_noise_settings else ("noise", "init")
    left_out += () if method.required_network is None else ("network_settings",)
    return {key: each for key, each in settings.items() if key not in left_out}


def _suitable(trial: Trial) -> list[str]:
    ordered = trial.annotations.ordered
    return methods_for(trial.features, trial.task, with_truth=trial.knows_all, ordered=ordered)


def _run(
    trial: Trial, name: str, seeds: list[int], settings: dict[str, Any], labels_only: bool
) -> tuple[str, list[Scores], set[str]]:
    """The scores of every seed; none of several seeds that cannot be trained as one program."""
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        if len(seeds) == 1:
            found = [_scored(trial, name, seeds[0], settings, labels_only)]
        else:
            found = _scored_together(trial, name, seeds, settings)
    notes = {str(each.message) for each in caught if each.category is UserWarning and found}
    seconds = (time.perf_counter() - began) / len(seeds)
    return name, [scores | {"seconds": seconds} for scores in found], notes


def _scored_together(
    trial: Trial, name: str, seeds: list[int], settings: dict[str, Any]
) -> list[Scores]:
    """The scores of several seeds; none where they are to be trained by themselves."""
    try:
        if trial.has_truth:
            models = train_seeds_on(trial, name, seeds, settings)
            return [scores_of(trial, model) for model in models]
        parts = [leave_one_label_out(trial.annotations, seed) for seed in seeds]
        kept = [kept for kept, _ in parts]
        models = train_seeds_on(trial, name, seeds, settings, kept)
        held = [held for _, held in parts]
        return [
            {VALIDATION: model.log_likelihood(trial.features, own)}
            for model, own in zip(models, held, strict=True)
        ]
    except SettingError:  # the runs by themselves tell it, if it is an error
        return []


def _scored(
    trial: Trial, name: str, seed: int, settings: dict[str, Any], labels_only: bool
) -> Scores:
    if trial.has_truth and name in METHODS:
        return scores_of(trial, trained_on(trial, name, seed, settings))
    if trial.has_truth:
        known = trial.truth is not None
        found = _consensus_scores(trial, _consensus(trial, name)) if known else {}
        inferred = found.get(trial.task_object.metrics.key, NOT_SCORED)
        return {"inferred": inferred} | (found if labels_only else {})
    if name in METHODS:
        kept, held = leave_one_label_out(trial.annotations, seed)
        model = trained_on(replace(trial, annotations=kept), name, seed, settings)
        return {VALIDATION: model.log_likelihood(trial.features, held)}
    return {VALIDATION: validation_score(AGGREGATORS[name](), trial.annotations, seed=seed)}


def _consensus(trial: Trial, aggregator: str) -> Any:
    """The consensus of the labels alone."""
    if trial.task == "tagging":
        return aggregate_tokens(trial.features, trial.annotations, aggregator)
    return AGGREGATORS[aggregator]().fit(trial.annotations)


def _consensus_scores(trial: Trial, consensus: Any) -> dict[str, float]:
    """The scores of a consensus about the labelled items."""
    task = trial.task_object
    truth = trial.scored_truth(trial.truth)
    predicted = task.scored_consensus(consensus)
    return task.score(truth, predicted, trial.features) | _level_scores(trial, truth, predicted)


def _level_scores(trial: Trial, truth: Any, predicted: Any) -> dict[str, float]:
    """The ranked probability score of ordinal labels, at truths that are levels."""
    if not trial.annotations.ordered or truth is None or not (truth >= 0).any():
        return {}
    known = truth >= 0
    return {RPS: ranked_probability_score(truth[known], predicted[known])}


def _ranked(scored: Mapping[str, list[dict[str, float]]], trial: Trial) -> Comparison:
    metrics, by_truth = trial.task_object.metrics, trial.has_truth
    key = metrics.key if by_truth else VALIDATION
    sign = -1 if by_truth and not metrics.greater_is_better else 1
    more = (RPS,) if trial.annotations.ordered else ()
    rows = [_row(name, runs, key, metrics, by_truth, more) for name, runs in scored.items()]
    rows.sort(key=lambda row: (np.isnan(row[key]), -sign * row[key]))
    columns = {
        name: np.array([row[name] for row in rows], dtype=object if name == "method" else None)
        for name in rows[0]
    }
    return Comparison(columns, metrics.by_truth if by_truth else metrics.by_labels)


def _row(
    name: str, runs: list[Scores], key: str, metrics: Metrics, by_truth: bool,
    more: tuple[str, ...],
) -> dict[str, Any]:  # fmt: skip
    def mean(score: str) -> float:
        return float(np.mean([run.get(score, np.nan) for run in runs]))

    values = [run.get(key, np.nan) for run in runs]
    summary = summarize_runs(values)
    row = {"method": name, key: summary.mean, "deviation": summary.deviation}
    if by_truth and not metrics.greater_is_better:
        row["highest"] = float(np.max(values))
    else:
        row["lowest"] = float(np.min(values))
    if by_truth:
        row |= {score: mean(score) for score in (*more, *metrics.others, "inferred")}
    return row | {"runs": len(runs), "seconds": mean("seconds")}
