"""The table of networks; every entry is called in the same way."""

import copy
import math
from collections.abc import Callable

from torch import nn

from manyhands.core.errors import DataError, SettingError
from manyhands.core.registry import Registry
from manyhands.networks.cnn import SmallCNN
from manyhands.networks.mlp import MLP, LogisticRegression
from manyhands.networks.text import Tagger, TextCNN

# From the shape of the input of one item and the number of classes to a network, which maps inputs
# (b, *shape) to logits (b, k).
NetworkMaker = Callable[[tuple[int, ...], int], nn.Module]
Network = str | nn.Module | NetworkMaker


def _cnn(shape: tuple[int, ...], n_classes: int) -> nn.Module:
    if len(shape) != 3:
        raise DataError(
            "cnn takes images of shape (channels, height, width); the input of an item has shape "
            f"{tuple(shape)}; reshape the inputs, or use mlp or logistic"
        )
    return SmallCNN((shape[0], shape[1], shape[2]), n_classes)


def _embedding_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    if len(shape) != 2:
        raise DataError(
            "this network reads words and needs the shape (words, embedding size) of their "
            f"embeddings; got {tuple(shape)}: give texts, or use mlp"
        )
    return shape[0], shape[1]


NETWORKS: Registry[NetworkMaker] = Registry(
    "network",
    {
        "mlp": lambda shape, n_classes: MLP(math.prod(shape), n_classes),
        "logistic": lambda shape, n_classes: LogisticRegression(math.prod(shape), n_classes),
        "cnn": _cnn,
        "text-cnn": lambda shape, n_classes: TextCNN(*_embedding_shape(shape), n_classes),
        "tagger": lambda shape, n_classes: Tagger(*_embedding_shape(shape), n_classes),
    },
)
WORD_NETWORKS = ("text-cnn", "tagger")


def default_network(shape: tuple[int, ...]) -> str:
    """The name of the default network for inputs of this shape: "cnn" for images, else "mlp".

    An input with three axes is an image (channels, height, width).

    >>> default_network((64,)), default_network((3, 32, 32))
    ('mlp', 'cnn')
    """
    return "cnn" if len(shape) == 3 else "mlp"


def make_network(network: Network, shape: tuple[int, ...], n_outputs: int) -> nn.Module:
    """A new network: by name, a copy of a module, or made by a function."""
    if isinstance(network, nn.Module):
        return copy.deepcopy(network)
    if isinstance(network, str):
        return NETWORKS[network](shape, n_outputs)
    if not callable(network):
        raise SettingError(f"network must be a name, a torch module or a function; got {network!r}")
    made = network(shape, n_outputs)
    if not isinstance(made, nn.Module):
        raise SettingError(f"network must make a torch module; it made {type(made).__name__}")
    return made
