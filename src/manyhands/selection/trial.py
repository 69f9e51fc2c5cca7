"""What methods are compared on: a crowd with features, and truth kept beside it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.annotations import Annotations, Sentences
from manyhands.core.arrays import AnyArray, Bools

UNKNOWN, UNSAID = -1, -2


@dataclass(frozen=True)
class Trial:
    """A crowd with features, and truth for scores where it is known.

    Of classes `truth` and `test_truth` are codes: `UNKNOWN` (-1) where the truth is not known,
    `UNSAID` (-2) where it is a class that nobody said, which no method can find. Of numbers they
    are numbers, NaN where not known. Where features are `Sentences`, the items are their tokens
    and truths are codes of tags; those of tags that nobody said, `further`, follow the others.

    Items of `test_features` have no labels; without them the network is scored on the items it was
    trained on.
    """

    features: Any
    annotations: Annotations
    truth: AnyArray | None = None
    test_features: Any = None
    test_truth: AnyArray | None = None
    further: tuple[str, ...] = ()

    @property
    def has_truth(self) -> bool:
        """Whether anything can be scored against a truth."""
        return self.test_truth is not None or self.truth is not None

    @property
    def task(self) -> str:
        """What is learnt: "classes" or "numbers" of items, "tags" of the tokens of sentences."""
        return "tags" if isinstance(self.features, Sentences) else self.annotations.kind

    @property
    def knows_all(self) -> bool:
        """Whether the truth of every labelled item is known, and can be learnt from."""
        if self.truth is None:
            return False
        if self.task == "numbers":
            return bool(np.isfinite(self.truth).all())
        return bool(((self.truth >= 0) & (self.truth < self.annotations.n_classes)).all())

    def truth_to_learn(self) -> AnyArray | None:
        """The truth of the labelled items by name, or as numbers."""
        if self.truth is None or self.task == "numbers":
            return self.truth
        return self.annotations.classes[self.truth]

    def tag_names(self, code_t: AnyArray) -> AnyArray:
        """Tags by name."""
        return np.array([*self.annotations.classes.tolist(), *self.further], dtype=object)[code_t]


def known_truth(truth: AnyArray) -> Bools:
    """Which truths are known: numbers that are finite, codes that are not `UNKNOWN`."""
    return np.isfinite(truth) if truth.dtype.kind == "f" else np.asarray(truth != UNKNOWN)
