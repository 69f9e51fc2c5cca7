"""VGG-16 for small images."""

from torch import Tensor, nn

from manyhands.networks.cnn import convolution_block
from manyhands.networks.images import ImageNetwork, init_convolutions
from manyhands.networks.mlp import MLP
from manyhands.networks.sizes import Sizes, require_flag, require_size

_WIDENING = (1, 2, 4, 8, 8)  # channels of a block, in multiples of those of the first
_CONVOLUTIONS = (2, 2, 3, 3, 3)


class VGG16(ImageNetwork):
    """Thirteen 3 x 3 convolutions in five blocks, each with a pool, and a linear map to the logits.

    This is the form that is usual for images of 32 x 32 pixels: batch normalisation after every
    convolution and no hidden layers before the logits, as five pools leave one pixel of 512
    channels. Of larger images the mean over the pixels is taken. `hidden` adds the hidden layers
    that the original has, with dropout.

    Convolutions are initialised as He et al. 2015 do. The paper that uses this network names its
    16 layers only.

    Settings
    --------
    shape:
        (channels, height, width) of one image; height and width >= 32.
    n_classes:
        number of classes.
    width:
        channels of the first block.
    hidden:
        units of hidden layers before the logits.
    dropout:
        share of the hidden units that a training step leaves out.
    batch_norm:
        normalise every layer over the batch, before its ReLU.

    Source: Simonyan and Zisserman 2015; Chu, Ma and Wang 2021 (CoNAL) on CIFAR-10.

    >>> import torch
    >>> VGG16((3, 32, 32), 10, width=4)(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    name = "vgg16"

    def __init__(
        self,
        shape: tuple[int, int, int],
        n_classes: int,
        *,
        width: int = 64,
        hidden: Sizes = (),
        dropout: float = 0.5,
        batch_norm: bool = True,
    ) -> None:
        super().__init__(shape, n_classes, smallest=32, why="each of the 5 pools halves them")
        require_size("width", width)
        require_flag("batch_norm", batch_norm)
        blocks, before = [], shape[0]
        for widening, n_convolutions in zip(_WIDENING, _CONVOLUTIONS, strict=True):
            after = width * widening
            blocks.append(convolution_block([before] + [after] * n_convolutions, batch_norm))
            before = after
        self.blocks = nn.Sequential(*blocks)
        self.head = MLP(before, n_classes, hidden=hidden, dropout=dropout, batch_norm=batch_norm)
        init_convolutions(self)

    def logits(self, image_b: Tensor) -> Tensor:
        """See `ImageNetwork.logits`."""
        logits_bk: Tensor = self.head(self.blocks(image_b).mean(dim=(2, 3)))
        return logits_bk
