"""The network that is asked for: by name, as a module to copy, or by a function that makes it."""

import copy
from collections.abc import Callable

from torch import nn

from manyhands.core.errors import SettingError
from manyhands.networks import NETWORKS, default_network

Network = str | nn.Module | Callable[[tuple[int, ...], int], nn.Module]


def new_network(wanted: Network | None, shape: tuple[int, ...], n_classes: int) -> nn.Module:
    """A network of one's own to train; what was given is not touched."""
    if isinstance(wanted, nn.Module):
        return copy.deepcopy(wanted)
    if wanted is None or isinstance(wanted, str):
        return NETWORKS[wanted or default_network(shape)](shape, n_classes)
    if not callable(wanted):
        raise SettingError(f"network must be a name, a torch module or a maker; got {wanted!r}")
    made = wanted(shape, n_classes)
    if not isinstance(made, nn.Module):
        raise SettingError(f"network must make a torch module; it made {type(made).__name__}")
    return made


def takes_codes(wanted: Network | None) -> bool:
    """Whether the network may look whole numbers up; those of the table compute with them."""
    return not (wanted is None or isinstance(wanted, str))
