"""A new network for some inputs, and whether its outputs are what training needs."""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from manyhands.core.errors import DataError, ManyhandsError, SettingError, first_line
from manyhands.core.settings import require
from manyhands.networks import Network
from manyhands.networks.calling import Batch, call_network, shape_text
from manyhands.networks.catalog import network_by_name
from manyhands.noise.base import warn_of_probabilities


def make_network(
    network: Network,
    shape: tuple[int, ...],
    n_outputs: int,
    settings: Mapping[str, Any] | None = None,
) -> nn.Module:
    """A new network: by name with settings, a copy of a module, or made by a function."""
    if isinstance(network, str):
        return network_by_name(network, shape, n_outputs, settings)
    if settings:
        rule = "left out for a network of your own, which has its settings already"
        require(False, "network_settings", rule, dict(settings))
    if isinstance(network, nn.Module):
        return copy.deepcopy(network)
    if not callable(network):
        raise SettingError(f"network must be a name, a torch module or a function; got {network!r}")
    made = network(shape, n_outputs)
    if not isinstance(made, nn.Module):
        raise SettingError(f"network must make a torch module; it made {type(made).__name__}")
    return made


@torch.no_grad()
def check_network_output(
    network: nn.Module, inputs: Batch, n_outputs: int, n_items: int, *, warn: bool = True
) -> None:
    """Raise an error unless the network gives `n_outputs` per item; warn of probabilities."""
    was_training = network.training
    network.eval()
    try:
        outputs = call_network(network, inputs)
    except ManyhandsError:
        raise
    except (AttributeError, IndexError, RuntimeError, TypeError, ValueError) as error:
        raise DataError(
            f"the network cannot take inputs of {shape_text(inputs)}: {first_line(error)}"
        ) from error
    finally:
        network.train(was_training)
    if not isinstance(outputs, Tensor) or outputs.shape != (n_items, n_outputs):
        got = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        wanted = f"{n_outputs} logits each are expected; the labels have {n_outputs} classes"
        if n_outputs == 1:
            wanted = "one number each is expected, in shape (b, 1); the labels are numbers"
        raise DataError(f"the network gives {got} for {n_items} items where {wanted}")
    if warn:
        warn_of_probabilities(outputs)
