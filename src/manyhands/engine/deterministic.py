"""The same bits every time, on a GPU too."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def deterministic(device: torch.device) -> Iterator[None]:
    """Let a GPU add up in a fixed order while training; on a CPU nothing needs to be done.

    Its quickest kernels add in the order in which threads happen to finish, so that even the same
    run ends otherwise the next time. What has no fixed order in torch goes on with a warning.
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
