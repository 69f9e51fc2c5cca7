"""Dropout in a stack of runs: masks that each run draws when it is trained alone."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from manyhands.engine.inputs import Inputs
from manyhands.networks.calling import call_network


class DropoutMasks:
    """The masks of the dropout layers of a network, for several runs.

    Layers draw in the order in which the network calls them, a mask per batch and call. On a CPU
    `torch.nn.functional.dropout` fills a tensor with Bernoulli numbers; on a GPU its kernel draws
    them itself, which `torch._fused_dropout` does with a generator of our own.
    """

    def __init__(self, network: nn.Module, inputs: Inputs) -> None:
        self._calls = list(_dropout_calls(network, inputs))
        self._device = inputs.device
        self._generators: list[torch.Generator] = []
        self._next: Iterator[Tensor] = iter(())
        self._ones: dict[tuple[int, ...], Tensor] = {}

    def seed(self, seeds: Sequence[int]) -> None:
        """Begin the random numbers of every run anew."""
        if len(self._generators) != len(seeds):
            self._generators = [torch.Generator(self._device) for _ in seeds]
        for drawn, seed in zip(self._generators, seeds, strict=True):
            drawn.manual_seed(seed)

    def draw(self, batch_shape: tuple[int, ...]) -> list[Tensor]:
        """The masks of the next batch, scaled, each of shape (r, b, ...), in the order of calls."""
        return [
            torch.stack([
                self._mask((*batch_shape, *shape), 1.0 - rate, each) for each in self._generators
            ])
            for rate, shape in self._calls
        ]  # fmt: skip

    def use(self, masks: Sequence[Tensor]) -> None:
        """Give the layers these masks, one per call."""
        self._next = iter(masks)

    def replace_dropout(self, network: nn.Module) -> None:
        """Let the dropout layers of a network take their masks from here."""
        for path, layer in list(network.named_modules()):
            if isinstance(layer, nn.Dropout) and path:
                home, _, name = path.rpartition(".")
                setattr(network.get_submodule(home), name, _MaskedDropout(layer.p, self))

    def take(self) -> Tensor:
        """The mask of the next call."""
        return next(self._next)

    def _mask(self, shape: tuple[int, ...], keep: float, drawn: torch.Generator) -> Tensor:
        if keep == 0.0:
            return torch.zeros(shape, device=self._device)
        if self._device.type == "cuda":
            if shape not in self._ones:
                self._ones[shape] = torch.ones(shape, device=self._device)
            scaled: Tensor = torch._fused_dropout(self._ones[shape], keep, drawn)[0]
            return scaled
        return torch.empty(shape, device=self._device).bernoulli_(keep, generator=drawn).div_(keep)


class _MaskedDropout(nn.Module):
    """A dropout layer with given masks."""

    def __init__(self, rate: float, masks: DropoutMasks) -> None:
        super().__init__()
        self.rate, self.masks = rate, masks

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs * self.masks.take() if self.training and self.rate > 0 else inputs


@torch.no_grad()
def _dropout_calls(network: nn.Module, inputs: Inputs) -> Iterator[tuple[float, tuple[int, ...]]]:
    """The rate and the shape of one item's part of every call of a dropout layer, in their order.

    Layers of rate 0 draw nothing.
    """
    calls: list[tuple[float, tuple[int, ...]]] = []

    def note(layer: nn.Dropout, given: tuple[Tensor, ...]) -> None:
        calls.append((layer.p, tuple(given[0].shape[1:])))

    layers = [each for each in network.modules() if isinstance(each, nn.Dropout)]
    hooks = [each.register_forward_pre_hook(note) for each in layers]
    was_training = network.training
    network.eval()
    try:
        call_network(network, inputs.rows(torch.zeros(1, dtype=torch.int64, device=inputs.device)))
    finally:
        network.train(was_training)
        for hook in hooks:
            hook.remove()
    yield from (call for call in calls if call[0] > 0)
