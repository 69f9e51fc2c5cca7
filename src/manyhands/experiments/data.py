"""Where the data of an experiment come from: a public corpus, or a simulated crowd."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from manyhands.annotations import Annotations, Items
from manyhands.core.arrays import Floats
from manyhands.core.settings import generator, require_choice
from manyhands.datasets import DATASETS, ITEM_SETS, Corpus, Split
from manyhands.selection import Trial, trial_of_corpus
from manyhands.simulation import SCENARIOS
from manyhands.simulation.crowds import SimulatedCrowd

NO_FOLDER = "give --data, the folder that holds the corpora"
TEST_SETS = ("test", "valid+test", "labelled")
_TEST_SHARE = 0.2  # of the labelled items, where labels of test items are needed
_SECONDS = {
    "labelme": 4.0, "music": 7.0, "sentiment": 20.0, "cifar10": 60.0, "common-noise": 16.0,
    "perturbed-networks": 6.0, "md-agreement": 600.0, "convabuse": 600.0, "sentiment/texts": 600.0,
    "labelme/images": 900.0,
}  # fmt: skip
_USUAL_SECONDS = 30.0


@dataclass(frozen=True)
class ExperimentData:
    """A crowd to learn from, and what else is known about it.

    `label_shares` holds the share of each class among the labels of each test item. `valid` holds
    items with clean labels that a paper may have used for validation. `crowd` is everything known
    about a simulated crowd, as its scenario returns it. `folder` is the folder of the corpora.
    """

    trial: Trial
    label_shares: Floats | None = None
    valid: Split | None = None
    crowd: Any = None
    folder: str | None = None


@dataclass(frozen=True)
class Source(ABC):
    """What a run learns from; it can be loaded any number of times."""

    @abstractmethod
    def unavailable(self, data: str | None) -> str:
        """Why it cannot be loaded from this folder; empty if it can."""

    def fingerprint(self) -> dict[str, Any]:
        """What distinguishes it from other sources."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    @abstractmethod
    def expected_seconds(self) -> float:
        """The usual time of a run on it that searches for its epoch, on one core."""


@dataclass(frozen=True)
class DataSource(Source):
    """A crowd that can be loaded.

    `same_for_seeds` tells whether it is the same for every seed.
    """

    same_for_seeds: ClassVar[bool] = False

    @abstractmethod
    def load(self, data: str | None, seed: int) -> ExperimentData:
        """The crowd of a seed; a corpus is the same for every seed."""


@dataclass(frozen=True)
class CorpusSource(DataSource):
    """A corpus of `DATASETS` by name, with one of its feature sets (None: its first).

    `tested_on` "valid+test" scores on both parts; "labelled" keeps some of the items with crowd
    labels for testing, together with their labels. `anonymous` hides who gave which label: every
    label then has an annotator of its own.
    """

    same_for_seeds = True
    dataset: str
    features: str | None = None
    tested_on: str = "test"
    anonymous: bool = False

    def __post_init__(self) -> None:
        require_choice("tested_on", self.tested_on, TEST_SETS)

    def unavailable(self, data: str | None) -> str:
        """See `DataSource.unavailable`."""
        if self.dataset not in DATASETS:
            return f"there is no reader of {self.dataset}"
        if data is None:
            return NO_FOLDER
        return first_missing(DATASETS[self.dataset].missing(data, self.features))

    def load(self, data: str | None, seed: int) -> ExperimentData:
        """See `DataSource.load`."""
        return _load_corpus(self, str(data))

    @property
    def expected_seconds(self) -> float:
        """See `DataSource.expected_seconds`."""
        usual = _SECONDS.get(self.dataset, _USUAL_SECONDS)
        return _SECONDS.get(f"{self.dataset}/{self.features}", usual)


@dataclass(frozen=True)
class ScenarioSource(DataSource):
    """A scenario of `SCENARIOS` with settings, simulated anew for every seed.

    `items` names a set of `ITEM_SETS` that the crowd labels; None lets the scenario draw items.
    """

    scenario: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    items: str | None = None

    def unavailable(self, data: str | None) -> str:
        """See `DataSource.unavailable`."""
        if self.items is None:
            return ""
        return NO_FOLDER if data is None else first_missing(ITEM_SETS[self.items].missing(data))

    def load(self, data: str | None, seed: int) -> ExperimentData:
        """See `DataSource.load`."""
        items = None if self.items is None else read_items(self.items, str(data))
        settings = SCENARIOS[self.scenario].make_settings({**self.settings, "seed": seed})
        crowd = self.simulate(settings, items, data)
        test = crowd.test
        trial = Trial(
            np.asarray(crowd.features),
            crowd.annotations,
            crowd.truth,
            None if test is None else test.features,
            None if test is None else test.truth,
        )
        return ExperimentData(trial, crowd=crowd)

    def simulate(self, settings: Any, items: Items | None, data: str | None) -> SimulatedCrowd:
        """The crowd of these settings that labels these items."""
        crowd: SimulatedCrowd = SCENARIOS[self.scenario](settings, items)
        return crowd

    @property
    def expected_seconds(self) -> float:
        """See `DataSource.expected_seconds`."""
        return _SECONDS.get(self.items or self.scenario, _USUAL_SECONDS)


def first_missing(files: Sequence[str]) -> str:
    """The first of the missing files, as a sentence; empty if none is missing."""
    return f"{files[0]} is not there" if files else ""


@lru_cache(maxsize=2)
def read_items(name: str, data: str) -> Items:
    """A set of items from the folder of the corpora; they are read once."""
    return ITEM_SETS[name].read(data)


@lru_cache(maxsize=2)
def _load_corpus(source: CorpusSource, data: str) -> ExperimentData:
    corpus = DATASETS[source.dataset].read(data, source.features)
    if source.tested_on == "labelled":
        return _tested_on_labelled(corpus)
    if source.tested_on == "valid+test" and corpus.valid is not None:
        valid, test = corpus.valid, corpus.test
        features = np.concatenate([valid.features, test.features])
        corpus = replace(corpus, test=Split(features, np.concatenate([valid.truth, test.truth])))
    if source.anonymous:
        ann = corpus.annotations
        everyone = np.arange(ann.n_annotations)
        item, label = ann.items[ann.item], ann.classes[ann.label]
        ann = Annotations.from_arrays(item, everyone, label, items=ann.items, classes=ann.classes)
        corpus = replace(corpus, annotations=ann)
    if corpus.annotations.kind == "numbers":
        test = corpus.test
        trial = Trial(corpus.features, corpus.annotations, corpus.truth, test.features, test.truth)
        return ExperimentData(trial, folder=data)
    return ExperimentData(
        trial_of_corpus(corpus), corpus.test.label_distribution, corpus.valid, folder=data
    )


def _tested_on_labelled(corpus: Corpus) -> ExperimentData:
    """A fifth of the labelled items for testing, with the shares of their labels."""
    ann = corpus.annotations
    order = generator(0, "items kept for testing").permutation(len(ann))
    test, kept = np.split(order, [round(_TEST_SHARE * len(ann))])
    trial = trial_of_corpus(
        replace(
            corpus,
            features=corpus.features[kept],
            annotations=ann[kept],
            truth=corpus.truth[kept],
            test=Split(corpus.features[test], corpus.truth[test]),
        )
    )
    tested = ann[test]
    counts_ik = np.zeros((len(tested), tested.n_classes))
    np.add.at(counts_ik, (tested.item, tested.label), 1.0)
    return ExperimentData(trial, counts_ik / counts_ik.sum(axis=1, keepdims=True))
