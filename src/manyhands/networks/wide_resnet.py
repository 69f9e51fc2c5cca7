"""Wide residual networks."""

import torch
from torch import Tensor, nn

from manyhands.core.settings import require
from manyhands.networks.batch_norm import BatchNorm2d
from manyhands.networks.images import ImageNetwork, init_convolutions
from manyhands.networks.sizes import require_dropout, require_size

_STRIDES = (1, 2, 2)  # of the first block of each group
_FIRST = 16  # channels of the first convolution


class WideResNet(ImageNetwork):
    """A wide residual network with pre-activation: WRN-`depth`-`width`.

    A 3 x 3 convolution to 16 channels; three groups of (depth - 4) / 6 residual blocks with 16 w,
    32 w and 64 w channels for a widening factor w, the second and the third at half the resolution
    of the one before; batch normalisation, ReLU, the mean over the pixels, a linear map. A block is

    ::

        x + conv3(dropout(relu(norm(conv3(relu(norm(x)))))))

    Where the channels or the resolution change, a 1 x 1 convolution of relu(norm(x)) stands in
    place of x. Convolutions are initialised as He et al. 2015 do, as in the public code of the
    source; the bias of the linear map starts at zero.

    Settings
    --------
    shape:
        (channels, height, width) of one image.
    n_classes:
        number of classes.
    depth:
        number of layers, 6 n + 4: 10, 16, 22, 28, 34, 40 ...
    width:
        widening factor.
    dropout:
        share of the numbers between the two convolutions of a block that a training step leaves
        out.

    Notes
    -----
    `depth=16, width=12` is the network of the softmax crowd layer on CIFAR-10. WRN-16-8 has about
    11.0 million weights, WRN-28-10 36.5 million.

    Source: Zagoruyko and Komodakis 2016.

    >>> WideResNet((3, 32, 32), 10, depth=10, width=1)(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    name = "wide-resnet"

    def __init__(
        self,
        shape: tuple[int, int, int],
        n_classes: int,
        *,
        depth: int = 16,
        width: int = 8,
        dropout: float = 0.0,
    ) -> None:
        why = "two groups of blocks halve the resolution"
        super().__init__(shape, n_classes, smallest=4, why=why)
        require_size("depth", depth)
        require(depth >= 10 and depth % 6 == 4, "depth", "10, 16, 22, 28 ... (6 n + 4)", depth)
        require_size("width", width)
        require_dropout("dropout", dropout)
        before = _FIRST
        self.first = nn.Conv2d(shape[0], before, 3, padding=1, bias=False)
        self.blocks = nn.Sequential()
        for group, stride in enumerate(_STRIDES):
            after = _FIRST * 2**group * width
            for place in range((depth - 4) // 6):
                self.blocks.append(_Block(before, after, 1 if place else stride, dropout))
                before = after
        self.norm = BatchNorm2d(before)
        self.output = nn.Linear(before, n_classes)
        init_convolutions(self)
        nn.init.zeros_(self.output.bias)

    def logits(self, image_b: Tensor) -> Tensor:
        """See `ImageNetwork.logits`."""
        features = torch.relu(self.norm(self.blocks(self.first(image_b))))
        logits_bk: Tensor = self.output(features.mean(dim=(2, 3)))
        return logits_bk


class _Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, n_before: int, n_after: int, stride: int, dropout: float) -> None:
        super().__init__()
        self.first_norm = BatchNorm2d(n_before)
        self.first = nn.Conv2d(n_before, n_after, 3, stride=stride, padding=1, bias=False)
        self.second_norm = BatchNorm2d(n_after)
        self.dropout = nn.Dropout(dropout)
        self.second = nn.Conv2d(n_after, n_after, 3, padding=1, bias=False)
        changes = n_before != n_after or stride != 1
        self.shortcut = (
            nn.Conv2d(n_before, n_after, 1, stride=stride, bias=False) if changes else None
        )

    def forward(self, inputs_b: Tensor) -> Tensor:
        active = torch.relu(self.first_norm(inputs_b))
        inner = self.dropout(torch.relu(self.second_norm(self.first(active))))
        shortcut = inputs_b if self.shortcut is None else self.shortcut(active)
        return shortcut + self.second(inner)  # type: ignore[no-any-return]
