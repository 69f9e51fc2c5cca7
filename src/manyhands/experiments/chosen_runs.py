"""Runs whose epoch is chosen with clean labels, as some papers do: always marked as such."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.evaluation import accuracy_score
from manyhands.experiments.data import ExperimentData
from manyhands.experiments.encoders import with_encoder
from manyhands.experiments.runs import MethodRun, fit_method, rounded

TESTED = "accuracy"
_SEARCH = ("validation_fraction", "monitor", "refit", "patience")
_PARTS = {"clean": "valid", "test": "test"}  # whose accuracy chooses the epoch


@dataclass(frozen=True)
class ChosenRun(MethodRun):
    """A method with a seed, and the test accuracy of the epoch that `rule` of `RULES` chooses.

    All labels are trained on; the truth of the validation or the test items chooses the epoch.
    """

    rule: str = "clean"

    kind: ClassVar[str] = "chosen epoch"
    revision: ClassVar[int] = 1

    def outcome(self, data: str | None) -> dict[str, Any]:
        """The test accuracy of the chosen epoch, and its number."""
        loaded = self.source.load(data, self.seed)
        part = _PARTS[self.rule]
        if part == "valid" and loaded.valid is None:
            raise DataError("there are no validation items with clean labels to choose by")
        given = with_encoder(self.settings, data)
        training = {
            name: value for name, value in given.get("training", {}).items() if name not in _SEARCH
        }
        settings = {**given, "training": {**training, "validation_fraction": 0.0}}
        score = accuracies_of(loaded)
        model = fit_method(loaded.trial, self.method, self.seed, settings, callback=score)
        chosen = int(np.argmax([entry[part] for entry in model.history_]))
        accuracy = model.history_[chosen]["test"]
        return {"scores": {TESTED: rounded(accuracy), "epochs": float(chosen + 1)}}


def accuracies_of(data: ExperimentData) -> Callable[[Callable[[Any], AnyArray]], dict[str, float]]:
    """A callback that scores a model after every epoch on the test and the validation items."""
    trial, classes = data.trial, data.trial.annotations.class_vocabulary
    parts: dict[str, tuple[Any, Any]] = {"test": (trial.test_features, trial.test_truth)}
    if data.valid is not None and classes is not None:
        parts["valid"] = data.valid.features, classes.codes(data.valid.truth.tolist())

    def score(predict_proba: Callable[[Any], AnyArray]) -> dict[str, float]:
        return {
            part: accuracy_score(truth, predict_proba(features).argmax(axis=1))
            for part, (features, truth) in parts.items()
        }

    return score
