"""A small convolutional network for small images."""

from itertools import pairwise

from torch import Tensor, nn

from manyhands.core.settings import require
from manyhands.networks.batch_norm import BatchNorm2d
from manyhands.networks.images import ImageNetwork
from manyhands.networks.mlp import MLP
from manyhands.networks.sizes import (
    Sizes,
    require_dropout,
    require_flag,
    require_size,
    require_sizes,
)


class SmallCNN(ImageNetwork):
    """Blocks of 3 x 3 convolution, ReLU and 2 x 2 max pooling, then an `MLP` with one hidden layer.

    Convolutions are padded by 1. Every pool halves height and width, rounded down.

    Settings
    --------
    shape:
        (channels, height, width) of one image.
    n_classes:
        number of classes.
    channels:
        output channels of each block, first block first.
    convolutions:
        convolutions of each block, all with the output channels of the block.
    hidden:
        hidden units between the blocks and the logits.
    dropout:
        share of the hidden units that a training step leaves out.
    block_dropout:
        share of the outputs of every block that a training step leaves out.
    batch_norm:
        normalise every convolution and the hidden layer over the batch, before the ReLU.

    Notes
    -----
    Networks of the papers: four blocks with batch normalisation on cats and dogs in Rodrigues and
    Pereira 2018 (crowd layer), which is `dogs-cats-cnn`; the source does not state the channels,
    and 32, 64, 128, 128 are usual for these images. The public code of the crowd mixture model
    has `channels=(32, 64, 128), convolutions=2, batch_norm=True, block_dropout=0.25` on CIFAR-10.

    >>> import torch
    >>> SmallCNN((1, 28, 28), 10)(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """

    name = "cnn"

    def __init__(
        self,
        shape: tuple[int, int, int],
        n_classes: int,
        *,
        channels: Sizes = (32, 64),
        convolutions: int = 1,
        hidden: int = 128,
        dropout: float = 0.5,
        block_dropout: float = 0.0,
        batch_norm: bool = False,
    ) -> None:
        require_sizes("channels", channels)
        n_blocks = len(channels)
        require(n_blocks >= 1, "channels", "given for one block at least", channels)
        why = f"each of the {n_blocks} pools halves them"
        super().__init__(shape, n_classes, smallest=2**n_blocks, why=why)
        require_size("convolutions", convolutions)
        require_size("hidden", hidden)
        require_dropout("dropout", dropout)
        require_dropout("block_dropout", block_dropout)
        require_flag("batch_norm", batch_norm)
        self.blocks = nn.Sequential()
        for before, after in pairwise([shape[0], *channels]):
            block = convolution_block([before] + [after] * convolutions, batch_norm)
            if block_dropout:
                block.append(nn.Dropout(block_dropout))
            self.blocks.append(block)
        n_features = channels[-1] * (shape[1] // 2**n_blocks) * (shape[2] // 2**n_blocks)
        self.head = MLP(
            n_features, n_classes, hidden=(hidden,), dropout=dropout, batch_norm=batch_norm
        )

    def logits(self, image_b: Tensor) -> Tensor:
        """See `ImageNetwork.logits`."""
        logits_bk: Tensor = self.head(self.blocks(image_b))
        return logits_bk


def convolution_block(channels: Sizes, batch_norm: bool) -> nn.Sequential:
    """A 3 x 3 convolution with ReLU from each number of channels to the next, and a pool."""
    block = nn.Sequential()
    for before, after in pairwise(channels):
        block.append(nn.Conv2d(before, after, 3, padding=1, bias=not batch_norm))
        if batch_norm:
            block.append(BatchNorm2d(after))
        block.append(nn.ReLU())
    return block.append(nn.MaxPool2d(2))
