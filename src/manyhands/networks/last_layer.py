"""The last linear layer of a network."""

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from manyhands.networks.calling import Batch, call_network

_TOLERANCE = 1e-3  # relative to the outputs, which are 32-bit floats


def last_linear(network: nn.Module, n_outputs: int) -> tuple[str, nn.Linear] | None:
    """The path and the module of the last `nn.Linear` with `n_outputs` outputs, or None."""
    candidates = [
        (path, layer)
        for path, layer in network.named_modules()
        if isinstance(layer, nn.Linear)
        and layer.out_features == n_outputs
        and not is_lazy(layer.weight)
    ]
    return candidates[-1] if candidates else None


@torch.no_grad()
def rescale_output(
    network: nn.Module, inputs_b: Batch, *, scale: float = 1.0, shift: float = 0.0
) -> bool:
    """Change the output f of a network to scale x f + shift by its last linear layer.

    The network has one output. Return whether it was changed. It stays as it is if there is no
    such layer with a bias, or if the output for `inputs_b` shows that the network does more with
    the output of that layer.

    >>> network = nn.Linear(2, 1)
    >>> rescale_output(network, torch.zeros(1, 2), shift=1.0)
    True
    >>> rescale_output(nn.Sequential(network, nn.Sigmoid()), torch.zeros(1, 2), shift=1.0)
    False
    """
    last = last_linear(network, 1)
    if last is None or last[1].bias is None:
        return False
    _, layer = last
    old = [each.clone() for each in (layer.weight, layer.bias)]
    before_b = call_network(network, inputs_b)
    layer.weight.mul_(scale)
    layer.bias.mul_(scale).add_(shift)
    off_b = (call_network(network, inputs_b) - scale * before_b - shift).abs()
    allowed = _TOLERANCE * (abs(shift) + (1.0 + abs(scale)) * before_b.abs().max())
    if bool((off_b <= allowed).all()):
        return True
    for each, value in zip((layer.weight, layer.bias), old, strict=True):
        each.copy_(value)
    return False
