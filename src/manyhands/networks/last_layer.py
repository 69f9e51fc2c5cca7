"""The linear layer that makes a network's outputs."""

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

_NEAR = 1e-3  # of the outputs: 32-bit floats


def last_linear(network: nn.Module, n_outputs: int) -> tuple[str, nn.Linear] | None:
    """The last `nn.Linear` of known size with as many outputs, and its path; None without one."""
    found = [
        (path, layer)
        for path, layer in network.named_modules()
        if isinstance(layer, nn.Linear)
        and layer.out_features == n_outputs
        and not is_lazy(layer.weight)
    ]
    return found[-1] if found else None


@torch.no_grad()
def adjust_output(
    network: nn.Module, inputs_b: Tensor, *, times: float = 1.0, plus: float = 0.0
) -> bool:
    """Make the one number f that a network gives `times` f + `plus`, by its last linear layer.

    False, and nothing is changed, where there is no such layer with an intercept, or more is done
    with what it gives, as `inputs_b` show.

    >>> network = nn.Linear(2, 1)
    >>> adjust_output(network, torch.zeros(1, 2), plus=1.0)
    True
    >>> adjust_output(nn.Sequential(network, nn.Sigmoid()), torch.zeros(1, 2), plus=1.0)
    False
    """
    found = last_linear(network, 1)
    if found is None or found[1].bias is None:
        return False
    _, layer = found
    was, before_b = [each.clone() for each in (layer.weight, layer.bias)], network(inputs_b)
    layer.weight.mul_(times)
    layer.bias.mul_(times).add_(plus)
    off_b = (network(inputs_b) - times * before_b - plus).abs()
    near = _NEAR * (abs(plus) + (1.0 + abs(times)) * before_b.abs().max())
    if bool((off_b <= near).all()):
        return True
    for each, value in zip((layer.weight, layer.bias), was, strict=True):
        each.copy_(value)
    return False
