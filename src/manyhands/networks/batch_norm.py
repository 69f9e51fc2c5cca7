"""Batch normalisation that a batch of any size can be trained on."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm


class _AnyBatch(nn.modules.batchnorm._BatchNorm):
    """Batch normalisation; a batch of fewer than two values per channel has no variance.

    Such a batch, one item or none, is normalised with the running statistics and does not change
    them. Torch raises an error for one value, and none at all would make the statistics NaN.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The inputs, normalised per channel."""
        n_values = len(input) * math.prod(input.shape[2:])
        if not self.training or n_values >= 2 or self.running_mean is None:
            return super().forward(input)
        return batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps
        )


class BatchNorm1d(_AnyBatch, nn.BatchNorm1d):
    """Batch normalisation of rows of numbers (b, channels).

    >>> BatchNorm1d(3)(torch.ones(1, 3)).shape
    torch.Size([1, 3])
    """


class BatchNorm2d(_AnyBatch, nn.BatchNorm2d):
    """Batch normalisation of images (b, channels, height, width)."""


def share_statistics(module: nn.Module, total: Callable[[Tensor], Tensor]) -> None:
    """Let all batch normalisation of a module use the batch of all processes, in training.

    `total` is the sum of a tensor over the processes, with gradients. Unlike torch's
    `SyncBatchNorm`, this works on the CPU, and with shares of any size.
    """
    for layer in module.modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            shared: Any = partial(_normalised, layer, type(layer).forward, total)
            layer.forward = shared  # type: ignore[method-assign]


def _normalised(
    layer: Any,
    alone: Callable[[Any, Tensor], Tensor],
    total: Callable[[Tensor], Tensor],
    input: Tensor,
) -> Tensor:
    if not layer.training:
        return alone(layer, input)
    axes, n_here = [0, *range(2, input.dim())], len(input) * math.prod(input.shape[2:])
    n_values = float(total(torch.tensor(float(n_here), device=input.device)))
    mean, variance = layer.running_mean, layer.running_var
    if n_values < 2 and mean is not None:  # see `_AnyBatch`
        return batch_norm(input, mean, variance, layer.weight, layer.bias, False, 0.0, layer.eps)
    wide, shape = input.float(), [1, -1, *[1] * (input.dim() - 2)]
    mean_c = total(wide.sum(dim=axes)) / n_values
    centred = wide - mean_c.reshape(shape)
    variance_c = total(centred.square().sum(dim=axes)) / n_values
    if layer.track_running_stats and mean is not None:
        layer.num_batches_tracked.add_(1)
        rate = layer.momentum or 1.0 / float(layer.num_batches_tracked)
        mean.lerp_(mean_c.detach(), rate)
        variance.lerp_(variance_c.detach() * n_values / max(n_values - 1.0, 1.0), rate)
    normal = centred * torch.rsqrt(variance_c + layer.eps).reshape(shape)
    if layer.weight is not None:
        normal = normal * layer.weight.reshape(shape) + layer.bias.reshape(shape)
    return normal.to(input.dtype)
