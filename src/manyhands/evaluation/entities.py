"""Scores of entities: a predicted entity is correct if its tokens and its type are correct.

Micro-averaged over all entities: precision = correct / predicted, recall = correct / true, and F1
is their harmonic mean. An orphan I-X begins an entity (the CoNLL convention).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.annotations import Spans, TagScheme, find_spans
from manyhands.annotations.grouping import offsets_from_lengths
from manyhands.core.arrays import AnyArray, Offsets, object_array
from manyhands.core.errors import DataError


@dataclass(frozen=True)
class EntityCounts:
    """Numbers of true, predicted and correctly predicted entities."""

    n_true: int
    n_predicted: int
    n_correct: int

    @property
    def precision(self) -> float:
        """The share of the predicted entities that are correct; 0 if there is none."""
        return self.n_correct / self.n_predicted if self.n_predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of the true entities that were predicted; 0 if there is none."""
        return self.n_correct / self.n_true if self.n_true else 0.0

    @property
    def f1(self) -> float:
        """2 correct / (true + predicted), the harmonic mean of precision and recall."""
        total = self.n_true + self.n_predicted
        return 2 * self.n_correct / total if total else 0.0

    def as_dict(self) -> dict[str, float]:
        """The scores by name."""
        names = ("precision", "recall", "f1", "n_true", "n_predicted")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class EntityScores(EntityCounts):
    """The scores of all entities, and of each type (`by_type`)."""

    by_type: Mapping[str, EntityCounts]


def score_entities(truth_t: Any, predicted_t: Any, offsets: Offsets) -> EntityScores:
    """Score the tags of all tokens, given by name; `offsets` are those of the sentences.

    >>> truth, predicted = ["B-PER", "I-PER", "O", "B-LOC"], ["B-PER", "O", "O", "B-LOC"]
    >>> score_entities(truth, predicted, np.array([0, 4])).f1
    0.5
    """
    if not len(truth_t) == len(predicted_t) == offsets[-1]:
        raise DataError(
            f"{len(truth_t)} true and {len(predicted_t)} predicted tags for {offsets[-1]} tokens"
        )
    scheme = TagScheme.covering({str(tag) for tags in (truth_t, predicted_t) for tag in tags})
    truth, predicted = (
        find_spans(scheme.codes(tags), offsets, scheme) for tags in (truth_t, predicted_t)
    )
    n_tokens = int(offsets[-1]) + 1
    is_correct = np.isin(_keys(truth, n_tokens), _keys(predicted, n_tokens), assume_unique=True)
    n_types = len(scheme.types)
    counts = [np.bincount(c, minlength=n_types) for c in (truth.type, predicted.type)]
    counts.append(np.bincount(truth.type[is_correct], minlength=n_types))
    by_type = {
        name: EntityCounts(*(int(count[k]) for count in counts))
        for k, name in enumerate(scheme.types)
    }
    return EntityScores(len(truth), len(predicted), int(is_correct.sum()), by_type)


def score_entity_lists(
    truth: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> EntityScores:
    """Score a list of tags per sentence.

    >>> score_entity_lists([["B-PER"], ["O"]], [["B-PER"], ["B-LOC"]]).precision
    0.5
    """
    lengths = [len(tags) for tags in truth]
    if lengths != [len(tags) for tags in predicted]:
        raise DataError("true and predicted sentences differ in number or length")
    return score_entities(_flat(truth), _flat(predicted), offsets_from_lengths(lengths))


def _keys(spans: Spans, n_tokens: int) -> AnyArray:
    """A unique number for the first token, the end and the type of each span."""
    return np.asarray((spans.type * n_tokens + spans.first) * n_tokens + spans.end)


def _flat(tags: Iterable[Sequence[str]]) -> AnyArray:
    return object_array([tag for each in tags for tag in each])
