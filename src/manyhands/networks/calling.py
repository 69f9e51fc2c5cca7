"""How a network is called with a batch: a tensor, or a dictionary of tensors."""

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any

from torch import Tensor, nn

Batch = Tensor | Mapping[str, Tensor]

_BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def call_network(network: nn.Module, inputs: Batch) -> Any:
    """The outputs of a network for a batch.

    A dictionary is given as keywords if `forward` has parameters of these names, as those of
    Hugging Face models have; otherwise it is the one argument. Of outputs with `logits`, as those
    models give, these are taken.
    """
    if not isinstance(inputs, Mapping):
        outputs = network(inputs)
    elif takes_keywords(network, inputs):
        outputs = network(**inputs)
    else:
        outputs = network(inputs)
    if isinstance(outputs, Tensor):
        return outputs
    logits = getattr(outputs, "logits", None)
    return outputs if logits is None else logits


def takes_keywords(network: nn.Module, inputs: Mapping[str, Tensor]) -> bool:
    """Whether `forward` takes these names as keywords, and needs no argument beside them."""
    parameters = signature(network.forward).parameters.values()
    named = {each.name for each in parameters}
    any_name = any(each.kind is Parameter.VAR_KEYWORD for each in parameters)
    needed = {
        each.name for each in parameters if each.kind in _BY_PLACE and each.default is each.empty
    }
    return needed <= inputs.keys() and (any_name or inputs.keys() <= named)


def shape_text(inputs: Batch) -> str:
    """The shape of a batch, or of every part of it, for an error message."""
    if isinstance(inputs, Tensor):
        return f"shape {tuple(inputs.shape)}"
    return ", ".join(f"{name!r} of shape {tuple(each.shape)}" for name, each in inputs.items())
