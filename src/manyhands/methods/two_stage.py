"""Two-stage methods: aggregate the labels, then train a network on the consensus."""

from dataclasses import dataclass
from typing import Any

from torch import nn

from manyhands.aggregation import AGGREGATORS, Aggregator
from manyhands.core.errors import DataError
from manyhands.engine.classification import known_truth
from manyhands.engine.crowd_module import CrowdModule
from manyhands.engine.settings import TrainingSettings
from manyhands.methods.base import Method, NetworkMethod, Problem
from manyhands.methods.end_to_end import NO_WARM_UP


@dataclass(frozen=True)
class TwoStage(NetworkMethod):
    """Aggregate first, then train the network on the consensus.

    `aggregator` is any of `AGGREGATORS`, by name or with its own settings. With `hard` the network
    learns the most probable class, or all classes that tie in equal shares; otherwise it learns the
    whole posterior. The profiles of annotators are their confusions against the consensus. With an
    aggregator of numbers the network learns the consensus by squared error.
    """

    aggregator: str | Aggregator[Any]
    hard: bool = False

    @property
    def tasks(self) -> tuple[str, ...]:
        """See `Method.tasks`."""
        return ("regression",) if self._model.kind == "numbers" else ("classification", "tagging")

    @property
    def _model(self) -> Aggregator[Any]:
        made = self.aggregator
        return AGGREGATORS[made]() if isinstance(made, str) else made

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `NetworkMethod.make_module`."""
        consensus = self._model.fit(problem.annotations)
        return problem.task.module_on_consensus(network, consensus, hard=self.hard)


@dataclass(frozen=True)
class TrainOnTruth(NetworkMethod):
    """Train the network on the truth: an upper bound for methods that learn from labels."""

    tasks = ("classification", "regression", "tagging")
    needs_truth = True

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `NetworkMethod.make_module`."""
        truth, ann = problem.truth, problem.annotations
        if truth is None or not known_truth(truth)[ann.labels_per_item > 0].all():
            raise DataError(
                "the method 'truth' trains on the truth of every labelled item: give all of it"
            )
        return problem.task.module_on_truth(network, ann, truth)


ROWS: dict[str, Method] = {
    "two-stage-majority": TwoStage("majority", hard=True),
    "two-stage-soft-majority": TwoStage("majority"),
    "two-stage-dawid-skene": TwoStage("dawid-skene"),
    "two-stage-glad": TwoStage("glad"),
    "two-stage-worker-clustering": TwoStage("worker-clustering"),
    "truth": TrainOnTruth(),
    "two-stage-mean": TwoStage("mean", defaults=NO_WARM_UP),
    "two-stage-gaussian": TwoStage("gaussian", defaults=NO_WARM_UP),
}
