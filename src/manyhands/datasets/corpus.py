"""A public corpus as it is used: features, labels of the crowd, and truth kept beside them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manyhands.annotations import Annotations, Sentences
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError
from manyhands.datasets.files import missing_files, require_files


@dataclass(frozen=True)
class Split:
    """Items with features whose truth is known; nobody of the crowd labelled them.

    `shares` (i, k) tells how other people labelled them, where that is known.
    """

    features: Any
    truth: AnyArray
    shares: Floats | None = None


@dataclass(frozen=True)
class Corpus:
    """Row i of `features` and `truth` belongs to item i of `annotations`; truth is for scores.

    Features are an array with a row per item (texts are an array of strings), a sparse matrix, or
    `Sentences`, whose tokens are the items. `notes` tell what is unusual about the labels.
    """

    name: str
    features: Any
    annotations: Annotations
    truth: AnyArray
    test: Split
    valid: Split | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parts = {"features": n_rows(self.features), "truth": len(self.truth)}
        for what, n_found in parts.items():
            if n_found != self.annotations.n_items:
                raise DataError(
                    f"{self.name}: {n_found} rows of {what} for {self.annotations.n_items} items"
                )
        for name, split in (("test", self.test), ("valid", self.valid)):
            if split is not None:
                self._check_split(name, split)

    def _check_split(self, name: str, split: Split) -> None:
        if n_rows(split.features) != len(split.truth):
            raise DataError(
                f"{self.name}: {n_rows(split.features)} rows of {name} features for "
                f"{len(split.truth)} truths"
            )
        expected = (len(split.truth), self.annotations.n_classes)
        if split.shares is not None and split.shares.shape != expected:
            raise DataError(
                f"{self.name}: {name} shares of shape {split.shares.shape} for "
                f"{expected[0]} truths and {expected[1]} classes"
            )


def n_rows(features: Any) -> int:
    """How many items features belong to: tokens of sentences, rows of anything else."""
    if isinstance(features, Sentences):
        return features.n_tokens
    return int(features.shape[0])


@dataclass(frozen=True)
class Reader:
    """How a corpus is found in a folder and read.

    `feature_sets` tells which files each set of features needs besides `files`; the first set is
    the default.
    """

    folder: str
    about: str
    files: Sequence[str]
    feature_sets: Mapping[str, Sequence[str]]
    load: Callable[[Path, str], Corpus]

    def needed(self, features: str | None = None) -> list[str]:
        """The files that one set of features needs."""
        chosen = self._chosen(features)
        return [*self.files, *self.feature_sets[chosen]]

    def missing(self, data: str | Path, features: str | None = None) -> list[str]:
        """The files that are not there, for one set of features."""
        return missing_files(Path(data) / self.folder, self.needed(features))

    def read(self, data: str | Path, features: str | None = None) -> Corpus:
        """The corpus in a folder of corpora, with one of its feature sets."""
        home = Path(data) / self.folder
        require_files(home, self.needed(features), self.folder)
        return self.load(home, self._chosen(features))

    def _chosen(self, features: str | None) -> str:
        chosen = features or next(iter(self.feature_sets))
        if chosen not in self.feature_sets:
            known = ", ".join(self.feature_sets)
            raise DataError(f"{self.folder} has no features {chosen!r}; known: {known}")
        return chosen
