"""The states of a frozen encoder, computed once and kept in a folder of the user's."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import torch
from safetensors import SafetensorError
from torch import Tensor

from manyhands.core.arrays import AnyArray, digest, object_array
from manyhands.core.settings import require
from manyhands.engine.checkpoint import require_like
from manyhands.engine.features import EncoderOptions, FeatureEncoder, fit_scaling
from manyhands.engine.inputs import Inputs, Scaling, TensorInputs, first_of_runs
from manyhands.engine.item_bar import item_bar
from manyhands.engine.randomness import own_random_numbers
from manyhands.engine.subwords import SubwordInputs
from manyhands.engine.transformer_text import SubwordEncoder, require_texts
from manyhands.io import atomic_write
from manyhands.io.bundle import require_plain_file, under
from manyhands.io.folders import make_folder
from manyhands.networks.pretrained import describe, folder_of, new_body, read_body
from manyhands.networks.transformer import TransformerBody, TransformerSettings

_AT_ONCE = 256  # texts whose states are computed together
_STATES = "states"


def fit_transformer_encoder(
    features: Any, options: EncoderOptions, *, tokens: bool
) -> tuple[FeatureEncoder, Inputs]:
    """An encoder of texts, or sentences, for the network named in the options, and their inputs."""
    network = str(options.network)
    settings = TransformerSettings.of(network, options.network_settings)
    for name in ("word_vectors", "freeze_embeddings"):
        given = getattr(options, name) or None
        require(given is None, name, f"left out for {network}, which has its own", given)
    if not tokens:
        require_texts(network, features)
    folder = folder_of(network)
    with own_random_numbers():  # weights that the folder lacks are drawn, and then not used
        body = read_body(folder)
    subwords = SubwordEncoder.fit(features, options, folder, body, tokens=tokens)
    if not settings.freeze:
        return subwords, subwords.transform(features)
    bare = replace(subwords, vectors=subwords.vectors[:, :0])  # noise models get the states
    encoder = FrozenEncoder(
        bare, TransformerBody(body, settings.pooling), None, settings.cache, options.device
    )
    states = encoder.states(bare.transform(features), keep=True, progress=options.progress)
    scaling = fit_scaling(TensorInputs(states.tensor), options.scale)
    encoder = replace(encoder, scaling=scaling)
    return encoder, encoder.scaled(states)


class StateInputs(TensorInputs):
    """States (i, d); those of the words of one sentence (`row_of`) stay together."""

    def __init__(self, tensor: Tensor, row_of: AnyArray | None) -> None:
        super().__init__(tensor)
        self.row_of = row_of

    def to(self, device: torch.device) -> "StateInputs":
        """See `Inputs.to`."""
        moved = StateInputs(super().to(device).tensor, self.row_of)
        moved.device = device
        return moved

    @property
    def sentence_starts(self) -> AnyArray | None:
        """See `Inputs.sentence_starts`."""
        return None if self.row_of is None else first_of_runs(self.row_of)

    def boundaries(self, items: AnyArray) -> AnyArray:
        """See `Inputs.boundaries`."""
        if self.row_of is None or len(items) == 0:
            return super().boundaries(items)
        changes = np.flatnonzero(np.diff(self.row_of[items])) + 1
        return np.concatenate([[0], changes, [len(items)]])


@dataclass(frozen=True, eq=False)
class FrozenEncoder(FeatureEncoder):
    """Encodes texts as the states of an encoder that is not trained, scaled.

    With a `cache` the states are kept in this folder, under a checksum of texts and weights.
    """

    kind = "frozen-subwords"
    subwords: SubwordEncoder
    body: TransformerBody
    scaling: Scaling | None = None
    cache: str | None = None
    device: str = "auto"

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The length of a state."""
        return (self.body.n_features,)

    @property
    def default_network(self) -> str:
        """See `FeatureEncoder.default_network`."""
        return "logistic"

    def transform(self, features: Any) -> Inputs:
        """See `FeatureEncoder.transform`."""
        return self.scaled(self.states(self.subwords.transform(features)))

    def scaled(self, states: StateInputs) -> StateInputs:
        """The states, scaled as those of training."""
        if self.scaling is None:
            return states
        return StateInputs(self.scaling(states.tensor), states.row_of)

    def states(
        self, inputs: SubwordInputs, *, keep: bool = False, progress: bool = False
    ) -> StateInputs:
        """The states of texts, from the cache if they are there; with `keep` they stay there."""
        row_of = getattr(inputs, "row_of", None)
        if self.cache is None:
            return StateInputs(self._computed(inputs, progress), row_of)
        weights = [each.detach().cpu().numpy() for each in self.body.state_dict().values()]
        key = digest(*inputs.arrays(), *weights, object_array([self.body.pooling]))
        place = make_folder(self.cache) / f"{_STATES}-{key}.safetensors"
        found = _read_states(place, (len(inputs), *self.shape))
        if found is not None:
            return StateInputs(found, row_of)
        found = self._computed(inputs, progress)
        if keep:
            require_plain_file(place)
            with atomic_write(place) as stream:
                stream.write(safetensors.numpy.save({_STATES: found.numpy()}))
        return StateInputs(found, row_of)

    @torch.no_grad()
    def _computed(self, inputs: SubwordInputs, progress: bool) -> Tensor:
        cuda = self.device in {"auto", "cuda"} and torch.cuda.is_available()
        device = torch.device("cuda" if cuda else "cpu")
        body, inputs = self.body.to(device).eval(), inputs.to(device)
        states = torch.zeros(len(inputs), *self.shape)
        order = inputs.by_length(np.arange(len(inputs)))
        parts = inputs.parts(order, _AT_ONCE) if len(order) else []
        with item_bar("encoding", len(inputs), progress) as done:
            for part in parts:
                index = torch.from_numpy(part)
                states[index] = body(inputs.rows(index.to(device))).float().cpu()
                done(len(part))
        return states

    def header(self) -> dict[str, Any]:
        """See `FeatureEncoder.header`."""
        described = {"pooling": self.body.pooling, "config": describe(self.body.body)}
        return {"subwords": self.subwords.header(), **described}

    def tensors(self) -> dict[str, Tensor]:
        """See `FeatureEncoder.tensors`."""
        found = {f"subwords.{name}": each for name, each in self.subwords.tensors().items()}
        found |= {f"body.{name}": each for name, each in self.body.state_dict().items()}
        if self.scaling is not None:
            found |= {"shift": self.scaling.shift, "factor": self.scaling.factor}
        return found

    def fingerprint(self) -> dict[str, Any]:
        """See `FeatureEncoder.fingerprint`."""
        return self.subwords.fingerprint()

    @classmethod
    def restore(cls, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> "FrozenEncoder":
        """See `FeatureEncoder.restore`; sizes are compared before memory is taken."""
        subwords = SubwordEncoder.restore(header["subwords"], under("subwords.", tensors))
        weights = under("body.", tensors)
        with torch.device("meta"):
            require_like(weights, _body(header).state_dict())
        body = _body(header)
        body.load_state_dict(weights)
        shift, factor = tensors.get("shift"), tensors.get("factor")
        scaling = None if shift is None or factor is None else Scaling(shift, factor)
        return cls(subwords, body.eval(), scaling)


def _body(header: Mapping[str, Any]) -> TransformerBody:
    settings = TransformerSettings(pooling=header["pooling"], freeze=True)
    return TransformerBody(new_body(header["config"]), settings.pooling)


def _read_states(place: Path, shape: tuple[int, ...]) -> Tensor | None:
    """States of a file; None if there is none that can be used."""
    if place.is_symlink() or not place.is_file():
        return None
    try:
        found = torch.from_numpy(safetensors.numpy.load(place.read_bytes())[_STATES].copy())
    except (SafetensorError, KeyError):
        return None
    usable = tuple(found.shape) == shape and found.dtype == torch.float32
    return found if usable and bool(found.isfinite().all()) else None
