"""Labels in parts: what a fit asks of labels that are not in memory as one table.

A part holds all labels of its items. Statistics of a fit are sums over items, so that the sum over
parts is the statistic of all labels. Parts may lie on disk or on other machines: only sums and
parameters leave them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from manyhands.aggregation.em import EMRun
from manyhands.core.arrays import AnyArray

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True)
class PartState:
    """Stands for an array with one entry per item that lies in the parts, such as easiness.

    `number` tells which one; `square` is the sum of its squares.
    """

    number: int
    square: float = 0.0

    def of_part(self, load: Callable[["PartState"], AnyArray]) -> AnyArray:
        """The array of one part, which `load` gives."""
        return load(self)


class Parts(ABC):
    """The parts of some labels.

    Functions that are given to them are functions of a module, or a `functools.partial` of one:
    they may run in another process. Arguments with a method `of_part` are replaced by what it gives
    for the part (`PartState`, `Parameters`).
    """

    @abstractmethod
    def total(self, statistic: Callable[..., T], *arguments: Any) -> T:
        """The sum of `statistic(evidence, *arguments)` over the parts, added in their order."""

    @abstractmethod
    def derive(self, function: Callable[..., tuple[AnyArray, float]], *arguments: Any) -> PartState:
        """Keep the array that a function returns for every part; its second value is summed."""

    @abstractmethod
    def continued(self, start: S) -> EMRun[S]:
        """The next EM run: as an earlier process left it, or one that begins at `start`."""

    def row_pass(self, evidence: Any) -> Any:
        """A `ConfusionPass` for parameters that lie in parts too; None if they are in memory."""
        return None

    @abstractmethod
    def keep(self, run: EMRun[Any]) -> None:
        """Keep an EM run after a step, so that another process can continue it."""


def add(first: Any, second: Any) -> Any:
    """The sum of two statistics: numbers, arrays, or tuples of them.

    >>> add((1, 2.0), (3, 4.0))
    (4, 6.0)
    """
    if not isinstance(first, tuple):
        return first + second
    sums = [add(one, other) for one, other in zip(first, second, strict=True)]
    return type(first)(*sums) if hasattr(first, "_fields") else tuple(sums)


def resolved(argument: Any, load: Callable[[PartState], AnyArray]) -> Any:
    """An argument of a function that runs on a part."""
    return argument.of_part(load) if hasattr(argument, "of_part") else argument
