"""Runs on texts and sentences: numbers from reviews, tags from news."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import manyhands
from manyhands.core.errors import DataError
from manyhands.datasets import DATASETS
from manyhands.estimators import CrowdRegressor, CrowdTagger
from manyhands.evaluation import regression_scores, score_entities
from manyhands.experiments.sources import CorpusSource
from manyhands.experiments.tasks import MethodTask
from manyhands.methods import METHODS

VECTORS = "word_vectors"  # folder beside the corpora
_SUFFIXES = (".npz", ".txt", ".vec")
_MEASURED = 1  # raised when what is measured changes
_COUNTED = {"moviereviews": "moviereviews-words"}  # the release with counts of words


def word_vectors(data: str | None) -> Path:
    """The file of word vectors in a folder of corpora: the first, by name."""
    folder = Path(str(data)) / VECTORS
    found = sorted(each for each in folder.glob("*") if each.suffix in _SUFFIXES)
    if not found:
        raise DataError(f"{folder}: no word vectors; put a file of GloVe's format or an .npz there")
    return found[0]


@dataclass(frozen=True)
class TextTask(MethodTask):
    """A method on a corpus of texts or sentences, with a seed."""

    source: CorpusSource
    settings: Mapping[str, Any] = field(default_factory=dict)

    def identity(self) -> dict[str, Any]:
        """See `Task.identity`."""
        return {
            "source": self.source.identity(),
            "method": self.method,
            "settings": dict(self.settings),
            "seed": self.seed,
            "text measures": _MEASURED,
            "manyhands": manyhands.__version__,
        }

    @property
    def _how(self) -> dict[str, Any]:
        return {"seed": self.seed, "progress": False, **self.settings.get("training", {})}

    def _scored(self, scores: Mapping[str, float], epochs: int) -> dict[str, Any]:
        whole = {**scores, "epochs": float(epochs)}
        return {"scores": {name: round(float(value), 6) for name, value in whole.items()}}


class NumberTask(TextTask):
    """A `CrowdRegressor` on texts, or on counts of words where its method takes these."""

    def outcome(self, data: str | None) -> dict[str, Any]:
        """See `Task.outcome`: scores of the numbers on test items nobody labelled."""
        method = METHODS[self.method]
        name, vectors = self.source.dataset, None
        if method.needs_counts:
            name = _COUNTED.get(name, name)
        else:
            vectors = word_vectors(data)
        corpus = DATASETS[name].read(str(data))
        model = CrowdRegressor(method=self.method, word_vectors=vectors, **self._how)
        truth = corpus.truth if method.needs_truth else None
        model.fit(corpus.features, corpus.annotations, truth=truth)
        found = model.predict(corpus.test.features)
        return self._scored(regression_scores(corpus.test.truth, found), model.epoch_)


class TagTask(TextTask):
    """A `CrowdTagger` on sentences."""

    def outcome(self, data: str | None) -> dict[str, Any]:
        """See `Task.outcome`: scores of the entities in test sentences nobody labelled."""
        corpus = DATASETS[self.source.dataset].read(str(data))
        method = METHODS[self.method]
        vectors = None if method.required_network else word_vectors(data)
        model = CrowdTagger(method=self.method, word_vectors=vectors, **self._how)
        truth = corpus.truth if method.needs_truth else None
        model.fit(corpus.features, corpus.annotations, truth=truth)
        sentences = corpus.test.features
        said = [tag for tags in model.predict(sentences) for tag in tags]
        found = score_entities(corpus.test.truth, np.array(said, dtype=object), sentences.offsets)
        scores = {"precision": found.precision, "recall": found.recall, "f1": found.f1}
        return self._scored(scores, model.epoch_)


TASKS: dict[str, type[MethodTask]] = {"moviereviews": NumberTask, "ner": TagTask}
