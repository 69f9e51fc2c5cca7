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
