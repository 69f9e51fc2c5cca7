"""How what was learnt is scored against the truth of a trial: classes, numbers or tags."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from manyhands.aggregation import AGGREGATORS, aggregate_tokens
from manyhands.core.arrays import AnyArray
from manyhands.estimators.base import CrowdEstimator
from manyhands.estimators.classifier import CrowdClassifier
from manyhands.estimators.regressor import CrowdRegressor
from manyhands.estimators.tagger import CrowdTagger
from manyhands.evaluation import accuracy_score, log_loss, regression_scores, score_entities
from manyhands.selection.trial import UNSAID, Trial, known_truth

NONE = float("nan")


class Scores(ABC):
    """The scores of one kind of learning; `key` ranks, the `beside` stand in the table too."""

    estimator: ClassVar[Callable[..., CrowdEstimator]]
    aggregators: ClassVar[str] = "classes"  # the kind of aggregators that do the same
    key: ClassVar[str]
    better: ClassVar[int] = 1  # -1 where less is better
    worst: ClassVar[str] = "lowest"
    beside: ClassVar[tuple[str, ...]]
    by_truth: ClassVar[str]
    by_labels = "mean log-probability of held-out labels (no truth was used)"

    @abstractmethod
    def of_network(
        self, trial: Trial, model: Any, where: Any, wanted: AnyArray | None
    ) -> dict[str, float]:
        """The network alone at some items, against their truth: scores by name."""

    @abstractmethod
    def of_consensus(self, trial: Trial, consensus: Any) -> dict[str, float]:
        """What is believed about the labelled items, against their truth: scores by name."""

    def consensus(self, trial: Trial, aggregator: str) -> Any:
        """What labels alone say of the labelled items."""
        return AGGREGATORS[aggregator]().fit(trial.annotations)


class ClassificationScores(Scores):
    """The share of items whose class is found."""

    estimator = CrowdClassifier
    key, beside = "accuracy", ("log_loss",)
    by_truth = "accuracy against the truth"

    def of_network(
        self, trial: Trial, model: Any, where: Any, wanted: AnyArray | None
    ) -> dict[str, float]:
        """See `Scores.of_network`."""
        found_ik = model.predict_proba(where)
        return {"accuracy": _accuracy(wanted, found_ik), "log_loss": _log_loss(wanted, found_ik)}

    def of_consensus(self, trial: Trial, consensus: Any) -> dict[str, float]:
        """See `Scores.of_consensus`."""
        return {"accuracy": _accuracy(trial.truth, consensus.probabilities)}


class RegressionScores(Scores):
    """How far numbers are from the truth."""

    estimator = CrowdRegressor
    aggregators = "numbers"
    key, better, worst, beside = "mae", -1, "highest", ("rmse", "r2")
    by_truth = "mean absolute error against the truth"
    by_labels = "mean log density of held-out labels (no truth was used)"

    def of_network(
        self, trial: Trial, model: Any, where: Any, wanted: AnyArray | None
    ) -> dict[str, float]:
        """See `Scores.of_network`."""
        return _far(wanted, model.predict(where))

    def of_consensus(self, trial: Trial, consensus: Any) -> dict[str, float]:
        """See `Scores.of_consensus`."""
        return _far(trial.truth, consensus.labels)


class TaggingScores(Scores):
    """How many entities are found."""

    estimator = CrowdTagger
    key, beside = "f1", ("precision", "recall")
    by_truth = "F1 of the entities against the truth"

    def of_network(
        self, trial: Trial, model: Any, where: Any, wanted: AnyArray | None
    ) -> dict[str, float]:
        """See `Scores.of_network`."""
        said = [tag for tags in model.predict(where) for tag in tags]
        return _entities(trial, wanted, said, where)

    def of_consensus(self, trial: Trial, consensus: Any) -> dict[str, float]:
        """See `Scores.of_consensus`."""
        return _entities(trial, trial.truth, consensus.tags, trial.features)

    def consensus(self, trial: Trial, aggregator: str) -> Any:
        """See `Scores.consensus`."""
        return aggregate_tokens(trial.features, trial.annotations, aggregator)


SCORES: dict[str, Scores] = {
    "classes": ClassificationScores(),
    "numbers": RegressionScores(),
    "tags": TaggingScores(),
}


def scores_of(trial: Trial, model: CrowdEstimator) -> dict[str, float]:
    """A trained model against the truth: the network alone, and network and labels together."""
    how, tested = SCORES[trial.task], trial.test_features is not None
    where = trial.test_features if tested else trial.features
    scores = how.of_network(trial, model, where, trial.test_truth if tested else trial.truth)
    if trial.truth is not None:
        together = model.infer(trial.features, trial.annotations)
        scores["inferred"] = how.of_consensus(trial, together)[how.key]
    return {name: float(score) for name, score in scores.items()}


def _accuracy(truth: AnyArray | None, probabilities_ik: AnyArray | None) -> float:
    if truth is None or probabilities_ik is None or not known_truth(truth).any():
        return NONE
    known = known_truth(truth)
    return accuracy_score(truth[known], probabilities_ik[known].argmax(axis=1))


def _log_loss(truth: AnyArray | None, probabilities_ik: AnyArray) -> float:
    if truth is None or not known_truth(truth).any():
        return NONE
    known = known_truth(truth)
    # A class nobody said stands in a column of its own, which every method holds impossible.
    wide_ik = np.pad(probabilities_ik[known], ((0, 0), (0, 1)))
    return log_loss(np.where(truth[known] == UNSAID, -1, truth[known]), wide_ik)


def _far(truth: AnyArray | None, said: AnyArray) -> dict[str, float]:
    names = ("mae", "rmse", "r2")
    if truth is None or not known_truth(truth).any():
        return dict.fromkeys(names, NONE)
    known = known_truth(truth)
    found = regression_scores(truth[known], said[known])
    return {name: found[name] for name in names}


def _entities(trial: Trial, truth: AnyArray | None, said: Any, sentences: Any) -> dict[str, float]:
    names = ("f1", "precision", "recall")
    if truth is None:
        return dict.fromkeys(names, NONE)
    found = score_entities(trial.tag_names(truth), said, sentences.offsets).as_dict()
    return {name: found[name] for name in names}
