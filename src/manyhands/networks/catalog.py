"""The table of networks; every entry is called in the same way."""

from collections.abc import Callable

from torch import nn

from manyhands.core.settings import Registry
from manyhands.networks.cnn import SmallCNN
from manyhands.networks.mlp import MLP, LogisticRegression
from manyhands.networks.text import Tagger, TextCNN

# From the shape of the input of one item and the number of classes to a network, which maps inputs
# (b, *shape) to logits (b, k).
NetworkMaker = Callable[[tuple[int, ...], int], nn.Module]
Network = str | nn.Module | NetworkMaker

NETWORKS: Registry[NetworkMaker] = Registry(
    "network",
    {
        "mlp": MLP.from_shape,
        "logistic": LogisticRegression.from_shape,
        "cnn": SmallCNN.from_shape,
        "text-cnn": TextCNN.from_shape,
        "tagger": Tagger.from_shape,
    },
)
WORD_NETWORKS = ("text-cnn", "tagger")
