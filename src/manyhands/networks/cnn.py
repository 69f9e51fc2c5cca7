"""A small convolutional network for small images."""

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.networks.mlp import MLP, require_dropout, require_size, require_sizes


class SmallCNN(nn.Module):
    """Blocks of 3 x 3 convolution, ReLU and 2 x 2 max pooling, then an `MLP` with one hidden layer.

    Convolutions are padded by 1. Every pool halves height and width, rounded down.

    Rodrigues and Pereira 2018 (crowd layer) classify cats and dogs with four such convolutions,
    128 hidden units, 50 % dropout before the logits and batch normalisation. Batch normalisation is
    left out here, so that a batch of one item, such as the last of an epoch, can be trained on.

    Settings
    --------
    shape:
        (channels, height, width) of one image.
    n_classes:
        number of classes.
    channels:
        output channels of each block, first block first.
    hidden:
        hidden units between the blocks and the logits.
    dropout:
        share of the hidden units that a training step leaves out.

    >>> import torch
    >>> SmallCNN((1, 28, 28), 10)(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        n_classes: int,
        *,
        channels: Sequence[int] = (32, 64),
        hidden: int = 128,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        require_size("n_classes", n_classes)
        require_sizes("channels", channels)
        require(len(channels) >= 1, "channels", "given for one block at least", channels)
        require_size("hidden", hidden)
        require_dropout(dropout)
        _require_image(shape, len(channels))
        self.shape, self.n_classes = tuple(shape), n_classes
        widths = [shape[0], *channels]
        self.blocks = nn.Sequential(*(_block(before, after) for before, after in pairwise(widths)))
        reduction = 2 ** len(channels)
        n_features = channels[-1] * (shape[1] // reduction) * (shape[2] // reduction)
        self.head = MLP(n_features, n_classes, hidden=(hidden,), dropout=dropout)

    def forward(self, inputs_b: Tensor) -> Tensor:
        """Logits of the classes, shape (b, k)."""
        if inputs_b.shape[1:] != self.shape:
            raise DataError(
                f"a batch of shape {tuple(inputs_b.shape)} where the network takes images of shape "
                f"{self.shape}; the first axis of a batch must be that of the items"
            )
        logits_bk: Tensor = self.head(self.blocks(inputs_b))
        return logits_bk

    @classmethod
    def from_shape(cls, shape: tuple[int, ...], n_classes: int) -> "SmallCNN":
        """The network for images of this shape, with its default settings."""
        if len(shape) != 3:
            raise DataError(
                "cnn takes images of shape (channels, height, width); the input of an item has "
                f"shape {tuple(shape)}; reshape the inputs, or use mlp or logistic"
            )
        return cls((shape[0], shape[1], shape[2]), n_classes)


def _block(n_before: int, n_after: int) -> nn.Sequential:
    """A convolution from one number of channels to another, and a pool."""
    return nn.Sequential(nn.Conv2d(n_before, n_after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))


def _require_image(shape: tuple[int, ...], n_pools: int) -> None:
    """Raise a `SettingError` unless the image has at least one pixel after every pool."""
    require_sizes("shape", shape)
    require(len(shape) == 3, "shape", "(channels, height, width)", shape)
    smallest = 2**n_pools
    require(
        min(shape[1:]) >= smallest,
        "shape",
        f"(channels, height, width) with height and width >= {smallest}, because each of the "
        f"{n_pools} pools halves them",
        shape,
        "put the channels first, give fewer blocks (channels=), or use an MLP",
    )
