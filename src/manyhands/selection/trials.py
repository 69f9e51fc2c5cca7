"""What methods are compared on, from a public corpus or from files of one's own."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from manyhands.annotations import Annotations, Sentences, TaggedSentences, TokenLabels
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.datasets import Corpus
from manyhands.estimators.alignment import aligned, require_annotations, truth_numbers
from manyhands.io import Features
from manyhands.selection.trial import UNKNOWN, UNSAID, Trial, known_truth


def trial_of_corpus(corpus: Corpus) -> Trial:
    """Train on the labelled items of a corpus, score on its test items."""
    ann, test = corpus.annotations, corpus.test
    if ann.kind == "numbers":
        return Trial(corpus.features, ann, corpus.truth, test.features, test.truth)
    return Trial(
        corpus.features,
        ann,
        _codes(ann, corpus.truth.tolist()),
        test.features,
        _codes(ann, test.truth.tolist()),
    )


def trial_of_files(
    features: Features, annotations: Annotations, truth: Mapping[Any, Any] | None
) -> Trial:
    """Train on the labelled items; score on items with a truth and no labels, if there are any."""
    ann = aligned(require_annotations(annotations, annotations.kind), len(features), features.items)
    if truth is None:
        return Trial(features.values, ann)
    truths = _truths(ann, truth)
    known = known_truth(truths)
    if not known.any():
        raise DataError("not one item of the truth table has features; do the ids match?")
    labelled = ann.labels_per_item > 0
    unseen = ~labelled & known
    if not unseen.any():
        return Trial(features.values, ann, truths)
    seen = np.flatnonzero(labelled)
    return Trial(
        features.values[seen], ann[seen], truths[seen], features.values[unseen], truths[unseen]
    )


def trial_of_tokens(labels: TokenLabels, truth: TaggedSentences | None = None) -> Trial:
    """Train on sentences whose tokens were tagged; score on the sentences of the truth.

    These are the same sentences, or others, which then are for testing.
    """
    ann = labels.annotations
    if truth is None:
        return Trial(labels.sentences, ann)
    said = {str(name): code for code, name in enumerate(ann.classes)}
    further = tuple(sorted({str(tag) for tag in truth.tags} - said.keys()))
    code_of = said | {name: len(said) + place for place, name in enumerate(further)}
    codes = np.array([code_of[str(tag)] for tag in truth.tags], dtype=np.int64)
    if are_same(labels.sentences, truth.sentences):
        return Trial(labels.sentences, ann, codes, further=further)
    return Trial(labels.sentences, ann, None, truth.sentences, codes, further)


def are_same(one: Sentences, other: Sentences) -> bool:
    """Whether these are the same words in the same sentences."""
    same = np.array_equal(one.offsets, other.offsets)
    return same and np.array_equal(one.word, other.word)


def _truths(annotations: Annotations, truth: Mapping[Any, Any]) -> AnyArray:
    """The truth of every item, as a code or a number."""
    if annotations.kind == "numbers":
        return np.asarray(truth_numbers(truth, annotations))
    codes = np.full(annotations.n_items, UNKNOWN)
    row = annotations.item_vocabulary.codes(truth)
    given = _codes(annotations, list(truth.values()))
    codes[row[row >= 0]] = given[row >= 0]
    return codes


def _codes(annotations: Annotations, names: list[Any]) -> AnyArray:
    vocabulary = annotations.class_vocabulary
    assert vocabulary is not None, "labels are classes here"
    codes = vocabulary.codes(names)
    return np.where(codes < 0, UNSAID, codes)
