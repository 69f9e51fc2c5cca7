"""Compiled kernels on disk: what numba keeps there, made to be true and to be shared.

numba compiles a kernel anew when its own file changed. Here it also does when a kernel or a number
that it takes from another file did. And processes that compile at the same time take turns: without
that, two of them may give their files the same name, and a kernel is then run for another's types.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import FunctionType
from typing import Any

try:
    import fcntl
except ImportError:  # a system without such locks
    fcntl = None  # type: ignore[assignment]

_LOCK = "manyhands.lock"


def keep_true(compiled: Any) -> None:
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
        files = _files_of(value)
        if files is not None:
            taken.append((name, files._source_stamp))
        elif isinstance(value, int | float | tuple):
            taken.append((name, repr(value)))
    return tuple(taken)


def _save(files: Any, key: Any, data: Any) -> None:
    """The data first: an index that a killed process leaves never tells of what is not there."""
    with _turn(Path(files._cache_path) / _LOCK):
        kept = files._load_index()
        used = set(kept.values())
        fresh = next(name for name in map(files._data_name, count(1)) if name not in used)
        name = kept.get(key, fresh)
        files._save_data(name, data)
        files._save_index(kept | {key: name})


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
