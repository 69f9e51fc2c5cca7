"""One run of one method on one crowd, and what is measured of it."""

import platform
import resource
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

import manyhands
from manyhands.aggregation import portray
from manyhands.core.arrays import Floats
from manyhands.core.errors import first_line
from manyhands.estimators import Trial, fit_to_trial, scores_of
from manyhands.evaluation import accuracy, f1, global_js, individual_js
from manyhands.experiments.records import content_key
from manyhands.experiments.sources import Source

MEASURES = 1  # raised when what is measured changes, so that old records do not count


@dataclass(frozen=True)
class Task:
    """A method with its settings, on a crowd, with a seed."""

    source: Source
    method: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    def identity(self) -> dict[str, Any]:
        """Everything that matters to the outcome, the version included."""
        return {
            "source": self.source.identity(),
            "method": self.method,
            "settings": dict(self.settings),
            "seed": self.seed,
            "measures": MEASURES,
            "manyhands": manyhands.__version__,
        }

    @property
    def key(self) -> str:
        """The name of its record."""
        return content_key(self.identity())


def run_task(task: Task, data: str) -> dict[str, Any]:
    """Run it; its record, which tells of a failure too."""
    began = time.perf_counter()
    record = {"key": task.key, **task.identity(), "versions": _versions()}
    try:
        scores = _scores(task.source.load(data), task)
        record |= {"scores": {name: _rounded(value) for name, value in scores.items()}}
    except Exception as error:  # a failed run is shown, not dropped
        record |= {"error": f"{type(error).__name__}: {first_line(error)}"}
    return record | {
        "seconds": round(time.perf_counter() - began, 3),
        "peak_mib": round(_peak_mib(), 1),
    }


def _scores(trial: Trial, task: Task) -> dict[str, float]:
    model = fit_to_trial(trial, task.method, task.seed, dict(task.settings))
    scores = scores_of(trial, model)
    if trial.test_features is not None and trial.test_truth is not None:
        found = model.predict_proba(trial.test_features).argmax(axis=1)
        known = trial.test_truth >= 0
        scores["f1"] = f1(trial.test_truth[known], found[known])
    if trial.truth is not None and (trial.truth >= 0).all():
        found = model.predict_proba(trial.features).argmax(axis=1)
        scores["train-accuracy"] = accuracy(trial.truth, found)
        true_akl, seen_a = _true_confusions(trial)
        learnt_akl = model.confusion_
        scores["i-js"] = individual_js(learnt_akl[seen_a], true_akl[seen_a])
        scores["g-js"] = global_js(learnt_akl[seen_a], true_akl[seen_a])
    return scores | {"epochs": float(model.epoch_)}


def _true_confusions(trial: Trial) -> tuple[Floats, Any]:
    """The confusions that people really have on these items, and who labelled any."""
    one_hot_ik = np.eye(trial.annotations.n_classes)[trial.truth]
    return portray(trial.annotations, one_hot_ik), trial.annotations.labels_per_annotator > 0


def _rounded(value: float) -> float | None:
    return round(float(value), 6) if np.isfinite(value) else None


def _versions() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }


def _peak_mib() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
