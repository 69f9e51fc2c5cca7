"""A public corpus as it is used: features, labels of the crowd, and truth kept beside them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError


@dataclass(frozen=True)
class Split:
    """Items with features whose truth is known; nobody of the crowd labelled them."""

    features: AnyArray
    truth: AnyArray


@dataclass(frozen=True)
class Corpus:
    """Row i of `features` and `truth` belongs to item i of `annotations`; truth is for scores."""

    name: str
    features: AnyArray
    annotations: Annotations
    truth: AnyArray
    test: Split
    valid: Split | None = None

    def __post_init__(self) -> None:
        parts = {"features": self.features, "truth": self.truth}
        for what, part in parts.items():
            if len(part) != self.annotations.n_items:
                raise DataError(
                    f"{self.name}: {len(part)} rows of {what} for {self.annotations.n_items} items"
                )
        for name, split in (("test", self.test), ("valid", self.valid)):
            if split is not None and len(split.features) != len(split.truth):
                raise DataError(
                    f"{self.name}: {len(split.features)} rows of {name} features for "
                    f"{len(split.truth)} truths"
                )


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

    def missing(self, data: str | Path, features: str | None = None) -> list[str]:
        """The files that are not there, for one set of features."""
        home = Path(data) / self.folder
        needed = [*self.files, *self.feature_sets[features or next(iter(self.feature_sets))]]
        return [str(home / name) for name in needed if not (home / name).is_file()]

    def read(self, data: str | Path, features: str | None = None) -> Corpus:
        """The corpus in a folder of corpora, with one of its feature sets."""
        chosen = features or next(iter(self.feature_sets))
        if chosen not in self.feature_sets:
            known = ", ".join(self.feature_sets)
            raise DataError(f"{self.folder} has no features {chosen!r}; known: {known}")
        missing = self.missing(data, chosen)
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            needed = ", ".join([*self.files, *self.feature_sets[chosen]])
            raise DataError(f"{missing[0]}: no such file{more}; {self.folder} needs {needed}")
        return self.load(Path(data) / self.folder, chosen)
