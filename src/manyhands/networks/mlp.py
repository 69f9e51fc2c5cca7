"""The network of most papers on crowds: hidden layers of ReLU units with dropout."""

from collections.abc import Sequence

from torch import Tensor, nn

from manyhands.networks.flat import flat
from manyhands.networks.sizes import require_dropout, require_size, require_sizes


class MLP(nn.Module):
    """Linear, ReLU and dropout for each hidden layer, then a linear map to the class logits.

    Inputs of any shape are flattened. The default is the head that the papers train on VGG-16
    features of LabelMe: one layer of 128 units, 50 % dropout.

    Settings
    --------
    n_features:
        numbers in the input of one item.
    n_classes:
        number of classes.
    hidden:
        units of each hidden layer, first layer first; `()` leaves one linear map.
    dropout:
        share of the hidden units that a training step leaves out.

    Notes
    -----
    What the papers use: Rodrigues and Pereira 2018 (crowd layer) and Chu et al. 2021 (CoNAL) the
    default on LabelMe, the latter with batch normalisation and on music too; Chen et al. 2020
    (SpeeLFC) `hidden=(1200,)` on sentence polarity and `LogisticRegression` on music; the softmax
    crowd layer `hidden=(128, 128, 128, 128), dropout=0.2` on LabelMe.

    >>> import torch
    >>> MLP(8192, 8)(torch.zeros(2, 512, 4, 4)).shape
    torch.Size([2, 8])
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        hidden: Sequence[int] = (128,),
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        require_size("n_features", n_features)
        require_size("n_classes", n_classes)
        require_sizes("hidden", hidden)
        require_dropout(dropout)
        self.n_features, self.n_classes = n_features, n_classes
        layers: list[nn.Module] = []
        width = n_features
        for n_units in hidden:
            layers += [nn.Linear(width, n_units), nn.ReLU(), nn.Dropout(dropout)]
            width = n_units
        self.layers = nn.Sequential(*layers, nn.Linear(width, n_classes))

    def forward(self, inputs_b: Tensor) -> Tensor:
        """Logits of the classes, shape (b, k)."""
        logits_bk: Tensor = self.layers(flat(inputs_b, self.n_features))
        return logits_bk
