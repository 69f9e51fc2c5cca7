"""How hot loops are compiled and spread over cores.

Kernels release the interpreter lock and work on a block of items; blocks run on threads. Which
block holds which item depends on the data alone, and partial sums are added in block order, so
the number of threads never changes a bit of the outcome.

numba keeps compiled kernels on disk, and compiles one anew when its own file changed. Here it also
does when a kernel, an instruction or a number that it takes from another file did. And processes
that compile at the same time take turns: without that, two of them may give their files the same
name, and a kernel is then run for another's types.
"""

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from itertools import count, pairwise
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, overload

import numba
import numpy as np

from manyhands.core.arrays import Offsets
from manyhands.core.settings import require

try:
    import fcntl
except ImportError:  # a system without such locks
    fcntl = None  # type: ignore[assignment]

F = TypeVar("F", bound=Callable[..., object])
B = TypeVar("B")
R = TypeVar("R")
LABELS_PER_BLOCK = 1 << 15  # at least: threads cost more than they save on fewer
_MAX_BLOCKS = 16
_LOCK = "manyhands.lock"
_NOT_KEPT: list[str] = []  # kernels that every process compiles anew


@overload
def kernel(function: F) -> F: ...


@overload
def kernel(*, contract: bool) -> Callable[[F], F]: ...


def kernel(function: F | None = None, *, contract: bool = False) -> Any:
    """Compile a loop once, keep it on disk, run it without the interpreter lock.

    With `contract`, a product and a sum may become one instruction, which rounds once.
    """
    if function is None:
        return partial(kernel, contract=contract)
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    if contract:
        options["fastmath"] = {"contract"}
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba finds no folder to write to
        _NOT_KEPT.append(function.__qualname__)
        return numba.njit(**options)(function)
    _keep_true(compiled)
    return compiled


@cache
def _warn_of_no_cache() -> None:
    """Say once that kernels are compiled anew by every process."""
    warnings.warn(
        "compiled code cannot be kept, because neither the folder of the package nor that of the "
        "user is writable: every start takes longer; NUMBA_CACHE_DIR may name a folder that only "
        "you can write to",
        stacklevel=3,
    )


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
    if _NOT_KEPT:
        _warn_of_no_cache()
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


def label_blocks(offsets: Offsets) -> list[tuple[int, int]]:
    """Runs of items for a pass over labels: few enough that threads are worth their while.

    >>> label_blocks(np.array([0, 3, 4, 8]))
    [(0, 3)]
    """
    return even_blocks(offsets, min(_MAX_BLOCKS, int(offsets[-1]) // LABELS_PER_BLOCK))


def even_ranges(n: int, most: int, *, at_least: int = 1) -> list[tuple[int, int]]:
    """Split `n` rows into at most so many ranges of about the same size, of at least some rows.

    >>> even_ranges(10, 4, at_least=3)
    [(0, 3), (3, 6), (6, 10)]
    """
    n_ranges = max(1, min(most, n // max(at_least, 1)))
    edges = [n * place // n_ranges for place in range(n_ranges + 1)]
    return list(pairwise(edges))


@cache
def _pool(threads: int, _process: int) -> ThreadPoolExecutor:
    # Keyed by process as well: a forked child must not wait on its parent's threads.
    return ThreadPoolExecutor(threads, thread_name_prefix="manyhands")


def _keep_true(compiled: Any) -> None:
    """Let a kernel that numba keeps on disk notice all that it is made of, and save in turn."""
    files = _files_of(compiled)
    if files is None:  # compiling is switched off, or numba keeps files otherwise
        return
    files._source_stamp = (files._source_stamp, _taken_from_others(compiled.py_func))
    files.save = lambda key, data: _save(files, key, data)


def _files_of(compiled: Any) -> Any:
    found = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    return found if hasattr(found, "_source_stamp") else None


def _taken_from_others(function: FunctionType) -> tuple[Any, ...]:
    """State of the files of kernels that a function calls, and the numbers that it names."""
    taken = []
    for name in sorted(set(function.__code__.co_names)):
        value = function.__globals__.get(name)
        files, emitter = _files_of(value), getattr(value, "_defn", None)
        if files is not None:
            taken.append((name, files._source_stamp))
        elif emitter is not None:  # instructions that are written by a function of another file
            state = Path(emitter.__code__.co_filename).stat()
            taken.append((name, (state.st_mtime, state.st_size)))
        elif isinstance(value, int | float | tuple):
            taken.append((name, repr(value)))
    return tuple(taken)


def _save(files: Any, key: Any, data: Any) -> None:
    """The data first: an index that a killed process leaves never tells of what is not there."""
    try:
        with _turn(Path(files._cache_path) / _LOCK):
            kept = files._load_index()
            used = set(kept.values())
            fresh = next(name for name in map(files._data_name, count(1)) if name not in used)
            name = kept.get(key, fresh)
            files._save_data(name, data)
            files._save_index(kept | {key: name})
    except OSError:  # the disk is full, or the folder became read-only
        _warn_of_no_cache()


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Wait until no other process has its turn."""
    if fcntl is None:
        yield
        return
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
