"""What methods are compared on, from a public corpus or from tables of one's own."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.datasets import Corpus
from manyhands.estimators.alignment import aligned, require_annotations
from manyhands.estimators.comparison import UNKNOWN, UNSAID, Trial
from manyhands.io import Features


def trial_of_corpus(corpus: Corpus) -> Trial:
    """Train on the labelled items of a corpus, score on its test items."""
    ann = corpus.annotations
    return Trial(
        corpus.features,
        ann,
        _codes(ann, corpus.truth.tolist()),
        corpus.test.features,
        _codes(ann, corpus.test.truth.tolist()),
    )


def trial_of_files(
    features: Features, annotations: Annotations, truth: Mapping[Any, Any] | None
) -> Trial:
    """Train on the labelled items; score on items with a truth and no labels, if there are any."""
    ann = aligned(require_annotations(annotations), len(features), features.items)
    if truth is None:
        return Trial(features.values, ann)
    codes = np.full(len(features), UNKNOWN)
    row = ann.item_vocabulary.codes(truth)
    given = _codes(ann, list(truth.values()))
    codes[row[row >= 0]] = given[row >= 0]
    if (codes == UNKNOWN).all():
        raise DataError("not one item of the truth table has features; do the ids match?")
    labelled = ann.labels_per_item > 0
    unseen = ~labelled & (codes != UNKNOWN)
    if not unseen.any():
        return Trial(features.values, ann, codes)
    seen = np.flatnonzero(labelled)
    return Trial(
        features.values[seen], ann[seen], codes[seen], features.values[unseen], codes[unseen]
    )


def _codes(annotations: Annotations, names: list[Any]) -> AnyArray:
    vocabulary = annotations.class_vocabulary
    assert vocabulary is not None, "labels are classes here"
    codes = vocabulary.codes(names)
    return np.where(codes < 0, UNSAID, codes)
