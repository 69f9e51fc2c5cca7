"""Networks on rows of numbers: hidden layers of ReLU units, and multinomial logistic regression."""

import math
from typing import Any

from torch import Tensor, nn

from manyhands.core.errors import DataError
from manyhands.networks.batch_norm import BatchNorm1d
from manyhands.networks.sizes import (
    Sizes,
    require_dropout,
    require_flag,
    require_size,
    require_sizes,
)


class MLP(nn.Module):
    """Linear, ReLU and dropout for each hidden layer, then a linear map to the class logits.

    With `batch_norm`, batch normalisation stands between the linear map and the ReLU.

    Inputs of any shape are flattened. The default, one layer of 128 units with 50 % dropout, is
    the network that the papers train on VGG-16 features of LabelMe.

    Settings
    --------
    n_features:
        numbers in the input of one item.
    n_classes:
        number of classes.
    hidden:
        units of each hidden layer, first layer first; `()` is one linear map.
    dropout:
        share of the hidden units that a training step leaves out.
    batch_norm:
        normalise every hidden layer over the batch, before its ReLU.

    Notes
    -----
    Networks of the papers: the default on LabelMe in Rodrigues and Pereira 2018 (crowd layer) and
    Chu et al. 2021 (CoNAL), in the latter with `batch_norm=True` and also on music;
    `hidden=(1200,)` on sentence polarity and `LogisticRegression` on music in Chen et al. 2020
    (SpeeLFC); `hidden=(128, 128, 128, 128), dropout=0.2` on LabelMe for the softmax crowd layer.

    >>> import torch
    >>> MLP(8192, 8)(torch.zeros(2, 512, 4, 4)).shape
    torch.Size([2, 8])
    """

    stacks = True

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        hidden: Sizes = (128,),
        dropout: float = 0.5,
        batch_norm: bool = False,
    ) -> None:
        super().__init__()
        require_size("n_features", n_features)
        require_size("n_classes", n_classes)
        require_sizes("hidden", hidden)
        require_dropout("dropout", dropout)
        require_flag("batch_norm", batch_norm)
        self.n_features, self.n_classes = n_features, n_classes
        layers: list[nn.Module] = []
        width = n_features
        for n_units in hidden:
            # The normalisation subtracts the mean, and with it any bias.
            layers.append(nn.Linear(width, n_units, bias=not batch_norm))
            layers += [BatchNorm1d(n_units)] if batch_norm else []
            layers += [nn.ReLU(), nn.Dropout(dropout)]
            width = n_units
        self.layers = nn.Sequential(*layers, nn.Linear(width, n_classes))

    def forward(self, inputs_b: Tensor) -> Tensor:
        """Logits of the classes, shape (b, k)."""
        logits_bk: Tensor = self.layers(flat(inputs_b, self.n_features))
        return logits_bk

    @classmethod
    def from_shape(cls, shape: tuple[int, ...], n_classes: int, **settings: Any) -> "MLP":
        """The network for inputs of this shape."""
        return cls(math.prod(shape), n_classes, **settings)


class LogisticRegression(nn.Module):
    """One linear map to the class logits, which starts at zero; inputs are flattened.

    The loss is convex in the weights, so the start does not change the optimum. At zero all classes
    are equally probable, and no seed is needed. Chen et al. 2020 (SpeeLFC) use it on the 124
    features of the music genres.

    >>> import torch
    >>> LogisticRegression(124, 10)(torch.ones(1, 124)).softmax(dim=1)[0, 0].item()
    0.10000000149011612
    """

    stacks = True

    def __init__(self, n_features: int, n_classes: int) -> None:
        super().__init__()
        require_size("n_features", n_features)
        require_size("n_classes", n_classes)
        self.n_features, self.n_classes = n_features, n_classes
        self.settings = {"n_features": n_features, "n_classes": n_classes}
        self.linear = nn.Linear(n_features, n_classes)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, inputs_b: Tensor) -> Tensor:
        """Logits of the classes, shape (b, k)."""
        logits_bk: Tensor = self.linear(flat(inputs_b, self.n_features))
        return logits_bk

    @classmethod
    def from_shape(cls, shape: tuple[int, ...], n_classes: int) -> "LogisticRegression":
        """The network for inputs of this shape."""
        return cls(math.prod(shape), n_classes)


def flat(inputs_b: Tensor, n_features: int) -> Tensor:
    """The inputs of a batch, flattened to rows (b, n_features); raise a `DataError` on other sizes.

    >>> import torch
    >>> flat(torch.zeros(5, 2, 3), 6).shape
    torch.Size([5, 6])
    """
    shape = tuple(inputs_b.shape[1:])
    if math.prod(shape) != n_features:
        raise DataError(
            f"an item's input has shape {shape} where the network takes {n_features} numbers; "
            "the first axis of a batch must be that of the items"
        )
    return inputs_b.reshape(len(inputs_b), n_features)  # -1 fails for an empty batch
