"""Sets of classes as labels: every distinct set has a code, as every class has one elsewhere."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from manyhands.annotations.set_cells import (
    SEPARATORS,
    cells_of_members,
    joined_classes,
    parse_set,
)
from manyhands.annotations.vocabulary import (
    Vocabulary,
    join_names,
    name_to_text,
    normalize_classes,
)
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats, read_only
from manyhands.core.errors import DataError


@dataclass(frozen=True, eq=False)
class SetVocabulary(Vocabulary):
    """The distinct sets of labels, and the classes that they are made of.

    `names` are the sets as they are written in a table: "cat;dog", and "[]" without a class.
    `member_sk` tells which classes each set has; its rows are the codes of labels.

    >>> found = SetVocabulary.of_sets([{"dog", "cat"}, {"cat"}, {"dog", "cat"}, set()])
    >>> found.names.tolist(), found.class_names.tolist(), found.codes(["cat", "dog;cat"]).tolist()
    (['[]', 'cat', 'cat;dog'], ['cat', 'dog'], [1, 2])
    """

    kind: ClassVar[str] = "multilabel"
    joins_repeats: ClassVar[bool] = True

    classes: Vocabulary = field(
        default_factory=lambda: Vocabulary(np.zeros(0, dtype=object), "class")
    )
    member_sk: Bools = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))
    separator: str = SEPARATORS[0]

    @classmethod
    def of_sets(
        cls,
        sets: Iterable[Iterable[Any]],
        classes: Vocabulary | None = None,
        separator: str = SEPARATORS[0],
    ) -> Self:
        """The distinct sets among some, sorted; without `classes` of the classes that they have."""
        distinct = list({frozenset(map(name_to_text, each)) for each in sets})
        classes = classes_of(distinct) if classes is None else classes
        member_sk = _sorted(_member_rows(distinct, classes))
        return cls.of_members(classes, member_sk, separator)

    @classmethod
    def of_members(
        cls, classes: Vocabulary, member_sk: Bools, separator: str = SEPARATORS[0]
    ) -> Self:
        """The sets whose members are given, in this order; no set is there twice."""
        cells = cells_of_members(member_sk, classes.names.tolist(), separator)
        return cls(
            read_only(cells), "label", classes=classes,
            member_sk=read_only(member_sk), separator=separator,
        )  # fmt: skip

    @property
    def class_names(self) -> AnyArray:
        """The names of the classes that sets are made of."""
        return self.classes.names

    @property
    def note(self) -> str:
        """How labels were read, for a user."""
        several = np.flatnonzero(self.member_sk.sum(axis=1) > 1)
        how = f", such as {self.names[several[0]]}" if len(several) else ""
        joined = joined_classes([str(name) for name in self.class_names.tolist()])
        mixed = f"; classes such as {joined[0]} are made of others" if joined else ""
        return f"labels are sets of classes{how}{mixed}"

    def as_wholes(self) -> Vocabulary:
        """The sets as classes: each distinct set is one."""
        return Vocabulary(self.names, "class")

    def sets(self) -> list[frozenset[Any]]:
        """The classes of every set."""
        names = self.class_names.tolist()
        return [frozenset(names[k] for k in np.flatnonzero(row)) for row in self.member_sk]

    def codes(self, names: Iterable[Any]) -> Codes:
        """The code of every set, -1 for an unknown one; sets are texts or collections."""
        sets = [parse_set(each, self.separator) for each in names]
        known = [bool((self.classes.codes(each) >= 0).all()) for each in sets]
        return np.where(known, self._codes_of_members(_member_rows(sets, self.classes)), -1)

    def code(self, name: object) -> int:
        """The code of one set; an unknown one raises a `DataError`."""
        code = int(self.codes([name])[0])
        if code < 0:
            raise DataError(f"no label {name!r}; known: {join_names(self.names)}")
        return code

    def members(self, sets: Sequence[Any]) -> Bools:
        """Which classes some sets have, shape (s, k); an unknown class raises a `DataError`."""
        parsed = [parse_set(each, self.separator) for each in sets]
        for name in dict.fromkeys(name for each in parsed for name in each):
            self.classes.code(name)
        return _member_rows(parsed, self.classes)

    def including(self, sets: Iterable[Any]) -> "SetVocabulary":
        """These sets, and those of some others that are not among them, of the same classes."""
        return self._with_members(self.members(list(sets)))

    def extended(self, more: Any) -> "SetVocabulary":
        """These sets in their order, then the new sets of the other vocabulary."""
        classes = self.classes.extended(more.classes)
        wide = self.of_members(classes, self.members_in(classes), self.separator)
        return wide._with_members(more.members_in(classes))

    def codes_of(self, other: Any) -> Codes:
        """The code here of every set of another vocabulary, -1 for an unknown one."""
        return self._codes_of_members(other.members_in(self.classes))

    def matched(self, other: Any) -> tuple[Codes, "SetVocabulary"]:
        """The codes of the sets of another vocabulary, and these sets with the new ones."""
        for name in other.class_names.tolist():
            self.classes.code(name)  # raises the error for a class that is not here
        every = self._with_members(other.members_in(self.classes))
        return every.codes_of(other), every

    def members_in(self, classes: Vocabulary) -> Bools:
        """Which of some other classes every set has; classes that are not there are left out."""
        place_k = classes.codes(self.class_names.tolist())
        member_sk = np.zeros((len(self), len(classes)), dtype=bool)
        member_sk[:, place_k[place_k >= 0]] = self.member_sk[:, place_k >= 0]
        return member_sk

    def counts(self, group: Codes, label: Codes, n_groups: int) -> Floats:
        """How many sets of each group have each class, shape (g, k)."""
        counts_gk = np.zeros((n_groups, len(self.classes)))
        np.add.at(counts_gk, group, self.member_sk[label].astype(np.float64))
        return counts_gk

    def joined(self, label: Codes, group: Codes, n_groups: int) -> tuple[Codes, "SetVocabulary"]:
        """The union of the sets of every group as codes, and the sets with the new ones."""
        union_gk = self.counts(group, label, n_groups) > 0
        every = self._with_members(union_gk)
        return every._codes_of_members(union_gk), every

    def _with_members(self, member_sk: Bools) -> "SetVocabulary":
        fresh = _sorted(member_sk[self._codes_of_members(member_sk) < 0])
        if len(fresh) == 0:
            return self
        every = np.concatenate([self.member_sk, fresh])
        return self.of_members(self.classes, every, self.separator)

    @cached_property
    def _code_of_members(self) -> dict[bytes, int]:
        return {row.tobytes(): code for code, row in enumerate(np.packbits(self.member_sk, axis=1))}

    def _codes_of_members(self, member_sk: Bools) -> Codes:
        rows = np.packbits(member_sk, axis=1)
        return np.array(
            [self._code_of_members.get(row.tobytes(), -1) for row in rows], dtype=np.int32
        )


def set_members(annotations: Any) -> Bools:
    """Which classes every distinct set of some annotations has, shape (s, k)."""
    return np.asarray(annotations.class_vocabulary.member_sk)


def classes_of(sets: Iterable[Iterable[Any]]) -> Vocabulary:
    """The sorted classes of some sets."""
    names = normalize_classes(sorted({name_to_text(name) for each in sets for name in each}))
    return Vocabulary(read_only(np.sort(names) if names.dtype.kind == "i" else names), "class")


def _member_rows(sets: Sequence[Iterable[Any]], classes: Vocabulary) -> Bools:
    """Which classes some sets have; names that are no class are left out."""
    rows = [np.array(classes.codes(each)) for each in sets]
    member_sk = np.zeros((len(sets), len(classes)), dtype=bool)
    row = np.repeat(np.arange(len(sets)), [len(codes_k) for codes_k in rows])
    column = np.concatenate([np.zeros(0, dtype=np.int32), *rows])
    member_sk[row[column >= 0], column[column >= 0]] = True
    return member_sk


def _sorted(member_sk: Bools) -> Bools:
    """The distinct sets by their number of classes, then by these classes in order."""
    distinct = np.unique(member_sk, axis=0) if len(member_sk) else member_sk
    order = np.lexsort([*(~distinct[:, ::-1]).T, distinct.sum(axis=1)])
    return np.asarray(distinct[order])
