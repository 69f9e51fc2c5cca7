"""The linear layer that makes a network's outputs."""

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

_NEAR = 1e-3  # of what outputs are raised by: 32-bit floats


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
def raise_output(network: nn.Module, by: float, inputs_b: Tensor) -> bool:
    """Raise the one number that a network gives, by the intercept of its last linear layer.

    False, and nothing is changed, where there is no such intercept or more is done with what that
    layer gives, as `inputs_b` show.

    >>> network = nn.Linear(2, 1)
    >>> raise_output(network, 1.0, torch.zeros(1, 2))
    True
    >>> raise_output(nn.Sequential(network, nn.Sigmoid()), 1.0, torch.zeros(1, 2))
    False
    """
    found = last_linear(network, 1)
    if found is None or found[1].bias is None:
        return False
    intercept = found[1].bias
    was, before_b = intercept.clone(), network(inputs_b)
    intercept.add_(by)
    risen_b = network(inputs_b) - before_b
    if bool(((risen_b - by).abs() <= _NEAR * (abs(by) + before_b.abs().max())).all()):
        return True
    intercept.copy_(was)
    return False
