"""Networks that a method makes of the network that the user chose."""

from abc import ABC, abstractmethod
from typing import Any

from torch import nn


class DerivedNetwork(nn.Module, ABC):
    """A network that a method makes of another one, which only gives it sizes or layers.

    Every subclass is called as `cls(network, n_annotators, n_classes, **settings)`, so that a saved
    model can be restored: `network_class` is the name of the class of the given network, and
    `settings` are the other arguments.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network_class = type(network).__name__

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The keyword arguments that make the same network again, except for its weights."""
