"""Where an experiment's crowd comes from: a public corpus, or a simulated one."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from manyhands.annotations import Annotations, Items
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.seeds import generator
from manyhands.core.settings import require_choice
from manyhands.datasets import DATASETS, ITEM_SETS, Corpus, Split
from manyhands.selection import Trial, trial_of_corpus
from manyhands.simulation import SCENARIOS, SimulatedCrowd

NO_FOLDER = "give --data, the folder that holds the corpora"
PARTS = ("test", "valid+test", "labelled")
WHO = ("individual", "global")
_HELD_ITEMS = 0.2  # of the labelled items, where people's labels of unseen items are wanted


@dataclass(frozen=True)
class Material:
    """A crowd to learn from, and what else is known of it.

    `shares` is how people's labels of the test items are spread over the classes, `valid` has items
    with clean labels that a paper may have chosen by, and `crowd` is all that is known of a
    simulated crowd. `folder` holds the corpora, and what lies beside them.
    """

    trial: Trial
    shares: Floats | None = None
    valid: Split | None = None
    crowd: SimulatedCrowd | None = None
    folder: str | None = None


class Source(ABC):
    """A crowd that can be loaded as often as it is needed."""

    @abstractmethod
    def missing(self, data: str | None) -> str:
        """Why it cannot be used here; empty when it can."""

    @abstractmethod
    def load(self, data: str | None, seed: int) -> Material:
        """The crowd of a seed; a corpus is the same for every seed."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What tells it from others."""


@dataclass(frozen=True)
class CorpusSource(Source):
    """A corpus of `DATASETS` by name, with one of its feature sets (None: its first).

    `tested_on` "valid+test" scores on both parts, "labelled" keeps some of the items that people
    labelled for testing, with the spread of their labels. `who` "global" forgets who said what:
    every label then has an annotator of its own.
    """

    dataset: str
    features: str | None = None
    tested_on: str = "test"
    who: str = "individual"

    def __post_init__(self) -> None:
        require_choice("tested_on", self.tested_on, PARTS)
        require_choice("who", self.who, WHO)

    def missing(self, data: str | None) -> str:
        """See `Source.missing`."""
        if self.dataset not in DATASETS:
            return f"there is no reader of {self.dataset}"
        if data is None:
            return NO_FOLDER
        lacking = DATASETS[self.dataset].missing(data, self.features)
        return f"{lacking[0]} is not there" if lacking else ""

    def load(self, data: str | None, seed: int) -> Material:
        """See `Source.load`."""
        return _corpus_material(self, str(data))

    def identity(self) -> dict[str, Any]:
        """See `Source.identity`."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class ScenarioSource(Source):
    """A scenario of `SCENARIOS` with settings, drawn anew with every seed.

    `items` names a set of `ITEM_SETS` that the crowd labels; None lets the scenario draw them.
    """

    scenario: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    items: str | None = None

    def missing(self, data: str | None) -> str:
        """See `Source.missing`."""
        if self.items is None:
            return ""
        if data is None:
            return NO_FOLDER
        lacking = ITEM_SETS[self.items].missing(data)
        return f"{lacking[0]} is not there" if lacking else ""

    def load(self, data: str | None, seed: int) -> Material:
        """See `Source.load`."""
        scenario = SCENARIOS[self.scenario]
        items = None if self.items is None else _items(self.items, str(data))
        crowd = scenario(scenario.make_settings({**self.settings, "seed": seed}), items)
        test = crowd.test
        trial = Trial(
            np.asarray(crowd.features),
            crowd.annotations,
            crowd.truth,
            None if test is None else test.features,
            None if test is None else test.truth,
        )
        return Material(trial, crowd=crowd)

    def identity(self) -> dict[str, Any]:
        """See `Source.identity`."""
        known = {"scenario": self.scenario, "settings": dict(self.settings)}
        return known | ({} if self.items is None else {"items": self.items})


@lru_cache(maxsize=1)
def _items(name: str, data: str) -> Items:
    return ITEM_SETS[name].read(data)


@lru_cache(maxsize=2)
def _corpus_material(source: CorpusSource, data: str) -> Material:
    corpus = DATASETS[source.dataset].read(data, source.features)
    if source.tested_on == "labelled":
        return _tested_on_labelled(corpus)
    if source.tested_on == "valid+test" and corpus.valid is not None:
        corpus = replace(corpus, test=_both(corpus.valid, corpus.test))
    if source.who == "global":
        corpus = replace(corpus, annotations=_nameless(corpus.annotations))
    if corpus.annotations.kind == "numbers":
        test = corpus.test
        trial = Trial(corpus.features, corpus.annotations, corpus.truth, test.features, test.truth)
        return Material(trial, folder=data)
    return Material(
        trial_of_corpus(corpus), corpus.test.label_distribution, corpus.valid, folder=data
    )


def _both(first: Split, second: Split) -> Split:
    return Split(
        np.concatenate([first.features, second.features]),
        np.concatenate([first.truth, second.truth]),
    )


def _nameless(annotations: Annotations) -> Annotations:
    """The same labels, each of an annotator of its own."""
    return Annotations.from_arrays(
        annotations.items[annotations.item],
        np.arange(annotations.n_annotations),
        annotations.classes[annotations.label],
        items=annotations.items,
        classes=annotations.classes,
    )


def _tested_on_labelled(corpus: Corpus) -> Material:
    """A fifth of the labelled items for testing; what people said of them is their spread."""
    ann = corpus.annotations
    order = generator(0, "items kept for testing").permutation(len(ann))
    held, kept = np.split(order, [round(_HELD_ITEMS * len(ann))])
    trial = trial_of_corpus(
        replace(
            corpus,
            features=corpus.features[kept],
            annotations=ann[kept],
            truth=corpus.truth[kept],
            test=Split(corpus.features[held], corpus.truth[held]),
        )
    )
    return Material(trial, _shares(ann[held]))


def _shares(annotations: Annotations) -> AnyArray:
    counts_ik = np.zeros((len(annotations), annotations.n_classes))
    np.add.at(counts_ik, (annotations.item, annotations.label), 1.0)
    return np.asarray(counts_ik / counts_ik.sum(axis=1, keepdims=True))
