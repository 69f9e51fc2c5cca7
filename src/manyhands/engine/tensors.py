"""Torch tensors <-> the numpy arrays that bundles hold."""

from collections.abc import Mapping

import torch
from torch import Tensor

from manyhands.core.arrays import AnyArray


def as_arrays(tensors: Mapping[str, Tensor]) -> dict[str, AnyArray]:
    """The tensors as arrays on the CPU."""
    return {key: each.detach().cpu().numpy() for key, each in tensors.items()}


def as_tensors(arrays: Mapping[str, AnyArray]) -> dict[str, Tensor]:
    """The arrays as tensors with memory of their own."""
    return {key: torch.from_numpy(each.copy()) for key, each in arrays.items()}


def unshared(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors, each with its own memory: tied weights share it, and no file can hold that."""
    seen: set[int] = set()
    separate = {}
    for key, each in tensors.items():
        shared = each.untyped_storage().data_ptr() in seen
        seen.add(each.untyped_storage().data_ptr())
        separate[key] = each.detach().clone().contiguous() if shared else each.contiguous()
    return separate
