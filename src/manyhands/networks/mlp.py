"""Hidden layers of ReLU units with dropout, the network of most papers on crowds."""

from collections.abc import Sequence

from torch import Tensor, nn

from manyhands.networks.flat import flat
from manyhands.networks.sizes import require_dropout, require_size, require_sizes


class MLP(nn.Module):
    """Linear, ReLU and dropout for each hidden layer, then a linear map to the class logits.

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

    Notes
    -----
    Networks of the papers: the default on LabelMe in Rodrigues and Pereira 2018 (crowd layer) and
    Chu et al. 2021 (CoNAL), in the latter with batch normalisation and also on music;
    `hidden=(1200,)` on sentence polarity and `LogisticRegression` on music in Chen et al. 2020
    (SpeeLFC); `hidden=(128, 128, 128, 128), dropout=0.2` on LabelMe for the softmax crowd layer.

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
