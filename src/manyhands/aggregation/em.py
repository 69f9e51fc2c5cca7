"""The one EM loop."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

S = TypeVar("S")


@dataclass(frozen=True)
class EMRun(Generic[S]):
    """The last state, the objective of every state before it, and whether the loop converged."""

    state: S
    objective: tuple[float, ...] = ()
    converged: bool = True


def run_em(
    start: S,
    step: Callable[[S], tuple[S, float]],
    *,
    max_iter: int,
    tol: float,
    begun: EMRun[S] | None = None,
    keep: Callable[[EMRun[S]], None] | None = None,
) -> EMRun[S]:
    """Repeat `step(state) -> (better state, objective of state)` until it gains less than `tol`.

    With `tol=0` the loop makes all `max_iter` steps. A run that has `begun` is continued, and
    `keep` is given the run after every step.

    >>> halve = lambda x: (x / 2, -abs(x))
    >>> run_em(8.0, halve, max_iter=3, tol=0.0)
    EMRun(state=1.0, objective=(-8.0, -4.0, -2.0), converged=False)
    """
    run = begun or EMRun(start, (), False)
    while len(run.objective) < max_iter and not run.converged:
        state, value = step(run.state)
        before = run.objective[-1] if run.objective else -math.inf
        run = EMRun(state, (*run.objective, value), tol > 0 and value - before < tol)
        if keep is not None:
            keep(run)
    return run


def best_run(runs: Iterable[EMRun[S]], margin: float) -> EMRun[S]:
    """The run that ends highest; a later run must gain more than `margin`.

    >>> best_run([EMRun("a", (1.0,), True), EMRun("b", (1.1,), True)], margin=0.5).state
    'a'
    """
    found = iter(runs)
    best = next(found)
    for run in found:
        if run.objective[-1] > best.objective[-1] + margin:
            best = run
    return best
