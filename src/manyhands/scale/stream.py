"""Labels in parts on disk: passes read one part after the other."""

import dataclasses
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from manyhands.aggregation.em import EMRun
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.parts import Parts, PartState, add, resolved
from manyhands.annotations import Vocabulary
from manyhands.core.arrays import AnyArray
from manyhands.scale.journal import Journal
from manyhands.scale.part_file import read_part

S = TypeVar("S")
T = TypeVar("T")
_STATE = re.compile(r"state-(\d+)\.npy")


class StreamParts(Parts):
    """The parts in a folder; one is in memory at a time, and sums are added in their order.

    EM runs are kept in the folder `runs`, if it is given.
    """

    def __init__(
        self, folder: Path, runs: Path | None, annotators: Vocabulary, classes: Vocabulary | None
    ) -> None:
        self._annotators, self._classes = annotators, classes
        self.paths = sorted(folder.glob("part-*"))
        self._journal = None if runs is None else Journal(runs)

    def evidence(self, path: Path, *, with_names: bool = False) -> Evidence:
        """The labels of a part."""
        return read_part(path, self._annotators, self._classes, with_names=with_names)

    def each(
        self, function: Callable[..., T], *arguments: Any, with_names: bool = False
    ) -> Iterator[T]:
        """What a function gives for every part, one after the other."""
        for path in self.paths:
            given = [resolved(each, partial(_load, path)) for each in arguments]
            yield function(self.evidence(path, with_names=with_names), *given)

    def total(self, statistic: Callable[..., T], *arguments: Any) -> T:
        """The sum of a statistic over the parts, added in their order."""
        sums: Any = None
        for found in self.each(statistic, *arguments):
            sums = found if sums is None else add(sums, found)
        found_sums: T = sums
        return found_sums

    def derive(self, function: Callable[..., tuple[AnyArray, float]], *arguments: Any) -> PartState:
        """Keep an array per part beside its labels."""
        number, square = max(self._numbers(), default=0) + 1, 0.0
        for path, (array, part) in zip(self.paths, self.each(function, *arguments), strict=True):
            np.save(_file(path, number), array)
            square += part
        return PartState(number, square)

    def continued(self, start: S) -> EMRun[S]:
        """The next EM run: as an earlier process left it, or one that begins at `start`."""
        return EMRun(start, (), False) if self._journal is None else self._journal.continued(start)

    def keep(self, run: EMRun[Any]) -> None:
        """Keep an EM run, and remove arrays of items that it does not need."""
        if self._journal is not None:
            self._journal.keep(run)
        needed = set(states_of(run.state))
        for number in set(self._numbers()) - needed:
            for path in self.paths:
                _file(path, number).unlink(missing_ok=True)

    def _numbers(self) -> Iterator[int]:
        for path in self.paths[:1]:
            found = (_STATE.fullmatch(each.name) for each in path.iterdir())
            yield from (int(each[1]) for each in found if each)


def _file(path: Path, number: int) -> Path:
    return path / f"state-{number}.npy"


def _load(path: Path, state: PartState) -> AnyArray:
    array: AnyArray = np.load(_file(path, state.number), allow_pickle=False)
    return array


def states_of(state: Any) -> Iterator[int]:
    """The numbers of arrays that lie in the parts, of a state of EM."""
    if isinstance(state, tuple):
        inner = list(state)
    elif hasattr(state, "of_part") and hasattr(state, "number"):
        yield state.number
        return
    elif dataclasses.is_dataclass(state):
        inner = [getattr(state, each.name) for each in dataclasses.fields(state)]
    else:
        return
    for each in inner:
        yield from states_of(each)
