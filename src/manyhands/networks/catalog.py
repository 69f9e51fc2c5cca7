"""The table of networks; every entry is made the same way."""

import math
from typing import Protocol

from torch import nn

from manyhands.core.errors import DataError
from manyhands.core.registry import Registry
from manyhands.networks.cnn import SmallCNN
from manyhands.networks.logistic import LogisticRegression
from manyhands.networks.mlp import MLP
from manyhands.networks.tagger import Tagger
from manyhands.networks.text_cnn import TextCNN


class NetworkMaker(Protocol):
    """How every entry is called: with the shape of one item's input and the number of classes."""

    def __call__(self, shape: tuple[int, ...], n_classes: int) -> nn.Module:
        """A network with its default settings, from inputs (b, *shape) to logits (b, k)."""


def _mlp(shape: tuple[int, ...], n_classes: int) -> nn.Module:
    return MLP(math.prod(shape), n_classes)


def _logistic(shape: tuple[int, ...], n_classes: int) -> nn.Module:
    return LogisticRegression(math.prod(shape), n_classes)


def _cnn(shape: tuple[int, ...], n_classes: int) -> nn.Module:
    if len(shape) != 3:
        raise DataError(
            "cnn takes images of shape (channels, height, width) where an item's input has shape "
            f"{tuple(shape)}; reshape the inputs, or use mlp or logistic"
        )
    return SmallCNN((shape[0], shape[1], shape[2]), n_classes)


def _text_cnn(shape: tuple[int, ...], n_classes: int) -> nn.Module:
    return TextCNN(*_table(shape), n_classes)


def _tagger(shape: tuple[int, ...], n_classes: int) -> nn.Module:
    return Tagger(*_table(shape), n_classes)


def _table(shape: tuple[int, ...]) -> tuple[int, int]:
    if len(shape) != 2:
        raise DataError(
            "this network reads words, and is made for the shape (words, numbers of a vector) of "
            f"their table; got {tuple(shape)}: give texts, or use mlp"
        )
    return shape[0], shape[1]


NETWORKS: Registry[NetworkMaker] = Registry(
    "network",
    {
        "mlp": _mlp,
        "logistic": _logistic,
        "cnn": _cnn,
        "text-cnn": _text_cnn,
        "tagger": _tagger,
    },
)
WORD_NETWORKS = ("text-cnn", "tagger")


def default_network(shape: tuple[int, ...]) -> str:
    """The name of the network for inputs of this shape: "cnn" for images, else "mlp".

    Three axes are taken as an image's (channels, height, width).

    >>> default_network((64,)), default_network((3, 32, 32))
    ('mlp', 'cnn')
    """
    return "cnn" if len(shape) == 3 else "mlp"
