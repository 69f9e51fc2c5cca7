"""Time and memory of this process."""

import gc
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

# Iterations of short and long fits whose times are subtracted. The first pair that fits the time
# budget and runs to its end is used.
PLANS = ((5, 25), (2, 7), (1, 4))

_LEAST_REPEATS, _MOST_REPEATS = 3, 15
_ENOUGH_S = 1.0

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Marginal:
    """The time of one EM iteration: a long fit minus a short one, each the least of repeats."""

    seconds: float
    short: int
    long: int
    repeats: int


def stopwatch(work: Callable[P, R], *args: P.args, **settings: P.kwargs) -> tuple[float, R]:
    """Seconds of a call and its result, after garbage collection."""
    gc.collect()
    begin = time.perf_counter()
    result = work(*args, **settings)
    return time.perf_counter() - begin, result


def least_seconds(
    work: Callable[[], object], budget_s: float, known: Sequence[float] = ()
) -> tuple[float, int]:
    """The least time of several calls, and their number; `known` are times of earlier calls."""
    times = list(known)
    while not _enough(times, budget_s):
        seconds, result = stopwatch(work)
        del result
        times.append(seconds)
    return min(times), len(times)


def marginal(fit: Callable[[int], int], *, first_s: float, budget_s: float) -> Marginal | None:
    """The cost of one more iteration.

    `fit(n)` makes up to n iterations and returns how many it made; `first_s` is the time of a fit
    of one iteration. None if even the shortest plan did not run to its end.
    """
    for short, long in PLANS:
        affordable = first_s * (short + long) <= budget_s / _LEAST_REPEATS
        if affordable or (short, long) == PLANS[-1]:
            found = _difference(fit, short, long, first_s, budget_s)
            if found is not None:
                return found
    return None


def _difference(
    fit: Callable[[int], int], short: int, long: int, first_s: float, budget_s: float
) -> Marginal | None:
    """Alternate short and long fits; None if the long fit stops before its last iteration."""
    shorts = [first_s] if short == 1 else []
    longs: list[float] = []
    rounds: list[float] = []
    while not _enough(rounds, budget_s):
        begin = time.perf_counter()
        if rounds or not shorts:
            shorts.append(stopwatch(fit, short)[0])
        seconds, made = stopwatch(fit, long)
        if made < long:
            return None
        longs.append(seconds)
        rounds.append(time.perf_counter() - begin)
    gained = (min(longs) - min(shorts)) / (long - short)
    return Marginal(gained, short, long, len(rounds))


def _enough(times: list[float], budget_s: float) -> bool:
    if not times:
        return False
    if len(times) >= _MOST_REPEATS or sum(times) + times[-1] > budget_s:
        return True
    return len(times) >= _LEAST_REPEATS and sum(times) >= _ENOUGH_S


def resident_bytes() -> int:
    """Memory of this process now; its peak if the system does not report it."""
    return _status_bytes("VmRSS") or peak_bytes()


def peak_bytes() -> int:
    """The peak memory of this process; 0 if the system does not report it.

    On Linux it is VmHWM, because ru_maxrss includes the memory of the parent process.
    """
    linux = _status_bytes("VmHWM")
    if linux:
        return linux
    try:
        import resource
    except ImportError:  # Windows
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def cap_memory(share: float) -> None:
    """Limit this process to a share of the free memory, where the system reports it."""
    free = _entry_bytes(Path("/proc/meminfo"), "MemAvailable")
    if free:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(share * free), resource.RLIM_INFINITY))


def _status_bytes(name: str) -> int:
    return _entry_bytes(Path("/proc/self/status"), name)


def _entry_bytes(path: Path, name: str) -> int:
    """A size in kB listed under a name, as bytes; 0 if the system has no such list."""
    if not path.exists():
        return 0
    for line in path.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0
