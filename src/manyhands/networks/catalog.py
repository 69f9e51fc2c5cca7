"""The table of networks; every entry is called in the same way."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from manyhands.core.errors import SettingError, SettingName
from manyhands.core.settings import Registry, nearest_names
from manyhands.networks.cnn import SmallCNN
from manyhands.networks.image_encoder import ImageEncoder
from manyhands.networks.mlp import MLP, LogisticRegression
from manyhands.networks.pair_network import PREFIX as PAIR_PREFIX
from manyhands.networks.pair_network import PairNetwork
from manyhands.networks.pretrained import PREFIX, is_pretrained
from manyhands.networks.text import Tagger, TextCNN
from manyhands.networks.transformer import transformer_network
from manyhands.networks.vgg import VGG16
from manyhands.networks.wide_resnet import WideResNet

# From the shape of the input of one item and the number of classes to a network, which maps inputs
# (b, *shape) to logits (b, k).
NetworkMaker = Callable[[tuple[int, ...], int], nn.Module]
Network = str | nn.Module | NetworkMaker


@dataclass(frozen=True)
class NetworkEntry:
    """An entry: a class of networks, and the defaults of settings that differ from the class's.

    >>> NETWORKS["mlp"].settings
    ('hidden', 'dropout', 'batch_norm')
    >>> NETWORKS["mlp"]((5,), 3, hidden=[64, 64]).n_classes
    3
    """

    network: Any
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> tuple[str, ...]:
        """The names of the settings of the network."""
        parameters = inspect.signature(self.network).parameters.values()
        return tuple(each.name for each in parameters if each.kind is each.KEYWORD_ONLY)

    def __call__(self, shape: tuple[int, ...], n_classes: int, **settings: Any) -> nn.Module:
        """A network for inputs of this shape; settings that are not given have their defaults."""
        given = {**self.defaults, **settings}
        made: nn.Module = self.network.from_shape(shape, n_classes, **given)
        return made


NETWORKS: Registry[NetworkEntry] = Registry(
    "network",
    {
        "mlp": NetworkEntry(MLP),
        "logistic": NetworkEntry(LogisticRegression),
        "cnn": NetworkEntry(SmallCNN),
        "dogs-cats-cnn": NetworkEntry(
            SmallCNN, {"channels": (32, 64, 128, 128), "batch_norm": True}
        ),
        "vgg16": NetworkEntry(VGG16),
        "wide-resnet": NetworkEntry(WideResNet),
        "image-encoder": NetworkEntry(ImageEncoder),
        "text-cnn": NetworkEntry(TextCNN),
        "tagger": NetworkEntry(Tagger),
    },
)
WORD_NETWORKS = ("text-cnn", "tagger")
PRETRAINED_NETWORKS = ("image-encoder",)


def network_by_name(
    name: str, shape: tuple[int, ...], n_classes: int, settings: Mapping[str, Any] | None = None
) -> nn.Module:
    """A network of `NETWORKS`, or one named hf:DIR, with these settings.

    pair:NAME compares two items by the scores that the network NAME gives them.

    A setting that it does not have is refused.

    >>> network_by_name("wide-resnet", (3, 32, 32), 10, {"dept": 16})
    Traceback (most recent call last):
    ...
    manyhands.core.errors.SettingError: network_settings: the network wide-resnet has no setting \
'dept'; did you mean depth? known: depth, width, dropout
    """
    if name.startswith(PAIR_PREFIX):
        scorer = network_by_name(name.removeprefix(PAIR_PREFIX), shape[1:], 1, settings)
        return PairNetwork(scorer, n_classes, shape[-1])
    if is_pretrained(name):
        return transformer_network(name, shape, n_classes, settings)
    if name not in NETWORKS and Path(name, "config.json").is_file():
        raise SettingError(
            f"no network {name!r}; if it is the folder of an encoder of transformers, write ",
            SettingName("network", f"{PREFIX}{name}"),
        )
    entry, given = NETWORKS[name], dict(settings or {})
    for each in given:
        if each not in entry.settings:
            near = nearest_names(str(each), entry.settings)
            hint = f" did you mean {near[0]}?" if near else ""
            known = f" known: {', '.join(entry.settings)}" if entry.settings else " it has none"
            raise SettingError(
                SettingName("network_settings"),
                f": the network {name} has no setting {each!r};{hint}{known}",
            )
    return entry(shape, n_classes, **given)
