"""Batch normalisation that a batch of any size can be trained on."""

import math

import torch
from torch import Tensor, nn


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
        return torch.nn.functional.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps
        )


class BatchNorm1d(_AnyBatch, nn.BatchNorm1d):
    """Batch normalisation of rows of numbers (b, channels).

    >>> BatchNorm1d(3)(torch.ones(1, 3)).shape
    torch.Size([1, 3])
    """


class BatchNorm2d(_AnyBatch, nn.BatchNorm2d):
    """Batch normalisation of images (b, channels, height, width)."""
