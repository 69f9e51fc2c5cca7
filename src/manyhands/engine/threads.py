"""How many threads a step deserves."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from manyhands.engine.settings import TrainingSettings
from manyhands.networks import Tagger, TextCNN

_SMALL = 200_000_000  # multiplications per step up to which one thread is quickest


@contextmanager
def fitting_threads(
    network: nn.Module, shape: tuple[int, ...], at_once: int, settings: TrainingSettings
) -> Iterator[None]:
    """Torch's threads while a network is used on so many items at once, as they were afterwards.

    The threads of a small step mostly wait for each other, and for long when another program has
    the core: one thread is as quick and never waits. Counted by the weights of a network that
    uses each once per item, because it sees flat inputs, or once per word, which are the items
    then, but for the vectors of words.
    """
    before = torch.get_num_threads()
    tables = {each.weight for each in network.modules() if isinstance(each, nn.Embedding)}
    reads = any(isinstance(each, Tagger | TextCNN) for each in network.modules())
    weights = sum(
        each.numel()
        for each in network.parameters()
        if not is_lazy(each) and not (reads and each in tables)
    )
    small = (reads or len(shape) <= 1) and weights * at_once < _SMALL
    torch.set_num_threads(settings.threads or (1 if small else max(1, before // settings.devices)))
    try:
        yield
    finally:
        torch.set_num_threads(before)
