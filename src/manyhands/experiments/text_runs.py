"""Runs on corpora of texts and sentences."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from manyhands.core.errors import DataError
from manyhands.datasets import DATASETS, Split
from manyhands.estimators import CrowdRegressor, CrowdTagger
from manyhands.evaluation import regression_scores, score_entities
from manyhands.experiments.data import CorpusSource
from manyhands.experiments.encoders import with_encoder
from manyhands.experiments.runs import MethodRun, configured
from manyhands.methods import METHODS

VECTORS = "word_vectors"  # a folder beside the corpora
_SUFFIXES = (".npz", ".txt", ".vec")
_COUNTED = {"moviereviews": "moviereviews-words"}  # the release with word counts


@dataclass(frozen=True)
class TextRun(MethodRun):
    """A method on a corpus of texts or sentences, with a seed."""

    source: CorpusSource
    settings: Mapping[str, Any] = field(default_factory=dict)

    revision: ClassVar[int] = 1
    estimator: ClassVar[type[CrowdRegressor] | type[CrowdTagger]]

    @abstractmethod
    def scores_on(self, model: Any, test: Split) -> dict[str, float]:
        """The scores of predictions for test items without crowd labels."""

    def outcome(self, data: str | None) -> dict[str, Any]:
        """The scores of the trained model."""
        method, name = METHODS[self.method], self.source.dataset
        corpus = DATASETS[_COUNTED.get(name, name) if method.needs_counts else name].read(str(data))
        chosen, given = configured(self.method, with_encoder(self.settings, data))
        settings = {"seed": self.seed, "progress": False, **given}
        own_words = method.needs_counts or method.required_network or "network" in given
        vectors = None if own_words else word_vectors(data)
        model = self.estimator(method=chosen, word_vectors=vectors, **settings)
        truth = corpus.truth if method.needs_truth else None
        model.fit(corpus.features, corpus.annotations, truth=truth)
        scores = self.scores_on(model, corpus.test) | {"epochs": float(model.epoch_)}
        return {"scores": {name: round(float(value), 6) for name, value in scores.items()}}


class RegressionRun(TextRun):
    """A `CrowdRegressor` on texts, or on word counts if its method takes them."""

    kind: ClassVar[str] = "regression"
    estimator = CrowdRegressor

    def scores_on(self, model: CrowdRegressor, test: Split) -> dict[str, float]:
        """See `TextRun.scores_on`; the scores of ratings."""
        return regression_scores(test.truth, model.predict(test.features))


class TaggingRun(TextRun):
    """A `CrowdTagger` on sentences."""

    kind: ClassVar[str] = "tagging"
    estimator = CrowdTagger

    def scores_on(self, model: CrowdTagger, test: Split) -> dict[str, float]:
        """See `TextRun.scores_on`; the scores of entities."""
        tags = [tag for sentence in model.predict(test.features) for tag in sentence]
        found = score_entities(test.truth, np.array(tags, dtype=object), test.features.offsets)
        return {"precision": found.precision, "recall": found.recall, "f1": found.f1}


TEXT_RUNS: dict[str, type[TextRun]] = {"moviereviews": RegressionRun, "ner": TaggingRun}


def word_vectors(data: str | None) -> Path:
    """The file of word vectors beside the corpora: the first by name."""
    folder = Path(str(data)) / VECTORS
    found = sorted(each for each in folder.glob("*") if each.suffix in _SUFFIXES)
    if not found:
        raise DataError(f"{folder}: no word vectors; put a file of GloVe's format or an .npz there")
    return found[0]
