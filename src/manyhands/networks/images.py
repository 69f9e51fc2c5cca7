"""What all networks on images share: their shape, and how it is checked."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.networks.sizes import require_size, require_sizes


class ImageNetwork(nn.Module, ABC):
    """A network on images of one shape (channels, height, width)."""

    name: ClassVar[str]  # in errors
    channels_last: ClassVar[bool] = True  # its layers take images with the channels last in memory

    def __init__(self, shape: tuple[int, ...], n_classes: int, *, smallest: int, why: str) -> None:
        super().__init__()
        require_size("n_classes", n_classes)
        require_sizes("shape", shape)
        require(len(shape) == 3, "shape", "(channels, height, width)", shape)
        require(
            min(shape[1:]) >= smallest,
            "shape",
            f"(channels, height, width) with height and width >= {smallest}, because {why}",
            shape,
            "put the channels first, take larger images, or use an MLP",
        )
        self.shape, self.n_classes = tuple(shape), n_classes

    @abstractmethod
    def logits(self, image_b: Tensor) -> Tensor:
        """Logits of the classes, shape (b, k)."""

    def forward(self, inputs_b: Tensor) -> Tensor:
        """Logits of the classes, shape (b, k)."""
        if inputs_b.shape[1:] != self.shape:
            raise DataError(
                f"a batch of shape {tuple(inputs_b.shape)} where the network takes images of shape "
                f"{self.shape}; the first axis of a batch must be that of the items"
            )
        return self.logits(inputs_b)

    @classmethod
    def from_shape(cls, shape: tuple[int, ...], n_classes: int, **settings: Any) -> Self:
        """The network for images of this shape."""
        if len(shape) != 3:
            raise DataError(
                f"{cls.name} takes images of shape (channels, height, width); the input of an item "
                f"has shape {tuple(shape)}; reshape the inputs, or use mlp or logistic"
            )
        make: Any = cls  # the classes that derive from this one take settings of their own
        network: Self = make(shape, n_classes, **settings)
        return network


def set_memory_format(module: nn.Module, memory_format: torch.memory_format) -> None:
    """Lay out the weights of the image networks in a module; their values and shapes stay.

    GPUs compute convolutions in half precision faster with the channels last.
    """
    for part in module.modules():
        if isinstance(part, ImageNetwork) and part.channels_last:
            part.to(memory_format=memory_format)  # type: ignore[call-overload]


def init_convolutions(network: nn.Module) -> None:
    """Draw the weights of all convolutions as He et al. 2015 do, by the number of outputs.

    The variance is 2 / (kernel height x kernel width x output channels); biases are zero.
    """
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
