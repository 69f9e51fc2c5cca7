"""Inputs of any shape, flattened to rows."""

import math

from torch import Tensor

from manyhands.core.errors import DataError


def flat(inputs_b: Tensor, n_features: int) -> Tensor:
    """The inputs of a batch, flattened to rows (b, n_features); raise a `DataError` on other sizes.

    >>> import torch
    >>> flat(torch.zeros(5, 2, 3), 6).shape
    torch.Size([5, 6])
    """
    shape = tuple(inputs_b.shape[1:])
    if math.prod(shape) != n_features:
        raise DataError(
            f"an item's input has shape {shape} where the network takes {n_features} numbers; "
            "the first axis of a batch must be that of the items"
        )
    return inputs_b.reshape(len(inputs_b), n_features)  # -1 fails for an empty batch
