"""Public corpora and item sets: what they contain, and how they are read from a folder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from manyhands.annotations import Annotations, Comparisons, Items, Sentences
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError

Content = TypeVar("Content")  # what a reader returns


@dataclass(frozen=True)
class Split:
    """Items with features and truth, but without labels of the crowd.

    `label_distribution` (i, k) is the share of each label among other annotators, if it is known.
    """

    features: Any
    truth: AnyArray
    label_distribution: Floats | None = None


@dataclass(frozen=True)
class Corpus:
    """Row i of `features` and `truth` belongs to item i of `annotations`; truth is for scores.

    Features are an array with a row per item (texts are an array of strings), a sparse matrix, or
    `Sentences`, whose tokens are the items. `notes` describe unusual labels.
    """

    name: str
    features: Any
    annotations: Annotations
    truth: AnyArray
    test: Split
    valid: Split | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rows = {"features": n_rows(self.features), "truth": len(self.truth)}
        for what, n in rows.items():
            if n != self.annotations.n_items:
                raise DataError(
                    f"{self.name}: {n} rows of {what} for {self.annotations.n_items} items"
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
        shares_ik = split.label_distribution
        if shares_ik is not None and shares_ik.shape != expected:
            raise DataError(
                f"{self.name}: {name} label distribution of shape {shares_ik.shape} for "
                f"{expected[0]} truths and {expected[1]} classes"
            )


@dataclass(frozen=True)
class PairCorpus:
    """Items that annotators compared two by two; row i of `features` belongs to item i."""

    name: str
    features: AnyArray
    comparisons: Comparisons

    def __post_init__(self) -> None:
        if len(self.features) != self.comparisons.n_items:
            raise DataError(
                f"{self.name}: {len(self.features)} rows of features for "
                f"{self.comparisons.n_items} items"
            )


def n_rows(features: Any) -> int:
    """The number of items that features describe: tokens of sentences, otherwise rows."""
    if isinstance(features, Sentences):
        return features.n_tokens
    return int(features.shape[0])


@dataclass(frozen=True)
class Reader(Generic[Content]):
    """A corpus in a folder: its files, and how they are read.

    `feature_sets` lists the files that each set of features needs in addition to `files`; the first
    set is the default.
    """

    folder: str
    about: str
    files: Sequence[str]
    feature_sets: Mapping[str, Sequence[str]]
    load: Callable[[Path, str], Content]

    def needed(self, features: str | None = None) -> list[str]:
        """The files that one set of features needs."""
        return [*self.files, *self.feature_sets[self._chosen(features)]]

    def missing(self, data: str | Path, features: str | None = None) -> list[str]:
        """The missing files of one set of features."""
        return missing_files(Path(data) / self.folder, self.needed(features))

    def read(self, data: str | Path, features: str | None = None) -> Content:
        """Read the corpus from a folder of corpora, with one of its feature sets."""
        home = Path(data) / self.folder
        _require_files(home, self.needed(features), self.folder)
        return self.load(home, self._chosen(features))

    def _chosen(self, features: str | None) -> str:
        chosen = features or next(iter(self.feature_sets))
        if chosen not in self.feature_sets:
            known = ", ".join(self.feature_sets)
            raise DataError(f"{self.folder} has no features {chosen!r}; known: {known}")
        return chosen


@dataclass(frozen=True)
class ItemSet:
    """Items without labels in a folder: their files, and how they are read.

    All files are in the folder itself or in one of its subfolders (`subfolders`).
    """

    folder: str
    about: str
    files: Sequence[str]
    load: Callable[[Path, int], Items]
    subfolders: Sequence[str] = ("",)

    def missing(self, data: str | Path) -> list[str]:
        """The missing files."""
        return missing_files(self._home(data), self.files)

    def read(self, data: str | Path, seed: int = 0) -> Items:
        """Read the items from a folder of corpora; `seed` splits items without a test set."""
        home = self._home(data)
        _require_files(home, self.files, self.folder)
        return self.load(home, seed)

    def _home(self, data: str | Path) -> Path:
        homes = [Path(data) / self.folder / name for name in self.subfolders]
        return next((home for home in homes if not missing_files(home, self.files)), homes[0])


def missing_files(home: Path, names: Sequence[str]) -> list[str]:
    """The files that do not exist; a name with `*` exists if at least one file matches.

    >>> missing_files(Path("nowhere"), ["truth.txt"]) == [str(Path("nowhere/truth.txt"))]
    True
    """
    return [str(home / name) for name in names if not any(map(Path.is_file, home.glob(name)))]


def _require_files(home: Path, names: Sequence[str], what: str) -> None:
    """Raise a `DataError` if some of the files do not exist."""
    missing = missing_files(home, names)
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise DataError(f"{missing[0]}: no such file{more}; {what} needs {', '.join(names)}")
