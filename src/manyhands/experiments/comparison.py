"""A run of the comparison of methods: every method has as many settings to choose from."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DivergedError
from manyhands.engine.batches import split_labels
from manyhands.estimators import CrowdClassifier
from manyhands.experiments.data import DataSource, ExperimentData
from manyhands.experiments.measures import measure
from manyhands.experiments.records import Record, fingerprint_key
from manyhands.experiments.runs import Run, fit_method, fit_seeds, rounded
from manyhands.methods import METHODS

VALIDATION_FRACTION = 0.15
SEARCH = {
    "epochs": 100, "validation_fraction": VALIDATION_FRACTION, "patience": 20, "refit": True,
}  # fmt: skip
_KEPT = ("accuracy", "log_loss", "inferred", "epochs")

# How probable held-out labels are under a candidate, and the candidate on all labels; None if its
# training diverged.
_Tried = tuple[float, CrowdClassifier] | None


@dataclass(frozen=True)
class ComparisonRun(Run):
    """A method with the settings under which held-out labels of the crowd are most probable.

    All candidates of a seed are judged on the same held-out labels, and no truth is used. A network
    finds its epoch on these labels too, and is then trained on all labels; a method that is solved
    to convergence is solved without them to choose, and then with them. A candidate whose training
    diverges is not chosen.
    """

    source: DataSource
    method: str
    seed: int
    candidates: tuple[Mapping[str, Any], ...]

    kind: ClassVar[str] = "comparison"

    def outcome(self, data: str | None) -> dict[str, Any]:
        """The scores of the chosen candidate, and what was known of each."""
        loaded = self.source.load(data, self.seed)
        tried: list[_Tried] = []
        diverged: DivergedError | None = None
        for settings in self._settings():
            try:
                tried.append(self._try(loaded, settings))
            except DivergedError as error:
                diverged = error
                tried.append(None)
        if diverged is not None and not any(tried):
            raise diverged
        return _outcome(loaded, tried)

    @property
    def group(self) -> str:
        """See `Run.group`."""
        if not self.source.same_for_seeds or self._is_solved:
            return ""
        return fingerprint_key({**self.fingerprint(), "seed": None})

    def outcomes(self, seeds: Sequence[int], data: str | None) -> list[dict[str, Any]]:
        """See `Run.outcomes`."""
        loaded = self.source.load(data, self.seed)
        by_candidate = [
            [
                (_at_best_epoch(model), model)
                for model in fit_seeds(loaded.trial, self.method, seeds, settings)
            ]
            for settings in self._settings()
        ]
        return [_outcome(loaded, tried) for tried in zip(*by_candidate, strict=True)]

    @property
    def expected_seconds(self) -> float:
        """See `Run.expected_seconds`."""
        return len(self.candidates) * self.source.expected_seconds

    @property
    def _is_solved(self) -> bool:
        return METHODS[self.method].required_network is not None

    def _settings(self) -> list[Mapping[str, Any]]:
        """The settings of every candidate; those of a network with the search for its epoch."""
        if self._is_solved:
            return list(self.candidates)
        return [
            {**each, "training": {**SEARCH, **each.get("training", {})}} for each in self.candidates
        ]

    def _try(self, loaded: ExperimentData, settings: Mapping[str, Any]) -> _Tried:
        """How probable held-out labels are under a candidate, and the candidate on all labels."""
        model = fit_method(loaded.trial, self.method, self.seed, settings)
        if not self._is_solved:
            return _at_best_epoch(model), model
        trial = loaded.trial
        kept, held = split_labels(trial.annotations, VALIDATION_FRACTION, self.seed)
        assert held is not None
        part = fit_method(replace(trial, annotations=kept), self.method, self.seed, settings)
        return float(part.predict_labels(trial.features, held).log_likelihood_n.mean()), model


def right_items(record: Record) -> Floats:
    """1 for every test item that the chosen model is right about, 0 for the others."""
    packed = np.frombuffer(base64.b64decode(record["right"]), dtype=np.uint8)
    return np.unpackbits(packed, count=record["n_test"]).astype(np.float64)


def _outcome(loaded: ExperimentData, tried: Sequence[_Tried]) -> dict[str, Any]:
    scores = [{} if each is None else measure(loaded, each[1]) for each in tried]
    chosen = int(np.argmax([-np.inf if each is None else each[0] for each in tried]))
    best = tried[chosen]
    assert best is not None
    right = _right(loaded, best[1])
    return {
        "scores": {name: rounded(value) for name, value in scores[chosen].items()},
        "chosen": chosen,
        "tried": [
            {"diverged": True}
            if each is None
            else {"held_out": rounded(each[0]), **{name: rounded(found[name]) for name in _KEPT}}
            for each, found in zip(tried, scores, strict=True)
        ],
        "right": base64.b64encode(np.packbits(right).tobytes()).decode("ascii"),
        "n_test": len(right),
    }


def _right(loaded: ExperimentData, model: CrowdClassifier) -> AnyArray:
    trial = loaded.trial
    assert trial.test_truth is not None, "methods are compared on items without labels"
    found = model.predict_proba(trial.test_features).argmax(axis=1)
    return np.asarray(found == trial.test_truth)


def _at_best_epoch(model: CrowdClassifier) -> float:
    """The mean log-likelihood of the held-out labels in the epoch that the search found."""
    return float(model.search_history_[model.epoch_ - 1]["validation"])
