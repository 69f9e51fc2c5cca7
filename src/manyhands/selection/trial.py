"""What methods are compared on: a crowd with features, and the truth for scores."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.annotations import (
    Annotations,
    Sentences,
    TaggedSentences,
    TokenLabels,
    Truth,
    as_truths,
)
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.datasets import Corpus
from manyhands.engine.classification import known_truth
from manyhands.engine.task import UNSAID, Task
from manyhands.engine.tasks import TASKS, task_of
from manyhands.estimators.labels import align_items, require_annotations
from manyhands.io import Features


@dataclass(frozen=True)
class Trial:
    """A crowd with features, and the truth for scores where it is known.

    For classification `truth` and `test_truth` are class codes: `UNKNOWN` (-1) where the truth is
    not known, `UNSAID` (-2) where it is a class that nobody said, which no method can find. For
    regression they are numbers, NaN where not known, and for sets a row per item that tells which
    classes apply (`Multilabel.scored_truths`). Where features are `Sentences`, the items are
    their tokens and truths are codes of tags; codes of `unsaid_tags`, which nobody said, come last.

    Items of `test_features` have no labels; without them the network is scored on the items it was
    trained on.
    """

    features: Any
    annotations: Annotations
    truth: AnyArray | None = None
    test_features: Any = None
    test_truth: AnyArray | None = None
    unsaid_tags: tuple[str, ...] = ()

    @property
    def has_truth(self) -> bool:
        """Whether anything can be scored against a truth."""
        return self.test_truth is not None or self.truth is not None

    @property
    def task(self) -> str:
        """The name of the task: classification, regression or tagging."""
        return self.task_object.name

    @property
    def task_object(self) -> Task:
        """The task."""
        if isinstance(self.features, Sentences):
            return TASKS["tagging"]
        return task_of(self.annotations.kind)

    @property
    def knows_all(self) -> bool:
        """Whether the truth of every labelled item is known, and can be learnt from."""
        if self.truth is None:
            return False
        return self.task_object.knows_all(self.truth, self.annotations)

    def truth_to_learn(self) -> Any:
        """The truth of the labelled items by name, or as numbers."""
        if self.truth is None:
            return None
        return self.task_object.truth_to_learn(self.truth, self.annotations)

    def scored_truth(self, truth: AnyArray | None) -> AnyArray | None:
        """A truth in the form that the task scores: codes or numbers, for tagging names."""
        if truth is None or self.task != "tagging":
            return truth
        names = [*self.annotations.classes.tolist(), *self.unsaid_tags]
        return np.array(names, dtype=object)[truth]


def trial_of_corpus(corpus: Corpus) -> Trial:
    """Train on the labelled items of a corpus, score on its test items."""
    ann, test = corpus.annotations, corpus.test
    if ann.kind == "numbers":
        return Trial(corpus.features, ann, corpus.truth, test.features, test.truth)
    truth, test_truth = (_codes(ann, each.truth.tolist()) for each in (corpus, test))
    return Trial(corpus.features, ann, truth, test.features, test_truth)


def trial_of_files(features: Features, annotations: Annotations, truth: Truth | None) -> Trial:
    """Train on the labelled items; score on items with a truth and no labels, if there are any.

    `truth` maps items to classes or numbers.
    """
    features = features.matched(annotations.items[annotations.labels_per_item > 0].tolist())
    ann = align_items(
        require_annotations(annotations, annotations.kind), len(features), features.items
    )
    if truth is None:
        return Trial(features.values, ann)
    truths = task_of(ann.kind).scored_truths(as_truths(truth, ann.item_vocabulary), ann)
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

    The sentences of the truth are the same, or others, which are then for testing.
    """
    ann = labels.annotations
    if truth is None:
        return Trial(labels.sentences, ann)
    said = {str(name): code for code, name in enumerate(ann.classes)}
    unsaid = tuple(sorted({str(tag) for tag in truth.tags} - said.keys()))
    code_of = said | {name: len(said) + place for place, name in enumerate(unsaid)}
    codes = np.array([code_of[str(tag)] for tag in truth.tags], dtype=np.int64)
    one, other = labels.sentences, truth.sentences
    if np.array_equal(one.offsets, other.offsets) and np.array_equal(one.word, other.word):
        return Trial(one, ann, codes, unsaid_tags=unsaid)
    return Trial(one, ann, None, other, codes, unsaid)


def _codes(annotations: Annotations, names: list[Any]) -> AnyArray:
    vocabulary = annotations.class_vocabulary
    assert vocabulary is not None, "labels are classes here"
    codes = vocabulary.codes(names)
    return np.where(codes < 0, UNSAID, codes)
