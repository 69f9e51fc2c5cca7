"""Networks that score items, trained from comparisons: which method ranks new items best."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from manyhands.core.arrays import AnyArray
from manyhands.core.settings import generator
from manyhands.datasets import PAIR_SETS, PairCorpus
from manyhands.estimators import CrowdRanker
from manyhands.experiments.data import NO_FOLDER, Source, first_missing
from manyhands.experiments.grid import GridColumn, GridExperiment
from manyhands.experiments.runs import Run, rounded
from manyhands.simulation import SCENARIOS

SIMULATED = "preferences"  # the scenario
_TEST_SHARE = 0.2  # of the items of a public set
_SECONDS = {SIMULATED: 5.0, "humour": 120.0}


class PairTrial(NamedTuple):
    """Items with comparisons to learn from, and other items with what is known of them.

    `test` are true scores, or comparisons of rows of `test_features`.
    """

    features: AnyArray
    comparisons: Any
    test_features: AnyArray
    test: Any


@dataclass(frozen=True)
class PairSource(Source):
    """A set of `PAIR_SETS`, or the scenario of preferences with some settings."""

    dataset: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def unavailable(self, data: str | None) -> str:
        """See `Source.unavailable`."""
        if self.dataset == SIMULATED:
            return ""
        return NO_FOLDER if data is None else first_missing(PAIR_SETS[self.dataset].missing(data))

    def load(self, data: str | None, seed: int) -> PairTrial:
        """The comparisons of a seed, which also draws the test items of a public set."""
        if self.dataset == SIMULATED:
            scenario = SCENARIOS[SIMULATED]
            crowd: Any = scenario(scenario.make_settings({**self.settings, "seed": seed}))
            return PairTrial(
                crowd.features, crowd.comparisons, crowd.test_features, crowd.test_scores
            )
        return with_test_items(PAIR_SETS[self.dataset].read(str(data)), seed)

    @property
    def expected_seconds(self) -> float:
        """See `Source.expected_seconds`."""
        return _SECONDS[self.dataset]


def with_test_items(corpus: PairCorpus, seed: int) -> PairTrial:
    """A fifth of the items for testing: no comparison that is learnt from has one of them."""
    pairs = corpus.comparisons
    order = generator(seed, "items kept for testing").permutation(pairs.n_items)
    kept = np.isin(np.arange(pairs.n_items), order[: round(_TEST_SHARE * pairs.n_items)])
    left, right = kept[pairs.left], kept[pairs.right]
    return PairTrial(corpus.features, pairs[~left & ~right], corpus.features, pairs[left & right])


@dataclass(frozen=True)
class PairRun(Run):
    """A ranker with a method and a seed, and the share of test pairs that it orders rightly."""

    source: PairSource
    method: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    kind: ClassVar[str] = "comparisons"

    def outcome(self, data: str | None) -> dict[str, Any]:
        """The accuracy on pairs of test items."""
        trial = self.source.load(data, self.seed)
        training = self.settings["training"]
        ranker = CrowdRanker(method=self.method, seed=self.seed, progress=False, **training)
        ranker.fit(trial.features, trial.comparisons)
        accuracy = ranker.score(trial.test_features, trial.test)
        return {"scores": {"accuracy": rounded(accuracy)}}

    @property
    def expected_seconds(self) -> float:
        """See `Run.expected_seconds`."""
        return self.source.expected_seconds


@dataclass(frozen=True)
class PairGrid(GridExperiment):
    """The share of pairs of new items in the right order, by method and set of comparisons."""

    measured: ClassVar[str] = "Pairs of new items in the right order"

    def source(self, given: Mapping[str, Any]) -> PairSource:
        """See `GridExperiment.source`."""
        return PairSource(given["dataset"], given.get("settings", {}))

    def run(self, column: GridColumn, method: str, seed: int) -> PairRun:
        """See `GridExperiment.run`."""
        source = cast(PairSource, column.source)  # see `source`
        return PairRun(source, method, seed, column.settings)


PREFERENCES = PairGrid("ours/preferences", "Training from comparisons of a crowd", "preferences")
