"""Runs on texts and sentences: ratings of reviews, tags of news."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from manyhands.core.errors import DataError
from manyhands.datasets import DATASETS
from manyhands.estimators import CrowdRegressor, CrowdTagger
from manyhands.evaluation import regression_scores, score_entities
from manyhands.experiments.data import CorpusSource
from manyhands.experiments.runs import MethodRun
from manyhands.methods import METHODS

VECTORS = "word_vectors"  # a folder beside the corpora
_SUFFIXES = (".npz", ".txt", ".vec")
_COUNTED = {"moviereviews": "moviereviews-words"}  # the release with word counts


def word_vectors(data: str | None) -> Path:
    """The file of word vectors beside the corpora: the first by name."""
    folder = Path(str(data)) / VECTORS
    found = sorted(each for each in folder.glob("*") if each.suffix in _SUFFIXES)
    if not found:
        raise DataError(f"{folder}: no word vectors; put a file of GloVe's format or an .npz there")
    return found[0]


@dataclass(frozen=True)
class TextRun(MethodRun):
    """A method on a corpus of texts or sentences, with a seed."""

    source: CorpusSource
    settings: Mapping[str, Any] = field(default_factory=dict)

    revision: ClassVar[int] = 1

    @property
    def _estimator_settings(self) -> dict[str, Any]:
        return {"seed": self.seed, "progress": False, **self.settings.get("training", {})}

    def _scores(self, scores: Mapping[str, float], epochs: int) -> dict[str, Any]:
        everything = {**scores, "epochs": float(epochs)}
        return {"scores": {name: round(float(value), 6) for name, value in everything.items()}}


class RegressionRun(TextRun):
    """A `CrowdRegressor` on texts, or on word counts if its method takes them."""

    kind: ClassVar[str] = "regression"

    def outcome(self, data: str | None) -> dict[str, Any]:
        """Scores of the predicted ratings on test items without crowd labels."""
        method = METHODS[self.method]
        name, vectors = self.source.dataset, None
        if method.needs_counts:
            name = _COUNTED.get(name, name)
        else:
            vectors = word_vectors(data)
        corpus = DATASETS[name].read(str(data))
        model = CrowdRegressor(method=self.method, word_vectors=vectors, **self._estimator_settings)
        truth = corpus.truth if method.needs_truth else None
        model.fit(corpus.features, corpus.annotations, truth=truth)
        predicted = model.predict(corpus.test.features)
        return self._scores(regression_scores(corpus.test.truth, predicted), model.epoch_)


class TaggingRun(TextRun):
    """A `CrowdTagger` on sentences."""

    kind: ClassVar[str] = "tagging"

    def outcome(self, data: str | None) -> dict[str, Any]:
        """Scores of the predicted entities in test sentences without crowd labels."""
        corpus = DATASETS[self.source.dataset].read(str(data))
        method = METHODS[self.method]
        vectors = None if method.required_network else word_vectors(data)
        model = CrowdTagger(method=self.method, word_vectors=vectors, **self._estimator_settings)
        truth = corpus.truth if method.needs_truth else None
        model.fit(corpus.features, corpus.annotations, truth=truth)
        sentences = corpus.test.features
        tags = [tag for sentence in model.predict(sentences) for tag in sentence]
        found = score_entities(corpus.test.truth, np.array(tags, dtype=object), sentences.offsets)
        scores = {"precision": found.precision, "recall": found.recall, "f1": found.f1}
        return self._scores(scores, model.epoch_)


TEXT_RUNS: dict[str, type[TextRun]] = {"moviereviews": RegressionRun, "ner": TaggingRun}
