"""Work in several processes, which end when this one does."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from typing import Any

from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor

_GLANCE = 1.0  # seconds between two looks for the process that asked for the work


def in_processes(
    function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], jobs: int
) -> Iterator[Any]:
    """What the function returns for each of the arguments, as it is done, `jobs` at a time.

    A process that is killed, as systems do when memory runs out, is an `OSError`.
    """
    work = (delayed(_work)(os.getpid(), function, *each) for each in arguments)
    try:
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(work)
    except BrokenProcessPool as error:
        raise OSError(
            "a process that did part of the work was killed, perhaps because memory ran out; try "
            "again with fewer jobs"
        ) from error
    except Exception:
        if jobs > 1:  # workers that are left at the end are said to have leaked
            get_reusable_executor().shutdown(wait=True, kill_workers=True)
        raise


def _work(asked_by: int, function: Callable[..., Any], *arguments: Any) -> Any:
    if os.getpid() != asked_by:
        _end_with(os.getppid())
    return function(*arguments)


@cache
def _end_with(parent: int) -> None:
    """End this process when its parent has gone: nobody waits for what it does."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_GLANCE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="parent watch").start()
