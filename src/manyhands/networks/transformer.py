"""Encoders of transformers as networks: pooled, with dropout and a linear map to the outputs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from inspect import signature
from numbers import Real
from typing import Any, Self

import torch
from torch import Tensor, nn

from manyhands.core.errors import SettingError, SettingName
from manyhands.core.settings import nearest_names, require, require_choice
from manyhands.networks.pretrained import describe, folder_of, new_body, read_body
from manyhands.networks.sizes import require_dropout, require_flag

POOLINGS = ("mean", "cls")
ABSENT, READ, ASKED = 0, 1, 2  # roles of a token: padding, read, and read and asked for an output
_NUMBER = re.compile(r"(?:^|\.)(\d+)\.")


@dataclass(frozen=True, kw_only=True)
class TransformerSettings:
    """The settings of networks named hf:DIR.

    Settings
    --------
    pooling:
        "mean" is the mean of the states of all tokens, "cls" the state of the first token.
    dropout:
        share of the pooled states that a training step leaves out.
    freeze:
        train the linear map only. The states of all texts are computed once.
    cache:
        folder in which the states of a frozen encoder are kept for the next fit on these texts.
    layer_decay:
        factor of the learning rate from each layer of the encoder to the one below it.
    """

    pooling: str = "mean"
    dropout: float = 0.1
    freeze: bool = False
    cache: str | None = None
    layer_decay: float = 1.0

    def __post_init__(self) -> None:
        require_choice("pooling", self.pooling, POOLINGS)
        require_dropout("dropout", self.dropout)
        require_flag("freeze", self.freeze)
        decay = self.layer_decay
        number = isinstance(decay, Real) and not isinstance(decay, bool) and 0 < float(decay) <= 1
        require(number, "layer_decay", "> 0 and at most 1", decay)
        require(self.cache is None or self.freeze, "cache", "left out without freeze", self.cache)

    @classmethod
    def of(cls, network: str, given: Mapping[str, Any] | None) -> Self:
        """The settings that were given by name; an unknown name is refused."""
        known = tuple(each.name for each in fields(cls))
        for name in given or {}:
            if name not in known:
                near = nearest_names(str(name), known)
                hint = f" did you mean {near[0]}?" if near else ""
                raise SettingError(
                    SettingName("network_settings"),
                    f": the network {network} has no setting {name!r};{hint} known: "
                    f"{', '.join(known)}",
                )
        return cls(**dict(given or {}))


class TransformerBody(nn.Module):
    """An encoder of transformers that reads sub-words (b, t, 3): code, segment and role.

    The role of a token is 0 for padding, 1 for a token that is read, and 2 for one that an output
    is asked for. The states are those of the tokens asked for (n, d) if there are some, and
    otherwise one pooled state for every text (b, d).
    """

    def __init__(self, body: Any, pooling: str) -> None:
        super().__init__()
        self.body, self.pooling = body, pooling
        self.takes_segments = "token_type_ids" in signature(body.forward).parameters
        self.last_segment = max(int(getattr(body.config, "type_vocab_size", 1) or 1) - 1, 0)

    @property
    def n_features(self) -> int:
        """The length of a state."""
        return int(self.body.config.hidden_size)

    def forward(self, code_bts: Tensor) -> Tensor:
        """The states of the tokens asked for, or of the texts."""
        if len(code_bts) == 0:
            return torch.zeros(0, self.n_features, device=code_bts.device)
        code_bt, segment_bt, role_bt = code_bts.unbind(dim=-1)
        read_bt = role_bt != ABSENT
        more = {}
        if self.takes_segments:
            more["token_type_ids"] = segment_bt.clamp(max=self.last_segment)
        given = {"input_ids": code_bt, "attention_mask": read_bt.long(), **more}
        states_btd: Tensor = self.body(**given).last_hidden_state
        asked_bt = role_bt == ASKED
        if bool(asked_bt.any()):
            return states_btd[asked_bt]
        if self.pooling == "cls":
            return states_btd[:, 0]
        weight_bt1 = read_bt.unsqueeze(2).to(states_btd.dtype)
        return (states_btd * weight_bt1).sum(dim=1) / weight_bt1.sum(dim=1).clamp_min(1.0)


class Transformer(nn.Module):
    """An encoder of transformers, dropout, and a linear map from its states to the outputs.

    Outputs are those of texts (b, k), or of the tokens asked for (n, k); see `TransformerBody`.
    `pretrained_config` describes the encoder, so that a saved model needs no other folder.
    """

    def __init__(self, body: Any, n_outputs: int, settings: TransformerSettings) -> None:
        super().__init__()
        self.pretrained_config = describe(body)
        self.layer_decay = settings.layer_decay
        self.encoder = TransformerBody(body, settings.pooling)
        self.dropout = nn.Dropout(settings.dropout)
        self.output = _linear(self.encoder.n_features, n_outputs)

    def forward(self, code_bts: Tensor) -> Tensor:
        """Logits of the classes, or one number, shape (b, k)."""
        outputs: Tensor = self.output(self.dropout(self.encoder(code_bts)))
        return outputs

    @property
    def learning_rate_multipliers(self) -> dict[str, float]:
        """The factors of the learning rate by the name of a parameter; others have 1."""
        if self.layer_decay == 1.0:
            return {}
        names = [f"encoder.{name}" for name, _ in self.encoder.named_parameters()]
        layer_of = _layers(names)
        top = max(layer_of.values(), default=0)
        return {name: self.layer_decay ** (top - layer) for name, layer in layer_of.items()}


class FrozenStates(nn.Module):
    """The linear map of a frozen encoder, whose states (b, d) are its inputs."""

    def __init__(self, n_features: int, n_outputs: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.output = _linear(n_features, n_outputs)

    def forward(self, states_bd: Tensor) -> Tensor:
        """Logits of the classes, or one number, shape (b, k)."""
        outputs: Tensor = self.output(self.dropout(states_bd))
        return outputs


def transformer_network(
    network: str, shape: tuple[int, ...], n_outputs: int, given: Mapping[str, Any] | None
) -> nn.Module:
    """The network named hf:DIR for inputs of this shape.

    A saved model gives the description of the encoder as `config`; its folder is then not read.
    """
    chosen = dict(given or {})
    config = chosen.pop("config", None)
    if chosen.get("folder", "") is None:
        del chosen["folder"]
    settings = TransformerSettings.of(network, chosen)
    if settings.freeze:
        return FrozenStates(shape[0], n_outputs, settings.dropout)
    body = read_body(folder_of(network)) if config is None else new_body(config)
    return Transformer(body, n_outputs, settings)


def _linear(n_features: int, n_outputs: int) -> nn.Linear:
    """A linear map that starts small: the encoder is to be changed little."""
    layer = nn.Linear(n_features, n_outputs)
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)
    return layer


def _layers(names: list[str]) -> dict[str, int]:
    """The layer of every parameter: embeddings 0, then by number; after them the top.

    >>> _layers(["words.weight", "layer.0.weight", "layer.1.weight", "norm.weight"])
    {'words.weight': 0, 'layer.0.weight': 1, 'layer.1.weight': 2, 'norm.weight': 3}
    """
    numbered = {name: found for name in names if (found := _NUMBER.search(name))}
    top = 2 + max((int(each[1]) for each in numbered.values()), default=-1)
    layer_of, seen = {}, False
    for name in names:
        seen = seen or name in numbered
        unnumbered = top if seen else 0
        layer_of[name] = int(numbered[name][1]) + 1 if name in numbered else unnumbered
    return layer_of
