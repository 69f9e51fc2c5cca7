"""How hot loops are compiled and spread over cores.

Kernels release the interpreter lock and work on a block of items; blocks run on threads. Which
block holds which item depends on the data alone, and partial sums are added in block order, so
the number of threads never changes a bit of the outcome.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import TypeVar, cast

import numba
import numpy as np

from manyhands.core.arrays import Offsets
from manyhands.core.kernel_files import keep_true
from manyhands.core.settings import require

F = TypeVar("F", bound=Callable[..., object])
B = TypeVar("B")
R = TypeVar("R")


def kernel(function: F) -> F:
    """Compile a loop once, keep it on disk, run it without the interpreter lock."""
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    keep_true(compiled)
    return cast(F, compiled)


def thread_count() -> int:
    """How many threads to use: MANYHANDS_THREADS, or the cores this process may run on."""
    asked = os.environ.get("MANYHANDS_THREADS")
    if asked is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return cores or 1
    require(asked.isdigit() and int(asked) >= 1, "MANYHANDS_THREADS", ">= 1", asked)
    return int(asked)


def run_blocks(work: Callable[[B], R], blocks: Sequence[B]) -> list[R]:
    """The work's outcome for every block, in block order, on as many threads as there are cores."""
    threads = min(thread_count(), len(blocks))
    if threads <= 1:
        return [work(block) for block in blocks]
    return list(_pool(threads, os.getpid()).map(work, blocks))


def even_blocks(offsets: Offsets, n_blocks: int) -> list[tuple[int, int]]:
    """Split items into runs that hold about equally many annotations.

    >>> even_blocks(np.array([0, 3, 4, 8]), 2)
    [(0, 2), (2, 3)]
    """
    n_items = len(offsets) - 1
    targets = np.linspace(0, offsets[-1], max(n_blocks, 1) + 1)[1:-1]
    inner = np.searchsorted(offsets, targets)
    edges = np.unique(np.concatenate(([0], inner, [n_items])))
    return [(int(first), int(last)) for first, last in pairwise(edges)] or [(0, 0)]


@cache
def _pool(threads: int, _process: int) -> ThreadPoolExecutor:
    # Keyed by process as well: a forked child must not wait on its parent's threads.
    return ThreadPoolExecutor(threads, thread_name_prefix="manyhands")
