"""The one EM loop."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

S = TypeVar("S")


@dataclass(frozen=True)
class EMRun(Generic[S]):
    """The last state, the objective of every state before it, and whether the loop converged."""

    state: S
    objective: tuple[float, ...]
    converged: bool


def run_em(
    start: S, step: Callable[[S], tuple[S, float]], *, max_iter: int, tol: float
) -> EMRun[S]:
    """Repeat `step(state) -> (better state, objective of state)` until it gains less than `tol`.

    With `tol=0` the loop makes all `max_iter` steps.

    >>> halve = lambda x: (x / 2, -abs(x))
    >>> run_em(8.0, halve, max_iter=3, tol=0.0)
    EMRun(state=1.0, objective=(-8.0, -4.0, -2.0), converged=False)
    """
    state, objective = start, [-math.inf]
    for _ in range(max_iter):
        state, value = step(state)
        objective.append(value)
        if tol > 0 and value - objective[-2] < tol:
            return EMRun(state, tuple(objective[1:]), True)
    return EMRun(state, tuple(objective[1:]), False)
