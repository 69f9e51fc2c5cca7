"""Torch's random numbers: of one fit at a time, and given back as they were."""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

_TURNS = {"lock": threading.RLock()}


def _new_turns() -> None:
    _TURNS["lock"] = threading.RLock()


if hasattr(os, "register_at_fork"):  # a thread that held the lock is not there in the child
    os.register_at_fork(after_in_child=_new_turns)


@contextmanager
def own_random_numbers(seed: int | None = None, devices: Sequence[Any] = ()) -> Iterator[None]:
    """Draw torch's random numbers from a seed; afterwards those of the caller go on as before.

    Layers such as dropout draw from one generator of the process. So fits in several threads take
    turns: each has the outcome that it has alone.
    """
    with _TURNS["lock"], torch.random.fork_rng(devices=list(devices)):
        if seed is not None:
            torch.manual_seed(seed)
        yield


@contextmanager
def deterministic(device: torch.device) -> Iterator[None]:
    """Let a GPU use kernels with a fixed order of addition; a CPU needs nothing.

    The fastest kernels add in the order in which threads happen to finish, so that the same run
    ends with other bits every time. Operations without a deterministic kernel continue with a
    warning.
    """
    if device.type != "cuda":
        yield
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read at the first product
    before = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned)
