"""How many entities were found: an entity counts when its tokens and its type are all right.

Micro scores, over all entities together: precision = right / said, recall = right / true, and F1
their harmonic mean. An I-X that follows nothing begins an entity (the CoNLL convention).
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
    """Entities that are true, that were said, and that are right: both."""

    n_true: int
    n_said: int
    n_right: int

    @property
    def precision(self) -> float:
        """The share of the entities said that are right; 0 when none was said."""
        return self.n_right / self.n_said if self.n_said else 0.0

    @property
    def recall(self) -> float:
        """The share of the true entities that were said; 0 when there is none."""
        return self.n_right / self.n_true if self.n_true else 0.0

    @property
    def f1(self) -> float:
        """2 right / (true + said), the harmonic mean of precision and recall."""
        shown = self.n_true + self.n_said
        return 2 * self.n_right / shown if shown else 0.0

    def as_dict(self) -> dict[str, float]:
        """The scores by name."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "n_true": self.n_true,
            "n_said": self.n_said,
        }


@dataclass(frozen=True)
class EntityScores(EntityCounts):
    """The scores over all entities, and `by_type`."""

    by_type: Mapping[str, EntityCounts]


def score_entities(truth_t: Any, said_t: Any, offsets: Offsets) -> EntityScores:
    """Score the tags of all tokens, by name; sentences begin at `offsets`.

    >>> truth, said = ["B-PER", "I-PER", "O", "B-LOC"], ["B-PER", "O", "O", "B-LOC"]
    >>> score_entities(truth, said, np.array([0, 4])).f1
    0.5
    """
    if not len(truth_t) == len(said_t) == offsets[-1]:
        raise DataError(
            f"{len(truth_t)} true tags and {len(said_t)} tags said for {offsets[-1]} tokens"
        )
    scheme = TagScheme.covering({str(tag) for tags in (truth_t, said_t) for tag in tags})
    truth, said = (find_spans(scheme.codes(t), offsets, scheme) for t in (truth_t, said_t))
    n_tokens = int(offsets[-1]) + 1
    is_right = np.isin(_keys(truth, n_tokens), _keys(said, n_tokens), assume_unique=True)
    n_types = len(scheme.types)
    counts = [np.bincount(c, minlength=n_types) for c in (truth.type, said.type)]
    counts.append(np.bincount(truth.type[is_right], minlength=n_types))
    by_type = {
        name: EntityCounts(*(int(count[k]) for count in counts))
        for k, name in enumerate(scheme.types)
    }
    return EntityScores(len(truth), len(said), int(is_right.sum()), by_type)


def score_entity_lists(
    truth: Sequence[Sequence[str]], said: Sequence[Sequence[str]]
) -> EntityScores:
    """Score a list of tags per sentence.

    >>> score_entity_lists([["B-PER"], ["O"]], [["B-PER"], ["B-LOC"]]).precision
    0.5
    """
    lengths = [len(tags) for tags in truth]
    if lengths != [len(tags) for tags in said]:
        raise DataError("the sentences of truth and of what was said differ in length or number")
    return score_entities(_flat(truth), _flat(said), offsets_from_lengths(lengths))


def _keys(spans: Spans, n_tokens: int) -> AnyArray:
    """One number per span that tells first token, end and type; no two spans share one."""
    return np.asarray((spans.type * n_tokens + spans.first) * n_tokens + spans.end)


def _flat(tags: Iterable[Sequence[str]]) -> AnyArray:
    return object_array([tag for each in tags for tag in each])
