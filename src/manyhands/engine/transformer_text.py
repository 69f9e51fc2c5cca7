"""Texts, pairs of texts and sentences for encoders of transformers."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from manyhands.core.arrays import AnyArray, digest, object_array
from manyhands.core.errors import DataError
from manyhands.core.settings import generator
from manyhands.engine.features import EncoderOptions, FeatureEncoder, is_pairs, is_text
from manyhands.engine.subwords import SubwordInputs, Subwords, SubwordTokenInputs
from manyhands.engine.text import as_sentences
from manyhands.networks.pretrained import make_tokenizer, n_positions, read_tokenizer

# A pretrained encoder is changed little, by few epochs with small steps, as its authors advise.
FINE_TUNING: dict[str, Any] = {
    "epochs": 5, "batch_size": 32, "learning_rate": 3e-5, "weight_decay": 0.01,
    "max_grad_norm": 1.0, "schedule": "linear", "learning_rate_warm_up": 0.5, "refit": False,
}  # fmt: skip
NOISE_LEARNING_RATE = 1e-3  # of a method that has none: that of the network would be too small
_NOISE_FEATURES = 64  # to which the vectors of sub-words are projected
_LONGEST_ROW = 512  # sub-words of a sentence that an encoder without a limit reads at once


@dataclass(frozen=True, eq=False)
class SubwordEncoder(FeatureEncoder):
    """Encodes texts, pairs of texts, or sentences (`tokens`), as sub-words of a tokenizer.

    `tokenizer` is its JSON. Of a text, or a pair, the first `max_tokens` sub-words are read; a
    sentence that is longer is read in parts. `vectors` (w, d) are those of the sub-words for noise
    models: a random projection of the encoder's.
    """

    kind = "subwords"
    tokenizer: str
    tokens: bool
    pairs: bool
    max_tokens: int
    padding: int
    vectors: Tensor

    @classmethod
    def fit(
        cls, features: Any, options: EncoderOptions, folder: Path, body: Any, *, tokens: bool
    ) -> "SubwordEncoder":
        """The encoder for texts like these, of the tokenizer in the folder of a body."""
        text, meant_for = read_tokenizer(folder, words=tokens)
        longest = min(meant_for, n_positions(body))
        asked = _LONGEST_ROW if tokens else options.max_tokens
        longest = longest if asked is None else min(longest, asked)
        padding = getattr(body.config, "pad_token_id", None)
        vectors = getattr(body.get_input_embeddings(), "weight", None)
        if not isinstance(vectors, Tensor) or vectors.dim() != 2:
            raise DataError(f"{folder}: is no encoder of texts; it has no embeddings of tokens")
        vectors = vectors.detach()
        if not isinstance(padding, int) or not 0 <= padding < len(vectors):
            padding = 0  # a model may have no padding; it is never attended to
        return cls(
            tokenizer=text,
            tokens=tokens,
            pairs=not tokens and is_pairs(features),
            max_tokens=longest,
            padding=padding,
            vectors=_projected(vectors, options.seed),
        )

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The shape of the table of vectors."""
        return tuple(self.vectors.shape)

    @property
    def n_noise_features(self) -> int:
        """See `FeatureEncoder.n_noise_features`."""
        return int(self.vectors.shape[1])

    @property
    def default_network(self) -> str:
        """See `FeatureEncoder.default_network`; these features are made for a given network."""
        return "text-cnn"

    def transform(self, features: Any) -> SubwordInputs:
        """See `FeatureEncoder.transform`."""
        if self.tokens:
            sentences = as_sentences(features)
            found = Subwords.of_sentences(self._tokenizer, sentences, self.max_tokens)
            _warn_of_cuts(found.n_cut, len(sentences), self.max_tokens, "sentences")
        else:
            texts = self._checked(features)
            found = Subwords.of_texts(self._tokenizer, texts, self.max_tokens)
            noun = "pairs of texts" if self.pairs else "texts"
            _warn_of_cuts(found.n_cut, len(texts), self.max_tokens, noun)
        if int(found.code.max(initial=0)) >= len(self.vectors):
            raise DataError(
                f"the tokenizer has more tokens than the encoder ({len(self.vectors)}); they do "
                "not belong together"
            )
        make = SubwordTokenInputs if self.tokens else SubwordInputs
        return make(found, self.vectors, self.padding)

    def header(self) -> dict[str, Any]:
        """See `FeatureEncoder.header`."""
        names = ("tokens", "pairs", "max_tokens", "padding")
        return {name: getattr(self, name) for name in names}

    def tensors(self) -> dict[str, Tensor]:
        """See `FeatureEncoder.tensors`; the JSON of the tokenizer is a tensor of bytes."""
        content = np.frombuffer(self.tokenizer.encode(), dtype=np.uint8)
        return {"vectors": self.vectors, "tokenizer": torch.from_numpy(content.copy())}

    def fingerprint(self) -> dict[str, Any]:
        """See `FeatureEncoder.fingerprint`."""
        return {"tokenizer": digest(object_array([self.tokenizer]))}

    @classmethod
    def restore(cls, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> "SubwordEncoder":
        """See `FeatureEncoder.restore`."""
        text = tensors["tokenizer"].numpy().tobytes().decode()
        flags = {name: bool(header[name]) for name in ("tokens", "pairs")}
        longest, padding = int(header["max_tokens"]), int(header["padding"])
        vectors = tensors["vectors"]
        if vectors.dim() != 2 or not 0 <= padding < len(vectors) or longest < 1:
            raise ValueError("the sizes of the tokenizer do not fit each other")
        make_tokenizer(text)
        vectors = vectors.float()
        return cls(text, max_tokens=longest, padding=padding, vectors=vectors, **flags)

    @cached_property
    def _tokenizer(self) -> Any:
        return make_tokenizer(self.tokenizer)

    def __getstate__(self) -> dict[str, Any]:
        return {name: each for name, each in self.__dict__.items() if name != "_tokenizer"}

    def _checked(self, features: Any) -> list[Any]:
        """The texts, or the pairs of texts, in a list."""
        wanted = "pairs of texts" if self.pairs else "texts"
        if len(features) and is_pairs(features) != self.pairs:
            kinds = {"pairs of texts": is_pairs(features), "texts": is_text(features)}
            got = next((kind for kind, is_it in kinds.items() if is_it), type(features).__name__)
            raise DataError(f"the model reads {wanted}; got {got}")
        if self.pairs:
            return [_pair(row, pair) for row, pair in enumerate(features)]
        return [_text(row, each) for row, each in enumerate(features)]


def require_texts(network: str, features: Any) -> None:
    """Raise a `DataError` for features that a network named hf:DIR cannot read."""
    if not is_text(features) and not is_pairs(features):
        raise DataError(
            f"the network {network} reads texts, a string each, or pairs of texts, a tuple each; "
            f"got {type(features).__name__}"
        )


def _text(row: int, text: Any) -> str:
    if not isinstance(text, str):
        raise DataError(f"row {row}: a text must be a string; got {text!r}")
    return text


def _pair(row: int, pair: Any) -> tuple[str, ...]:
    texts = (pair,) if isinstance(pair, str) else tuple(pair)
    if len(texts) != 2:
        raise DataError(f"row {row}: a pair has two texts; got {pair!r}")
    return tuple(_text(row, each) for each in texts)


def _warn_of_cuts(n_cut: int, n_all: int, longest: int, noun: str) -> None:
    """Say how many texts are not read to their end, or sentences not at once."""
    if n_cut == 0:
        return
    if noun == "sentences":
        rest = "are read in parts, each without the words of the others"
    else:
        rest = "are truncated; max_tokens sets how many are read, up to those the encoder takes"
    warnings.warn(
        f"{n_cut} of {n_all} {noun} have more than {longest} tokens and {rest}",
        UserWarning,
        stacklevel=5,
    )


def _projected(vectors: Tensor, seed: int) -> Tensor:
    """Vectors of at most `_NOISE_FEATURES` numbers, of about the same angles as these."""
    size = vectors.shape[1]
    if size <= _NOISE_FEATURES:
        return vectors.float().clone()
    rng = generator(seed, "projection of the vectors of sub-words")
    map_dh: AnyArray = rng.normal(scale=_NOISE_FEATURES**-0.5, size=(size, _NOISE_FEATURES))
    return vectors.float() @ torch.from_numpy(map_dh).float()
