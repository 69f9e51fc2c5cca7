"""An exponential moving average of the weights, which is validated and kept in their place."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm


class WeightAverage:
    """The moving average of everything that steps change: weights and batch statistics.

    ::

        average <- d_t average + (1 - d_t) weights,   d_t = min(decay, (1 + t) / (10 + t))

    after step t = 1, 2 ... The average starts with the weights. In the first steps it forgets
    faster, so that a short run does not end with an average of weights that were hardly trained.
    The running statistics of batch normalisation are averaged in the same way; integers, and what
    a method computes rather than trains, are not.
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.decay, self.n_steps = decay, 0
        self._current = _averaged(module)
        self.average = {name: each.detach().clone() for name, each in self._current.items()}

    @torch.no_grad()
    def update(self) -> None:
        """Take the weights after a step into the average."""
        self.n_steps += 1
        decay = min(self.decay, (1.0 + self.n_steps) / (10.0 + self.n_steps))
        weights = [each.detach() for each in self._current.values()]
        torch._foreach_lerp_(list(self.average.values()), weights, 1.0 - decay)

    def restore(self, average: Mapping[str, Tensor], n_steps: int) -> None:
        """Continue with the average of a checkpoint; a `ValueError` where it does not fit."""
        if average.keys() != self.average.keys() or not n_steps >= 0:
            raise ValueError("the average of the weights does not fit the module")
        for name, each in self.average.items():
            if average[name].shape != each.shape or not average[name].isfinite().all():
                raise ValueError(f"the average of {name!r} does not fit the module")
            each.copy_(average[name])
        self.n_steps = n_steps

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Put the average in the place of the weights, and the weights back in the end."""
        weights = {name: each.detach().clone() for name, each in self._current.items()}
        self._fill(self.average)
        try:
            yield
        finally:
            self._fill(weights)

    @torch.no_grad()
    def _fill(self, values: Mapping[str, Tensor]) -> None:
        for name, each in self._current.items():
            each.copy_(values[name])


def _averaged(module: nn.Module) -> dict[str, Tensor]:
    """The trained parameters and the running statistics of a module by name."""
    found: dict[str, Tensor] = {
        name: each for name, each in module.named_parameters() if each.requires_grad
    }
    for path, layer in module.named_modules():
        if isinstance(layer, _BatchNorm):
            statistics = {"running_mean": layer.running_mean, "running_var": layer.running_var}
            found |= {
                f"{path}.{name}": each for name, each in statistics.items() if each is not None
            }
    return found
